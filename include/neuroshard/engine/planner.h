/* Part of neuroshard/engine.h: searching and costing plans. */
#ifndef NEUROSHARD_ENGINE_PLANNER_H_
#define NEUROSHARD_ENGINE_PLANNER_H_

#include <neuroshard/engine/base.h>
#include <neuroshard/engine/cluster.h>
#include <neuroshard/engine/progress.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { NEUROSHARD_LOG_INFO = 0, NEUROSHARD_LOG_WARNING = 1 };

/* One line of text without a line end; `message` is gone when the callback returns. */
typedef void (*neuroshard_log_fn)(void* user_data, int32_t level, neuroshard_text message);

typedef struct neuroshard_planner_options {
  size_t struct_size;
  neuroshard_log_fn log; /* NULL: silence. Called from the threads that call planner functions */
  void* log_user_data;
} neuroshard_planner_options;

/* `options` may be NULL. The planner keeps no state between calls: it may be used any number of
   times, by any number of threads at once. */
NEUROSHARD_API neuroshard_status neuroshard_planner_create(
    const neuroshard_cost_models* models, const neuroshard_planner_options* options,
    neuroshard_planner** planner, neuroshard_error* error);
NEUROSHARD_API void neuroshard_planner_destroy(neuroshard_planner* planner);

/* Row shards that "refine" may make, as far as the cost models know them ("torchrec": even ones).
   "hugectr" deals rows out as HugeCTR does, where the cost models know ANY and that is asked for.
   With other cost models, and in other algorithms, rows stay whole. */
