/* Part of neuroshard/engine.h: plans, how they are read, checked and written. */
#ifndef NEUROSHARD_ENGINE_PLAN_H_
#define NEUROSHARD_ENGINE_PLAN_H_

#include <neuroshard/engine/base.h>
#include <neuroshard/engine/cluster.h>
#include <neuroshard/engine/cost_models.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As a shard's device: every device holds the whole table (data parallel). */
#define NEUROSHARD_EVERY_DEVICE (-1)

/* Rows [row_begin, row_end) x columns [column_begin, column_end) of a table, on one device. Fixed
   for ever: arrays of it have no struct_size. */
typedef struct neuroshard_shard {
  int64_t row_begin;
  int64_t row_end;
  int32_t column_begin;
  int32_t column_end;
  int32_t table; /* index in the workload; of a plan that was parsed, in its file */
  int32_t device;
  /* NEUROSHARD_KERNEL_.., one for all shards of a table: FUSED reads device memory, the others that
     of the host. 0: FUSED; of a shard that the library writes: every device holds it. */
  int32_t kernel;
  int32_t reserved;         /* 0 */
  double cache_load_factor; /* share of its rows that FUSED_UVM_CACHING has in its cache, else 0 */
} neuroshard_shard;

/* What one device takes. Fixed for ever. */
typedef struct neuroshard_device_cost {
  double compute_ms;
  double forward_comm_ms; /* includes waiting for the slowest device */
  double backward_comm_ms;
  double total_ms;      /* their sum and, of whole steps, neuroshard_plan_get_dense_ms() */
  int64_t memory_bytes; /* weights, optimizer states, caches of rows and the plan's buffers */
  int64_t dim_sum;      /* columns of all its shards */
  int64_t host_bytes;   /* of its shards in its host's memory, weights and optimizer states */
} neuroshard_device_cost;

/* So many rows of a table, those that are looked up most, are on every device beside the table's
   shards. Fixed for ever. */
typedef struct neuroshard_hot_rows {
  int64_t rows;
  int32_t table;    /* index in the workload */
  int32_t reserved; /* 0 */
} neuroshard_hot_rows;

typedef struct neuroshard_plan_info {
  size_t struct_size;
  int64_t batch_size;
  double cost_ms; /* the largest total of a device; 0 when the plan has no costs */
  size_t shard_count;
  size_t device_cost_count; /* the number of devices, or 0 when the plan has no costs */
  int32_t devices;
  int32_t stopped_early;     /* 1: time or a cancellation ended the search */
  neuroshard_text algorithm; /* empty when unknown */
  uint64_t seed;
  int64_t
      evaluations;  /* plans the search has put a cost on: in full, or ("refine") by an estimate */
  double search_s;  /* seconds of the search alone */
  int32_t buffers;  /* NEUROSHARD_BUFFERS_.. that its memory counts, OFF for none */
  int32_t reserved; /* 0 */
  /* Milliseconds that no plan which the search could make costs less than, where it has found that
     out, or what its file says; 0: neither. neuroshard_planner_lower_bound() finds it out for any
     workload, and, as it takes more time than searches take for it, often more. */
  double lower_bound_ms;
  /* What the search had no time for, which might have found a better plan: "the baselines", ..;
     empty: nothing. */
  neuroshard_text skipped;
  /* What it was made for, and which cost models its costs are of; 0 and empty where its file does
     not say it. Bandwidths are those of "torchrec", in GB/s of 2^30 bytes: a device's memory,
     all-to-all on one host, between hosts, and between a device and its host's memory. */
  int32_t devices_per_host;
  int32_t reserved_2;        /* 0 */
  int64_t memory_bytes;      /* of each device */
  int64_t host_memory_bytes; /* of each host, for tables there */
  neuroshard_text cost_model;
  neuroshard_text cost_model_sha256;
  double device_gbps;
  double intra_host_gbps;
  double inter_host_gbps;
  double host_memory_gbps;
  int32_t exchange_forward; /* NEUROSHARD_EXCHANGE_FP32 and above, that its costs are of */
  int32_t exchange_backward;
  neuroshard_text cache_hits; /* "curve", or "": as neuroshard_torchrec_bandwidths has them */
  size_t hot_table_count;     /* tables with rows on every device beside their shards */
  /* Of which model's whole training steps its costs are, as in neuroshard_cost_models_info; empty:
     of the tables alone. */
  neuroshard_text dense_model;
  neuroshard_text dense_model_sha256;
  neuroshard_text dense_hardware;
} neuroshard_plan_info;

