// NeuroShard's engine for C++20: engine.h with owning handles and Result instead of status codes.
//
//   using namespace neuroshard;
//   Result<CostModels> models = CostModels::shipped();
//   if (!models) return complain(models.error().message);
//
// Header-only, on top of the C functions: it works with every compiler and standard library,
// whatever the engine was built with, and with -fno-exceptions. Nothing here throws except
// std::bad_alloc. Units, threads and lifetimes are those of engine.h: a const object may be shared
// between threads; Cancellation::cancel() may be called from any thread. Every function of an
// object that was moved from fails.
#ifndef NEUROSHARD_ENGINE_HPP_
#define NEUROSHARD_ENGINE_HPP_

#include <neuroshard/engine.h>
#include <neuroshard/engine/base.hpp>
#include <neuroshard/engine/cluster.hpp>
#include <neuroshard/engine/cost_models.hpp>
#include <neuroshard/engine/explain.hpp>
#include <neuroshard/engine/plan.hpp>
#include <neuroshard/engine/planner.hpp>
#include <neuroshard/engine/progress.hpp>
#include <neuroshard/engine/workload.hpp>

#endif