enum {
  NEUROSHARD_ROW_SPLITS_DEFAULT = 0, /* ANY, or what the target has a place for */
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
  /* Plans after which "refine", "anneal" and "surco" end; 0: no such limit. Without time_limit_s
     the plan then depends on neither speed nor threads, only on the processor's instruction set. */
  int64_t evaluations;
  int32_t threads;                 /* 0: one per hardware thread */
  int32_t row_splits;              /* NEUROSHARD_ROW_SPLITS_.. */
  neuroshard_progress_fn progress; /* NULL: none */
  void* progress_user_data;
  /* NULL: none. Must live until the call returns. */
  const neuroshard_cancellation* cancellation;
  /* Not 0: "refine" may give every device all of a small table, where the cost models know what
     that costs, and "hugectr" does. Such a shard is on device NEUROSHARD_EVERY_DEVICE. */
  int32_t data_parallel;
  /* Not 0: algorithms that split columns look for plans whose tables are in blocks of one width,
     each on a device of its own, as HugeCTR has them, or, with `row_splits`, in row blocks of as
     many rows or one fewer; where they find none, blocks may differ. */
  int32_t equal_columns;
  /* The trainer that will run the plan, "torchrec" or "hugectr": the search keeps to what it runs,
     and the plan is as its file has it. Where the file has no place for the plan of "refine" by
     default, it is that of another algorithm (a warning tells), else the search is refused. The
     search for that one may take as long again as time_limit_s. Empty: any plan will do. */
  neuroshard_text target;
  /* Of neuroshard_planner_replan(). Not 0: only whole tables move, and none is cut anew. Elsewhere
     0: tables themselves say how they may be sharded, neuroshard_table.forbidden_sharding. */
  int32_t whole_tables;
  int32_t reserved; /* 0 */
  /* Of neuroshard_planner_plan(); 0 for neuroshard_planner_replan(). Not 0: "refine" may give every
     device the rows of a table that a batch looks up most, beside the table's shards
     (neuroshard_plan_get_hot_rows()). Networks alone know what that costs, and no trainer's format
     has a place for such plans: where the models, the algorithm or the target have none for them, a
     warning tells, not where the search finds none that pay. With "torchrec" as
     `target` they are of tables alone that neuroshard_engine.torchrec's hot_rows_plan() runs and
     gains by: lookups that are not pooled, or one a sample and feature at most. Where that does not
     run the plan found, a warning says why, and the plan is one without, searched in what is left
     of time_limit_s. */
  int32_t hot_rows;
  int32_t reserved_2; /* 0 */
  /* What those may take of each device's memory, with optimizer states and gradients; 0: what there
     is. */
  int64_t hot_memory_bytes;
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
/* One plan for several cost models, those of this planner and the `count` of `others`: of the plans
   found, the one with the smallest largest regret, which is how much more it costs by one of the
   models than the least that any plan seen costs by that one (neuroshard_plan_get_robust_cost()).
   First each model has a search of its own, as neuroshard_planner_plan(), then come as many under
   the worst of all of them: limits of `options` are those of each of these searches. Only what all
   models know is searched. The plan's costs are those of this planner. Where the target has no
   place for the plan found by one of them alone, the call is refused. Thread-safe. Errors: as
   neuroshard_planner_plan(), of the first model that gives one; INVALID_INPUT also without others,
   for one that is given twice, for more than 255 and for NEUROSHARD_EXCHANGE_AUTO. */
NEUROSHARD_API neuroshard_status neuroshard_planner_plan_robust(
    const neuroshard_planner* planner, const neuroshard_cost_models* const* others, size_t count,
    const neuroshard_workload* workload, const neuroshard_cluster* cluster,
    const neuroshard_plan_options* options, neuroshard_plan** plan, neuroshard_error* error);
/* Goes on from `now`, a plan that runs on `cluster`: a plan that costs no more under this planner's
   cost models and brings at most `move_limit_bytes` to devices that do not hold them
   (neuroshard_plan_moved_bytes()). Whole tables and columns move and are split, or with
   `options->whole_tables`, and where the trainer of `options->target` wants that (HugeCTR does),
   whole tables alone. With a target, `now` is taken as its file has it, and so is the plan; where
   the file has no place for the plan found, it is `now` (a warning tells), or the call is refused
   where that has not all tables or not the memory. Tables get row shards, or become whole again, as
   `options->row_splits` and `data_parallel` say of plans; with NEUROSHARD_ROW_SPLITS_OFF or
   whole tables alone, those with row shards or on every device stay as they are. Where `cluster`
   says no devices per host, those of `now` count. The workload may have another batch size than
   `now`. Tables are those of one name where `now` knows names (neuroshard/engine/plan.h), else of
   one number. Those that it lacks are placed as if nothing of them moved; those that it alone has
   by name are dropped, and a warning tells. Where devices have less memory than `now` takes, what
   is too much goes to others, which may cost more. Tables keep the kernels that `now` gives them.
   Of `options`, algorithm changes nothing. Errors: as neuroshard_planner_plan(); INVALID_INPUT also
   when `now` does not cover its tables exactly, names none of the workload's or is for another
   number of devices; INFEASIBLE when nothing is found that fits and moves at most that. */
NEUROSHARD_API neuroshard_status neuroshard_planner_replan(
    const neuroshard_planner* planner, const neuroshard_workload* workload,
    const neuroshard_cluster* cluster, const neuroshard_plan* now, int64_t move_limit_bytes,
    const neuroshard_plan_options* options, neuroshard_plan** plan, neuroshard_error* error);
/* One plan for several cost models near `now`, as neuroshard_planner_plan_robust() makes one from
   nothing: each search is one of neuroshard_planner_replan(), and the least that plans cost by a
   model is that of those seen which move no more than the limit. Where `now` may stay, it is one of
   them: the plan has no larger largest regret than `now`, and is `now` where the target has no
   place for any other. Errors: as those two functions. */
NEUROSHARD_API neuroshard_status neuroshard_planner_replan_robust(
    const neuroshard_planner* planner, const neuroshard_cost_models* const* others, size_t count,
    const neuroshard_workload* workload, const neuroshard_cluster* cluster,
    const neuroshard_plan* now, int64_t move_limit_bytes, const neuroshard_plan_options* options,
    neuroshard_plan** plan, neuroshard_error* error);

/* Sets *bound_ms to milliseconds that no plan of `workload` on `cluster` costs less than, whatever
   memory there is: of plans that neuroshard_planner_plan() could make with the row_splits,
   data_parallel and target of `options`, which may be NULL; what else it says changes nothing. 0
   where none is known: where costs do not add up by shard (those of networks do not, "torchrec"'s
   do), where `cluster` has host memory in which tables could be faster, and where working it out
   would take more than about a tenth of a second. A plan that costs as much is the best there is.
   Errors: as neuroshard_planner_plan() without a search. */
NEUROSHARD_API neuroshard_status neuroshard_planner_lower_bound(
    const neuroshard_planner* planner, const neuroshard_workload* workload,
    const neuroshard_cluster* cluster, const neuroshard_plan_options* options, double* bound_ms,
    neuroshard_error* error);

/* The same shards with what they cost under this planner's cost models. Says nothing about memory
   limits: see neuroshard_plan_check(). Errors: INVALID_INPUT when the plan does not cover the
   workload exactly, or holds a table in host memory, whose cost "torchrec" alone knows, or one
   on every device or with hot rows that these cost models know no cost of. */
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

#ifdef __cplusplus
}
#endif

#endif
