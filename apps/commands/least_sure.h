#pragma once

#include <string>

#include "apps/commands/plan_input.h"
#include "apps/flags/export_flags.h"
#include "apps/flags/flags.h"
#include "engine/core/status.h"

namespace neuroshard::apps {

/// --for 'least-sure K'.
void declare_least_sure(FlagSet& flags, std::string* out);

/// Writes the benchmark of the K sets of shards that the cost model is least sure of, of the tables
/// of `input`, into the folder `output`, and prints how unsure it is. `choice` is --for's value; of
/// the other flags those without a place are told. Errors: another choice, another format, a plan,
/// and those of least_sure_sets().
Status export_least_sure(const FlagSet& flags, const std::string& choice,
                         const PlanInputFlags& input, ExportFlags& format,
                         const std::string& cost_model, const std::string& output);

}  // namespace neuroshard::apps
