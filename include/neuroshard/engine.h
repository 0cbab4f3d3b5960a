/* NeuroShard's engine for C and for every language that can call C: which columns of which
   embedding table should live on which device, and what a plan costs.

     neuroshard_workload*     the tables of a model and its batch size
     neuroshard_cost_models*  small networks that know what a hardware costs
     neuroshard_planner*      searches and costs plans with one set of cost models
     neuroshard_plan*         shards, and what each device takes
     neuroshard_cancellation* ends a search from another thread
     neuroshard_bytes*        what an export produced
     neuroshard_error*        why the last call given it failed

   Conventions, for every function:

   Results. Whatever can fail returns a neuroshard_status, NEUROSHARD_OK being 0, and takes a
   neuroshard_error* last. That may be NULL; otherwise it then holds the status and one line that
   says what was found and what was expected. On failure an output handle is set to NULL and other
   outputs are left as they were.

   Handles. A function that sets a `T**` makes a handle the caller owns and ends with
   neuroshard_T_destroy(), which accepts NULL. Handles keep what they need of each other alive: they
   may be destroyed in any order.

   Threads. There are no globals. Functions may run at the same time on different handles, and on
   the same handle where all of them take it as const: workloads, cost models, planners and plans
   are shared freely once they are made. An error belongs to one thread at a time. Only
   neuroshard_cancel() may be called while another thread uses the handle.

   Text and sizes. Text is UTF-8 in a neuroshard_text: a pointer with its size. Text that comes out
   belongs to the handle it came from, and a 0 byte follows it. Pointers to arrays come with a
   count.

   Structs with a struct_size. Zero the struct, set struct_size to its sizeof, then fill in fields;
   a field left 0 takes its default. (neuroshard_table t = {0}; t.struct_size = sizeof t;) That is
   how a program compiled against an older header goes on working: the library reads and writes no
   more than struct_size bytes. Fields this library does not know yet must be 0, else the call fails
   with NEUROSHARD_INVALID_INPUT rather than ignore a wish.

   The library never prints, exits, aborts or lets a C++ exception out. Callbacks must return
   normally: no longjmp, no exceptions.

   Units: bytes are bytes, times are milliseconds unless a name ends in _s (seconds). */
#ifndef NEUROSHARD_ENGINE_H_
#define NEUROSHARD_ENGINE_H_

#include <neuroshard/version.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NEUROSHARD_API __attribute__((visibility("default")))
#else
#define NEUROSHARD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct neuroshard_bytes neuroshard_bytes;
typedef struct neuroshard_cancellation neuroshard_cancellation;
typedef struct neuroshard_cost_models neuroshard_cost_models;
typedef struct neuroshard_error neuroshard_error;
typedef struct neuroshard_plan neuroshard_plan;
typedef struct neuroshard_planner neuroshard_planner;
typedef struct neuroshard_workload neuroshard_workload;

/* ---- text ---------------------------------------------------------------------------------- */

/* `size` bytes at `data`; {NULL, 0} is empty. Fixed for ever. */
typedef struct neuroshard_text {
  const char* data;
  size_t size;
} neuroshard_text;

/* As a size: the text ends before its first 0 byte. {"h200_sim", NEUROSHARD_NUL_TERMINATED} */
#define NEUROSHARD_NUL_TERMINATED ((size_t)-1)

/* ---- version ------------------------------------------------------------------------------- */

/* Of the library that is running, such as "0.1.0"; NEUROSHARD_VERSION is that of this header. Both
   point to constants. Programs work with every library of the same major version that is not older
   than their header. */
NEUROSHARD_API const char* neuroshard_version(void);
/* The git commit the library was built from, or "unknown". */
NEUROSHARD_API const char* neuroshard_commit(void);

/* ---- errors -------------------------------------------------------------------------------- */

typedef int32_t neuroshard_status;
enum {
  NEUROSHARD_OK = 0,
  NEUROSHARD_INVALID_INPUT = 1, /* bad argument, bad or missing file: the message says where */
  NEUROSHARD_INFEASIBLE = 2,    /* no plan fits; the message names the smallest change found */
  NEUROSHARD_IO_ERROR = 3,      /* reading broke off, or a file could not be written */
  NEUROSHARD_UNAVAILABLE = 4,   /* hardware, driver or library missing */
  NEUROSHARD_CANCELLED = 5,     /* cancelled before there was any plan */
  NEUROSHARD_INTERNAL = 6,      /* a bug; please report it */
  NEUROSHARD_OUT_OF_MEMORY = 7  /* nothing else changed; the call may be repeated */
};

