#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/plans/export_options.h"
#include "io/plans/plan_document.h"

namespace neuroshard::io {

/// Takes files of a folder, one after the other: the name of one and some of its bytes, as often as
/// it takes to give all of them.
using FolderSink = std::function<Status(std::string_view name, std::string_view bytes)>;

/// A plan's steps as Chakra execution traces, step.RANK.et of each rank, which ASTRA-sim and others
/// replay: lookups forward, the exchange of embeddings, the dense layers, the exchange of their
/// gradients, lookups backward and, where every device holds some tables, the all-reduce of their
/// gradients. What computes has the duration that the document's costs say, in whole microseconds,
/// rounded up; those know lookups of both directions together, and a third of it is taken for the
/// forward ones, as TorchRec's planner does (BWD_COMPUTE_MULTIPLIER 2). What is exchanged has bytes
/// alone: how long it takes is what the network's simulator is asked.
///
/// An all-to-all of a trace has one size for all ranks. Exchanges in which ranks send as much as
/// each other are one, of a rank's whole send buffer; others are sends and receives of pairs, none
/// of nothing (`options.exchange_nodes`: "collective" and "pairs" instead). Partial sums of row
/// shards go to the rank that has the sample, as TorchRec's row_wise sends them: table_row_wise,
/// which adds them up on a host first, sends less between hosts.
///
/// With `options.links` network.yml, system.json and memory.json tell ASTRA-sim of one switch with
/// those links (io/traces/astra_sim.h).
///
/// REQUIRES a valid, canonical plan with costs, and complete options. Errors: kInvalidInput for one
/// collective where ranks send unequally much, and the sink's. Thread-safe.
Status write_plan_trace(const Workload& workload, const PlanDocument& document,
                        const PlanExportOptions& options, const FolderSink& sink);

}  // namespace neuroshard::io