/* Plans that the library has found, imported or read from a file with names know the names of their
   tables. Calls that take such a plan and a workload find its tables by these, in whichever order
   both have them. Where as many tables are at their places but for some with other names, those
   were renamed, and tables count in their order, as those of plans without names do;
   neuroshard_plan_check() refuses that. Other plans of tables that the workload lacks are
   INVALID_INPUT, but where a plan is gone on from: neuroshard_planner_replan() and `from` of
   neuroshard_plan_moved_bytes(). */

/* A plan made by hand of at most 2^24 shards. Single fields are checked here; that they fit each
   other and a workload is checked by neuroshard_plan_check() and by whatever takes both. */
NEUROSHARD_API neuroshard_status neuroshard_plan_create(int32_t devices, int64_t batch_size,
                                                        const neuroshard_shard* shards,
                                                        size_t count, neuroshard_plan** plan,
                                                        neuroshard_error* error);
/* The bytes of a plan file (docs/FILE_FORMATS.md, "Plan"). `source` is what messages call them. */
NEUROSHARD_API neuroshard_status neuroshard_plan_parse(neuroshard_text bytes,
                                                       neuroshard_text source,
                                                       neuroshard_plan** plan,
                                                       neuroshard_error* error);
NEUROSHARD_API neuroshard_status neuroshard_plan_read_file(neuroshard_text path,
                                                           neuroshard_plan** plan,
                                                           neuroshard_error* error);
/* The bytes of a plan in any format that is told apart by its content: the engine's, TorchRec's or
   HugeCTR's JSON. Those name tables, so that it takes the workload. `devices` is for files that do
   not say it, 0 otherwise. What had to be put differently is in neuroshard_plan_notes(). */
NEUROSHARD_API neuroshard_status neuroshard_plan_import(neuroshard_text bytes,
                                                        neuroshard_text source,
                                                        const neuroshard_workload* workload,
                                                        int32_t devices, neuroshard_plan** plan,
                                                        neuroshard_error* error);
/* Lines about an imported plan; empty when there is nothing to say. Belongs to `plan`. */
NEUROSHARD_API neuroshard_text neuroshard_plan_notes(const neuroshard_plan* plan);

/* Fills in *info, whose struct_size the caller has set. Texts belong to `plan`. */
NEUROSHARD_API neuroshard_status neuroshard_plan_get_info(const neuroshard_plan* plan,
                                                          neuroshard_plan_info* info,
                                                          neuroshard_error* error);
/* Copies all shards, ordered by table, first row, first column, or all device costs, in device
   order. `capacity` is what the array holds; fewer than there are is INVALID_INPUT. */
NEUROSHARD_API neuroshard_status neuroshard_plan_get_shards(const neuroshard_plan* plan,
                                                            neuroshard_shard* shards,
                                                            size_t capacity,
                                                            neuroshard_error* error);
NEUROSHARD_API neuroshard_status neuroshard_plan_get_device_costs(const neuroshard_plan* plan,
                                                                  neuroshard_device_cost* costs,
                                                                  size_t capacity,
                                                                  neuroshard_error* error);
/* Likewise of the hot_table_count tables with rows on every device, by table. */
NEUROSHARD_API neuroshard_status neuroshard_plan_get_hot_rows(const neuroshard_plan* plan,
                                                              neuroshard_hot_rows* tables,
                                                              size_t capacity,
                                                              neuroshard_error* error);

/* Likewise of the device_cost_count devices: the milliseconds of a step in which nothing is looked
   up or sent, 0 each where costs are of the tables alone. */
NEUROSHARD_API neuroshard_status neuroshard_plan_get_dense_ms(const neuroshard_plan* plan,
                                                              double* dense_ms, size_t capacity,
                                                              neuroshard_error* error);

/* What one of several cost models that a plan was made for says of it
   (neuroshard_planner_plan_robust()). */
typedef struct neuroshard_robust_cost {
  size_t struct_size;
  neuroshard_text cost_model; /* name, as in neuroshard_cost_models_info */
  double cost_ms;             /* milliseconds of the plan's slowest device by it */
  double best_ms;             /* the least that any plan which the search has seen costs by it */
  double regret;              /* how much more the plan costs than that: 0.02 is 2 % */
} neuroshard_robust_cost;