/* "NEUROSHARD_OK", ..; "unknown status" for any other number. A constant. */
NEUROSHARD_API const char* neuroshard_status_name(neuroshard_status status);

/* An empty error; NULL only when memory is exhausted. */
NEUROSHARD_API neuroshard_error* neuroshard_error_create(void);
NEUROSHARD_API void neuroshard_error_destroy(neuroshard_error* error);
/* Of the last call that was given `error`: NEUROSHARD_OK and "" after a success, and for NULL. The
   text stays until the next call that is given it. */
NEUROSHARD_API neuroshard_status neuroshard_error_status(const neuroshard_error* error);
NEUROSHARD_API neuroshard_text neuroshard_error_message(const neuroshard_error* error);

/* ---- bytes --------------------------------------------------------------------------------- */

/* The content; stays until the handle is destroyed. Empty for NULL. */
NEUROSHARD_API neuroshard_text neuroshard_bytes_view(const neuroshard_bytes* bytes);
/* Makes the file `path` hold exactly these bytes, or leaves it as it was: a temporary file beside
   it, synced and renamed. */
NEUROSHARD_API neuroshard_status neuroshard_bytes_write_file(const neuroshard_bytes* bytes,
                                                             neuroshard_text path,
                                                             neuroshard_error* error);
NEUROSHARD_API void neuroshard_bytes_destroy(neuroshard_bytes* bytes);

/* ---- workload: tables and batch size --------------------------------------------------------- */

/* Kinds of sharding, to be added up. */
enum {
  NEUROSHARD_SHARDING_WHOLE = 1,        /* on one device */
  NEUROSHARD_SHARDING_COLUMNS = 2,      /* shards of some of its columns */
  NEUROSHARD_SHARDING_ROWS = 4,         /* shards of some of its rows; with COLUMNS blocks, too */
  NEUROSHARD_SHARDING_DATA_PARALLEL = 8 /* whole on every device */
};

/* Where a table's weights are while it is trained, TorchRec's compute kernels: in the memory of the
   devices, or in that of the hosts, through a cache of rows on the device or without. To be added
   up where several are meant. */
enum {
  NEUROSHARD_KERNEL_FUSED = 1,
  NEUROSHARD_KERNEL_FUSED_UVM_CACHING = 2,
  NEUROSHARD_KERNEL_FUSED_UVM = 4
};

/* One embedding table. */
typedef struct neuroshard_table {
  size_t struct_size;
  neuroshard_text name;  /* any text, unique in its workload */
  int64_t rows;          /* hash size, 1 or more */
  int32_t dim;           /* columns, 1 to 1,048,576 */
  int32_t reserved;      /* 0 */
  double pooling_factor; /* mean lookups per sample, of all features, 0 to 1e9 */
  /* How unevenly rows are looked up, either of:
     zipf_alpha: lookups follow a Zipf law with this exponent, 0 (uniform) to 100;
     reuse_histogram: 17 shares that add up to 1 (all 0 without lookups), share k of the distinct
     rows of a batch being looked up (2^(k-1), 2^k] times. */
  double zipf_alpha;
  const double* reuse_histogram; /* NULL: from zipf_alpha */
  size_t reuse_histogram_size;   /* 17, or 0 with NULL */
  neuroshard_text data_type;     /* "fp32" (default), "fp16" */
  /* "sgd" (default), "rowwise_adagrad", "adagrad", "adam", "partial_rowwise_adam", "lamb",
     "partial_rowwise_lamb", "lars_sgd": what it keeps counts as memory of the shards. */
  neuroshard_text optimizer;
  int32_t features; /* that look it up, each with an output of `dim` columns; 0: one */
  int32_t weighted; /* 1: lookups have weights of their own; 0 (default): none */
  /* Kinds that searches may not use, and rather fail: a sum of NEUROSHARD_SHARDING_.., not of all
     four; 0 (default): they may use all. On a single device every table is whole. */
  uint32_t forbidden_sharding;
  int32_t min_columns; /* of the narrowest shard that searches make: a multiple of 4; 0: 4 */
  /* Those that may have shards of it, each once or more; a plan must have more devices than the
     highest. NULL: any. */
  const int32_t* devices;
  size_t device_count; /* 0 with NULL */
  /* 1: each lookup is an output, as in sequences; 0 (default): those of a bag are added up. The
     cost model "torchrec" alone knows the former. */
  int32_t unpooled;
  int32_t reserved_2; /* 0 */
  /* Kernels that plans may not give it where it is not on every device: a sum of
     NEUROSHARD_KERNEL_.., not of all three; 0 (default): they may give it any. */
  uint32_t forbidden_kernels;
  int32_t reserved_3; /* 0 */
  /* Share of its rows that NEUROSHARD_KERNEL_FUSED_UVM_CACHING has in its cache, above 0 and at
     most 1; 0: whichever does best. */
  double cache_load_factor;
} neuroshard_table;

