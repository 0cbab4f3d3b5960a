/* Part of neuroshard/engine.h: what each table of a plan takes, and what else could be done with
   it. */
#ifndef NEUROSHARD_ENGINE_EXPLAIN_H_
#define NEUROSHARD_ENGINE_EXPLAIN_H_

#include <neuroshard/engine/base.h>
#include <neuroshard/engine/cluster.h>
#include <neuroshard/engine/plan.h>
#include <neuroshard/engine/progress.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which tables to explain. */
typedef struct neuroshard_explain_options {
  size_t struct_size;
  /* Indices in the workload, explained in this order. NULL: the `most` that have the shards with
     the highest costs, from the highest on. */
  const int32_t* tables;
  size_t table_count;              /* 0 with NULL */
  size_t most;                     /* 0: 20 */
  neuroshard_progress_fn progress; /* NULL: none */
  void* progress_user_data;
  /* NULL: none. Must live until the call returns, which is NEUROSHARD_CANCELLED then. */
  const neuroshard_cancellation* cancellation;
} neuroshard_explain_options;

/* What one table takes, and its cheapest other layout among those that one change leads to, the
   rest of the plan as it is: whole, or a shard of it, on another device; a shard of columns halved;
   rows over all devices, or those of a host; whole on every device. */
typedef struct neuroshard_table_explanation {
  size_t struct_size;
  int32_t table;                  /* index in the workload */
  int32_t reserved;               /* 0 */
  const neuroshard_shard* shards; /* ordered by first row, first column */
  size_t shard_count;
  int64_t memory_bytes; /* of all its shards on devices; on every device counted once */
  double alone_ms;      /* computing, of its shard with the highest cost, alone on a device */
  /* Computing that a shard adds to what its device holds beside it, of the shard that adds most;
     all that the device takes for it where costs add up ("torchrec"). */
  double adds_ms;
  int64_t considered;                /* other layouts that fit the memory of the devices */
  const neuroshard_shard* next_best; /* the shards of the cheapest of those; NULL: there is none */
  size_t next_best_count;
  double next_best_ms; /* cost of the whole plan with those; 0 without */
} neuroshard_table_explanation;

/* Explains tables of `plan`, costed by this planner: other layouts that take more than
   `cluster->memory_bytes` on a device are left out; memory of hosts is not watched. Shards may go
   to the 16 devices that have least to do. Where `cluster` says no devices per host or buffers,
   those of `plan` count. `options` may be NULL. It takes one evaluation of the plan per layout.
   Thread-safe. Errors: INVALID_INPUT as neuroshard_planner_simulate(), for another number of
   devices than the plan's, and for a table that is not there; INFEASIBLE where `plan` itself does
   not fit; CANCELLED; OUT_OF_MEMORY. */
NEUROSHARD_API neuroshard_status
neuroshard_planner_explain(const neuroshard_planner* planner, const neuroshard_workload* workload,
                           const neuroshard_plan* plan, const neuroshard_cluster* cluster,
                           const neuroshard_explain_options* options,
                           neuroshard_explanation** explanation, neuroshard_error* error);

/* How many tables it explains; 0 for NULL. */
NEUROSHARD_API size_t neuroshard_explanation_table_count(const neuroshard_explanation* explanation);
/* Fills in *table, whose struct_size the caller has set. What it points to belongs to
   `explanation`. */
NEUROSHARD_API neuroshard_status
neuroshard_explanation_get_table(const neuroshard_explanation* explanation, size_t index,
                                 neuroshard_table_explanation* table, neuroshard_error* error);
NEUROSHARD_API void neuroshard_explanation_destroy(neuroshard_explanation* explanation);

#ifdef __cplusplus
}
#endif

#endif