/* Of how many cost models it says that, the first of which all its other costs are of; 0 for NULL,
   and for plans that were made for one, or costed again. Those of a file are what it says. */
NEUROSHARD_API size_t neuroshard_plan_robust_cost_count(const neuroshard_plan* plan);
/* Fills in *cost, whose struct_size the caller has set. Its text belongs to `plan`. */
NEUROSHARD_API neuroshard_status neuroshard_plan_get_robust_cost(const neuroshard_plan* plan,
                                                                 size_t index,
                                                                 neuroshard_robust_cost* cost,
                                                                 neuroshard_error* error);

/* Simulates whole training steps of the plan with that model on `model->profile`, task by task:
   a `neuroshard-iteration` file (docs/FILE_FORMATS.md, "Iteration") with the step's milliseconds,
   what each phase takes, exposed or hidden, and the critical path, as `neuroshard iteration` writes
   it. All of it is SIMULATED. Hosts are the plan's, else the profile's. Deterministic, thread-safe.
   Errors: INVALID_INPUT where the plan does not cover the workload or is for another batch size,
   where it or the model does not fit the hardware, and where the model does not fit the tables. */
NEUROSHARD_API neuroshard_status neuroshard_plan_iteration(const neuroshard_plan* plan,
                                                           const neuroshard_workload* workload,
                                                           const neuroshard_dense_model* model,
                                                           neuroshard_bytes** bytes,
                                                           neuroshard_error* error);

/* Whether the shards cover every table of `workload` exactly once, in ways, with kernels and on
   devices that it allows (else INVALID_INPUT), and every device of `cluster`, and every host where
   it says what those have, has the memory (else INFEASIBLE, naming the fullest). `cluster` may be
   NULL: no check of memory and device count. Where it says no devices per host, those of the plan
   count. */
NEUROSHARD_API neuroshard_status neuroshard_plan_check(const neuroshard_plan* plan,
                                                       const neuroshard_workload* workload,
                                                       const neuroshard_cluster* cluster,
                                                       neuroshard_error* error);

/* Bytes that come to devices which do not hold them when `to` takes the place of `from`: weights
   and optimizer states, each as often as devices get it. Of tables that `from` lacks nothing has to
   come, and those that it alone has count as nothing. Errors: INVALID_INPUT when `to` does not
   cover the workload exactly, or `from` its tables in it, when `from` names none of those, or they
   have not as many devices. */
NEUROSHARD_API neuroshard_status neuroshard_plan_moved_bytes(const neuroshard_plan* from,
                                                             const neuroshard_plan* to,
                                                             const neuroshard_workload* workload,
                                                             int64_t* bytes,
                                                             neuroshard_error* error);

/* The formats of neuroshard_plan_export(): "json" (the engine's own plan file), "torchrec", .. Out
   of range: empty text. */
NEUROSHARD_API size_t neuroshard_export_format_count(void);
NEUROSHARD_API neuroshard_text neuroshard_export_format_name(size_t index);
NEUROSHARD_API neuroshard_text neuroshard_export_format_summary(size_t index);

/* What a format needs beside the plan; formats ignore what they have no place for. */
typedef struct neuroshard_export_options {
  size_t struct_size;
  /* "torchrec": dotted name of the embedding module inside the model. Empty here, or below, or 0
     devices per host: as in the TorchRec plan that was imported or the cluster that was planned
     for, else the modules in the workload's table file or the model itself, "cuda", 8 (one host of
     all where 8 are no divisor). */
  neuroshard_text module;
  neuroshard_text trainer_device; /* "torchrec": "cuda" or "cpu" */
  int64_t memory_bytes;           /* "html": for tables on each device; 0: not known */
  int32_t devices_per_host;       /* "torchrec", "hugectr": in device order */
  int32_t reserved;               /* 0 */
} neuroshard_export_options;

/* The plan as a file of that format; empty means "json". `options` may be NULL. The same plan gives
   the same bytes. Errors: INVALID_INPUT for an unknown format, a plan that does not fit the
   workload, or one the format cannot express: the message names the table and the reason. */
NEUROSHARD_API neuroshard_status neuroshard_plan_export(
    const neuroshard_plan* plan, const neuroshard_workload* workload, neuroshard_text format,
    const neuroshard_export_options* options, neuroshard_bytes** bytes, neuroshard_error* error);
NEUROSHARD_API void neuroshard_plan_destroy(neuroshard_plan* plan);

#ifdef __cplusplus
}
#endif

#endif