/* A workload without tables yet. `batch_size` is the number of samples per step over all devices,
   1 or more; cost models know a range of it, neuroshard_cost_models_get_info(). */
NEUROSHARD_API neuroshard_status neuroshard_workload_create(int64_t batch_size,
                                                            neuroshard_workload** workload,
                                                            neuroshard_error* error);
/* Appends a copy of `table`; its index is the number of tables before. */
NEUROSHARD_API neuroshard_status neuroshard_workload_add_table(neuroshard_workload* workload,
                                                               const neuroshard_table* table,
                                                               neuroshard_error* error);
/* The bytes of a table file (docs/FILE_FORMATS.md, "Tables"). `source` is what messages call them,
   for example a file name. `batch_size` replaces the file's; 0 keeps it (65,536 when the file has
   none). */
NEUROSHARD_API neuroshard_status neuroshard_workload_parse(neuroshard_text bytes,
                                                           neuroshard_text source,
                                                           int64_t batch_size,
                                                           neuroshard_workload** workload,
                                                           neuroshard_error* error);
/* The same from a file, at most 2 GiB. */
NEUROSHARD_API neuroshard_status neuroshard_workload_read_file(neuroshard_text path,
                                                               int64_t batch_size,
                                                               neuroshard_workload** workload,
                                                               neuroshard_error* error);
/* 0 for NULL. */
NEUROSHARD_API size_t neuroshard_workload_table_count(const neuroshard_workload* workload);
NEUROSHARD_API int64_t neuroshard_workload_batch_size(const neuroshard_workload* workload);
/* Fills in *table, whose struct_size the caller has set: the reuse histogram is there even when the
   table was made from zipf_alpha (which comes back as 0). What *table points to stays until the
   workload is changed or destroyed. */
NEUROSHARD_API neuroshard_status neuroshard_workload_get_table(const neuroshard_workload* workload,
                                                               size_t index,
                                                               neuroshard_table* table,
                                                               neuroshard_error* error);
NEUROSHARD_API void neuroshard_workload_destroy(neuroshard_workload* workload);

/* ---- cost models --------------------------------------------------------------------------- */

/* The names of the cost models inside the library, by index: networks, and "torchrec", the formula
   of TorchRec's performance estimator. Out of range: empty text. */
NEUROSHARD_API size_t neuroshard_shipped_model_count(void);
NEUROSHARD_API neuroshard_text neuroshard_shipped_model_name(size_t index);

/* The shipped cost models of that name; empty means "h200_sim". */
NEUROSHARD_API neuroshard_status neuroshard_cost_models_shipped(neuroshard_text name,
                                                                neuroshard_cost_models** models,
                                                                neuroshard_error* error);
/* From the bytes of a cost-model file, as `neuroshard train` writes them. `source` names them in
   messages and in plans. */
NEUROSHARD_API neuroshard_status neuroshard_cost_models_parse(neuroshard_text bytes,
                                                              neuroshard_text source,
                                                              neuroshard_cost_models** models,
                                                              neuroshard_error* error);
NEUROSHARD_API neuroshard_status neuroshard_cost_models_read_file(neuroshard_text path,
                                                                  neuroshard_cost_models** models,
                                                                  neuroshard_error* error);

typedef struct neuroshard_cost_models_info {
  size_t struct_size;
  neuroshard_text name;   /* shipped name, or the source */
  neuroshard_text sha256; /* of the file's bytes, 64 hexadecimal digits */
  neuroshard_text compute_hardware;
  neuroshard_text communication_hardware;
  int64_t min_batch_size; /* a workload's batch size must be in the range they were trained for */
  int64_t max_batch_size;
  int32_t devices;   /* the only device count they know; 0: any */
  int32_t simulated; /* 1: costs are those of simulated hardware, 0: measured */
  int32_t row_parts; /* in how many parts at most they know rows ("torchrec": even blocks); or 1 */
  /* Where any device count will do: the least and the most of the training data, beyond which costs
     are guesses (but for one device, which exchanges nothing); 0: not known. */
  int32_t min_devices;
  int32_t max_devices;
  int32_t reserved; /* 0 */
} neuroshard_cost_models_info;

