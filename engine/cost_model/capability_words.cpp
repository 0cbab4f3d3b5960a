#include "engine/cost_model/capability_words.h"

#include "engine/cost_model/torchrec_costs.h"

namespace neuroshard {

std::string lacks_host_memory(std::string_view model) {
  return std::string(model) + " knows no tables in host memory";
}

std::string lacks_replicas(std::string_view model) {
  return std::string(model) + " knows no data-parallel tables";
}

std::string lacks_sequences() {
  return "networks whose features do not change with the batch size know pooled lookups alone";
}

std::string when_replicas_are_known() {
  return "networks have a cost of data-parallel tables where their features change with the batch "
         "size and their exchanges are those of a built-in hardware profile";
}

std::string when_hot_rows_are_known() {
  return "networks alone have a cost of hot rows, where their features change with the batch size "
         "and their costs are of a built-in hardware profile";
}

std::string lacks_hot_rows(std::string_view model) {
  return std::string(model) + " knows no hot rows";
}

std::string lacks_such_rows(std::string_view model) {
  return std::string(model) + " knows no such row shards";
}

std::string lacks_codecs(std::string_view model) {
  return std::string(model) +
         " is of no built-in hardware profile: how fast it copies, which is "
         "what codecs cost, is not known";
}

std::string lacks_steps(std::string_view model) {
  return (model.empty() ? "the cost model" : std::string(model)) +
         " adds up all that a device does, expected networks, which tell what travels from what is "
         "looked up";
}

std::string has_its_hosts(std::string_view model) {
  return std::string(model) + " has the hosts it was trained on";
}

std::string torchrec_alone(std::string_view does) {
  return "the cost model " + std::string(kTorchRecCostModel) + " alone " + std::string(does);
}

std::string only_torchrec(std::string_view does) {
  return "only the cost model " + std::string(kTorchRecCostModel) + " " + std::string(does);
}

}  // namespace neuroshard
