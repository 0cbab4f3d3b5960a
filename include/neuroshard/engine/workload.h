/* Part of neuroshard/engine.h: tables and batch size. */
#ifndef NEUROSHARD_ENGINE_WORKLOAD_H_
#define NEUROSHARD_ENGINE_WORKLOAD_H_

#include <neuroshard/engine/base.h>

#ifdef __cplusplus
extern "C" {
#endif

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
  neuroshard_text data_type;     /* "fp32" (default), "fp16", "bf16", "int8" */
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
     cost model "torchrec" and the shipped networks of simulations know the former; other networks
     take each lookup for a bag of its own or, where their features do not change with the batch
     size, refuse it. */
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
/* The same from a file, at most 1 GiB. */
NEUROSHARD_API neuroshard_status neuroshard_workload_read_file(neuroshard_text path,
                                                               int64_t batch_size,
                                                               neuroshard_workload** workload,
                                                               neuroshard_error* error);
/* 0 for NULL. */
NEUROSHARD_API size_t neuroshard_workload_table_count(const neuroshard_workload* workload);
NEUROSHARD_API int64_t neuroshard_workload_batch_size(const neuroshard_workload* workload);
/* Fills in *table, whose struct_size the caller has set: the reuse histogram is there even when the
   table was made from zipf_alpha (which comes back as 0). What *table points to stays until the
   workload is changed or destroyed. It has no place for what a table file says as "bag_lengths",
   "hot_lookups", "hot_bags" and "module": a table that is added again is without. */
NEUROSHARD_API neuroshard_status neuroshard_workload_get_table(const neuroshard_workload* workload,
                                                               size_t index,
                                                               neuroshard_table* table,
                                                               neuroshard_error* error);
/* A table file that says what the workload is: its batch size and all its tables, with the modules
   that their own file named. */
NEUROSHARD_API neuroshard_status neuroshard_workload_format(const neuroshard_workload* workload,
                                                            neuroshard_bytes** bytes,
                                                            neuroshard_error* error);
NEUROSHARD_API void neuroshard_workload_destroy(neuroshard_workload* workload);

#ifdef __cplusplus
}
#endif

#endif