/* Fills in *info, whose struct_size the caller has set. Texts belong to `models`. */
NEUROSHARD_API neuroshard_status
neuroshard_cost_models_get_info(const neuroshard_cost_models* models,
                                neuroshard_cost_models_info* info, neuroshard_error* error);
NEUROSHARD_API void neuroshard_cost_models_destroy(neuroshard_cost_models* models);

/* ---- planner ------------------------------------------------------------------------------- */

enum { NEUROSHARD_LOG_INFO = 0, NEUROSHARD_LOG_WARNING = 1 };

/* One line of text without a line end; `message` is gone when the callback returns. */
typedef void (*neuroshard_log_fn)(void* user_data, int32_t level, neuroshard_text message);

/* `done` of `total` units ("splits", ..) of `phase` are finished; total 0 = unknown. One thread at
   a time per search, possibly not the one that called. It may call neuroshard_cancel(). */
typedef void (*neuroshard_progress_fn)(void* user_data, neuroshard_text phase, int64_t done,
                                       int64_t total, neuroshard_text unit);

typedef struct neuroshard_planner_options {
  size_t struct_size;
  neuroshard_log_fn log; /* NULL: silence. Called from the threads that call planner functions */
  void* log_user_data;
  /* What "torchrec" counts with, in GB/s of 2^30 bytes, each from 1e-6 to 1e6: a device's memory,
     all-to-all on one host, between hosts. 0: TorchRec's 897, 600, 12.5. Other cost models have the
     hardware they were trained on. */
  double device_gbps;
  double intra_host_gbps;
  double inter_host_gbps;
  /* The same between a device and its host's memory, for tables there; 0: TorchRec's 32. */
  double host_memory_gbps;
} neuroshard_planner_options;

/* `options` may be NULL. The planner keeps no state between calls: it may be used any number of
   times, by any number of threads at once. */
NEUROSHARD_API neuroshard_status neuroshard_planner_create(
    const neuroshard_cost_models* models, const neuroshard_planner_options* options,
    neuroshard_planner** planner, neuroshard_error* error);
NEUROSHARD_API void neuroshard_planner_destroy(neuroshard_planner* planner);

/* What a training step keeps beside the tables in the memory of their devices, as TorchRec's
   planner counts it for a pipeline (PipelineType). */
enum {
  NEUROSHARD_BUFFERS_DEFAULT = 0,    /* of a plan that is replanned or checked: its own; else OFF */
  NEUROSHARD_BUFFERS_OFF = 1,        /* not counted */
  NEUROSHARD_BUFFERS_TRAIN_BASE = 2, /* lookups and outputs of a batch */
  NEUROSHARD_BUFFERS_TRAIN_SPARSE_DIST = 3, /* lookups of two batches */
  /* Of three, and of tables with a cache of rows those of seven more. */
  NEUROSHARD_BUFFERS_TRAIN_PREFETCH_SPARSE_DIST = 4
};

/* The devices to place tables on. */
typedef struct neuroshard_cluster {
  size_t struct_size;
  int64_t memory_bytes; /* for tables, and `buffers`, on each device, 1 or more */
  int32_t devices;      /* 1 to 65,536 */
  /* Of one host, all of them alike and their devices in order: for costs that go by it
     ("torchrec"), and for exports of the plan, which remembers it. 0: 8, or one host of all where 8
     are no divisor. neuroshard-plan files have no place for it. */
  int32_t devices_per_host;
  /* Memory of each host for tables that the devices have no room for, or that are cheaper there
     than in what room is left, weights and what optimizers keep for each. 0: none for searches,
     which then have all tables on devices; not watched when a plan is replanned or checked. Only
     "torchrec" knows what such tables cost: with other cost models it changes nothing, which
     searches log. */
  int64_t host_memory_bytes;
  int32_t buffers;  /* NEUROSHARD_BUFFERS_..: plans that are made remember it */
  int32_t reserved; /* 0 */
} neuroshard_cluster;

/* Row shards that "refine" may make, as far as the cost models know them ("torchrec": even ones);
   with other cost models, and in other algorithms, rows stay whole. */
