#pragma once

#include <string>
#include <string_view>

namespace neuroshard {

// What messages and help say of cost models that lack what others know. In one place, so that all
// of them change when another cost model has learned it.

/// "h200_sim knows no tables in host memory".
std::string lacks_host_memory(std::string_view model);
/// "h200_sim knows no data-parallel tables".
std::string lacks_replicas(std::string_view model);
/// "networks have a cost of hot rows where ..".
std::string when_hot_rows_are_known();
/// "torchrec knows no hot rows".
std::string lacks_hot_rows(std::string_view model);
/// "h200_sim knows no such row shards".
std::string lacks_such_rows(std::string_view model);
/// "networks whose features do not change with the batch size know pooled lookups alone".
std::string lacks_sequences();
/// "networks have a cost of data-parallel tables where ..".
std::string when_replicas_are_known();
/// "my.safetensors does not say how fast its hardware copies, ..".
std::string lacks_codecs(std::string_view model);
/// "torchrec adds up all that a device does, ..".
std::string lacks_steps(std::string_view model);
/// "h200_sim has the hosts it was trained on".
std::string has_its_hosts(std::string_view model);

/// "the cost model torchrec alone goes by it", of "goes by it": what no network does.
std::string torchrec_alone(std::string_view does);

/// "only the cost model torchrec counts with them", of "counts with them".
std::string only_torchrec(std::string_view does);

}  // namespace neuroshard
