/* NeuroShard's engine for C and for every language that can call C: which columns of which
   embedding table should live on which device, and what a plan costs.

     neuroshard_workload*     the tables of a model and its batch size
     neuroshard_cost_models*  small networks that know what a hardware costs
     neuroshard_planner*      searches and costs plans with one set of cost models
     neuroshard_plan*         shards, and what each device takes
     neuroshard_explanation*  what tables of a plan take, and what else could be done with them
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
   the same handle where all of them take it as const: workloads, cost models, planners, plans and
   explanations are shared freely once they are made. An error belongs to one thread at a time. Only
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

#include <neuroshard/engine/base.h>
#include <neuroshard/engine/cluster.h>
#include <neuroshard/engine/cost_models.h>
#include <neuroshard/engine/explain.h>
#include <neuroshard/engine/plan.h>
#include <neuroshard/engine/planner.h>
#include <neuroshard/engine/progress.h>
#include <neuroshard/engine/workload.h>

#endif