enum {
  NEUROSHARD_ROW_SPLITS_DEFAULT = 0, /* EVEN */
  NEUROSHARD_ROW_SPLITS_OFF = 1,
  /* A table over all devices, in blocks of ceil(rows / devices); where costs go by hosts, also
     columns of it over the devices of one. */
  NEUROSHARD_ROW_SPLITS_EVEN = 2,
  NEUROSHARD_ROW_SPLITS_ANY = 3 /* also halves of its rows, quarters, .., on any devices */
};

/* How to search. */
typedef struct neuroshard_plan_options {
  size_t struct_size;
  neuroshard_text algorithm; /* one of neuroshard_algorithm_name(); empty: "refine" */
  uint64_t seed;             /* of the algorithms that draw random numbers */
  /* Seconds after which the search ends with its best plan so far; 0: no limit, but 1 s for
     "refine" and "anneal" unless `evaluations` limits them. */
  double time_limit_s;
  /* Plans after which "refine" and "anneal" end; 0: no such limit. Without time_limit_s the plan
     then depends on neither speed nor threads, only on the processor's instruction set. */
  int64_t evaluations;
  int32_t threads;                 /* 0: one per hardware thread */
  int32_t row_splits;              /* NEUROSHARD_ROW_SPLITS_.. */
  neuroshard_progress_fn progress; /* NULL: none */
  void* progress_user_data;
  /* NULL: none. Must live until the call returns. */
  const neuroshard_cancellation* cancellation;
  /* Not 0: "refine" may give every device all of a small table ("torchrec": only its formula knows
     what that costs). Such a shard is on device NEUROSHARD_EVERY_DEVICE. */
  int32_t data_parallel;
  /* Not 0: algorithms that split columns look for plans whose tables are in blocks of one width,
     each on a device of its own, as HugeCTR has them; where they find none, blocks may differ. */
  int32_t equal_columns;
} neuroshard_plan_options;

/* Searches the plan of `workload` on `cluster` whose slowest device takes least. Same input and
   seed, same plan, on any number of threads, unless time or a cancellation ended the search
   (neuroshard_plan_info.stopped_early). `options` may be NULL. Errors: INVALID_INPUT (also for cost
   models that do not fit the device count or batch size), INFEASIBLE, CANCELLED (no plan yet),
   OUT_OF_MEMORY. */
NEUROSHARD_API neuroshard_status neuroshard_planner_plan(const neuroshard_planner* planner,
                                                         const neuroshard_workload* workload,
                                                         const neuroshard_cluster* cluster,
                                                         const neuroshard_plan_options* options,
                                                         neuroshard_plan** plan,
                                                         neuroshard_error* error);
/* Goes on from `now`, a plan that runs on `cluster`: a plan that costs no more under this planner's
   cost models and brings at most `move_limit_bytes` to devices that do not hold them
   (neuroshard_plan_moved_bytes()). Whole tables and columns move and are split (so that HugeCTR's
   lists may have no place for the plan); row shards and tables on every device stay as they are.
   Where `cluster` says no devices per host, those of `now` count. The workload may have another
   batch size than `now`, and tables that it lacks, after those that it has: they are placed as if
   nothing of them moved. Where devices have less memory than `now` takes, what is too much goes to
   others, which may cost more. Tables keep the kernels that `now` gives them. Of `options`,
   algorithm, row_splits and data_parallel change nothing. Errors: as neuroshard_planner_plan();
   INVALID_INPUT also when `now` does not cover its tables exactly or is for another number of
   devices; INFEASIBLE when nothing is found that fits and moves no more than the limit. */
NEUROSHARD_API neuroshard_status neuroshard_planner_replan(
    const neuroshard_planner* planner, const neuroshard_workload* workload,
    const neuroshard_cluster* cluster, const neuroshard_plan* now, int64_t move_limit_bytes,
    const neuroshard_plan_options* options, neuroshard_plan** plan, neuroshard_error* error);
/* The same shards with what they cost under this planner's cost models. Says nothing about memory
   limits: see neuroshard_plan_check(). Errors: INVALID_INPUT when the plan does not cover the
   workload exactly, or holds a table on every device or in host memory, whose cost "torchrec" alone
   knows. */
NEUROSHARD_API neuroshard_status neuroshard_planner_simulate(const neuroshard_planner* planner,
                                                             const neuroshard_workload* workload,
                                                             const neuroshard_plan* plan,
                                                             neuroshard_plan** costed,
                                                             neuroshard_error* error);

/* The search algorithms, weakest first; those that run only when asked for come last. Out of range:
   empty text. */
NEUROSHARD_API size_t neuroshard_algorithm_count(void);
NEUROSHARD_API neuroshard_text neuroshard_algorithm_name(size_t index);
NEUROSHARD_API neuroshard_text neuroshard_algorithm_summary(size_t index);

/* ---- cancelling ---------------------------------------------------------------------------- */

NEUROSHARD_API neuroshard_status
neuroshard_cancellation_create(neuroshard_cancellation** cancellation, neuroshard_error* error);
/* Ends every search that was given it, now and later, until it is reset: the search returns
   NEUROSHARD_OK with its best plan so far, or NEUROSHARD_CANCELLED when it has none. May be called
   from any thread, at any time, and from signal handlers. */
NEUROSHARD_API void neuroshard_cancel(neuroshard_cancellation* cancellation);
NEUROSHARD_API int32_t neuroshard_cancelled(const neuroshard_cancellation* cancellation);
/* REQUIRES that no search uses it. */
NEUROSHARD_API void neuroshard_cancellation_reset(neuroshard_cancellation* cancellation);
NEUROSHARD_API void neuroshard_cancellation_destroy(neuroshard_cancellation* cancellation);

/* ---- plans --------------------------------------------------------------------------------- */

/* As a shard's device: every device holds the whole table (data parallel). */
#define NEUROSHARD_EVERY_DEVICE (-1)

/* Rows [row_begin, row_end) x columns [column_begin, column_end) of a table, on one device. Fixed
   for ever: arrays of it have no struct_size. */
typedef struct neuroshard_shard {
  int64_t row_begin;
  int64_t row_end;
  int32_t column_begin;
  int32_t column_end;
  int32_t table; /* index in the workload */
  int32_t device;
} neuroshard_shard;

/* What one device takes. Fixed for ever. */
typedef struct neuroshard_device_cost {
  double compute_ms;
  double forward_comm_ms; /* includes waiting for the slowest device */
  double backward_comm_ms;
  double total_ms;
  int64_t memory_bytes; /* weights, optimizer states, caches of rows and the plan's buffers */
  int64_t dim_sum;      /* columns of all its shards */
} neuroshard_device_cost;

/* A table that a plan has in host memory. Fixed for ever. */
typedef struct neuroshard_offloaded_table {
  int32_t table;  /* index in the workload */
  int32_t kernel; /* NEUROSHARD_KERNEL_FUSED_UVM_CACHING or .._FUSED_UVM, of all its shards */
  double cache_load_factor; /* share of each shard's rows in its cache; 0 without one */
} neuroshard_offloaded_table;

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
      evaluations; /* plans the search has put a cost on: in full, or ("refine") by an estimate */
  double search_s; /* seconds of the search alone */
  size_t offloaded_count; /* tables in host memory */
  int32_t buffers;        /* NEUROSHARD_BUFFERS_.. that its memory counts, OFF for none */
  int32_t reserved;       /* 0 */
} neuroshard_plan_info;

/* A plan made by hand, with the tables that it has in host memory, by index, if any. Single fields
   are checked here; that they fit a workload is checked by neuroshard_plan_check() and by whatever
   takes both. Counts are at most 2^24. */
NEUROSHARD_API neuroshard_status
neuroshard_plan_create(int32_t devices, int64_t batch_size, const neuroshard_shard* shards,
                       size_t count, const neuroshard_offloaded_table* offloaded,
                       size_t offloaded_count, neuroshard_plan** plan, neuroshard_error* error);
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

/* The same of all tables in host memory, by index; all others have NEUROSHARD_KERNEL_FUSED, those
   on every device none. */
NEUROSHARD_API neuroshard_status neuroshard_plan_get_offloaded(const neuroshard_plan* plan,
                                                               neuroshard_offloaded_table* tables,
                                                               size_t capacity,
                                                               neuroshard_error* error);
/* And of the bytes that each device has in its host's memory, as many as there are device costs. */
NEUROSHARD_API neuroshard_status neuroshard_plan_get_host_bytes(const neuroshard_plan* plan,
                                                                int64_t* bytes, size_t capacity,
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
   and optimizer states, each as often as devices get it. Errors: INVALID_INPUT when one of them
   does not cover the workload exactly, or they have not as many devices. */
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
