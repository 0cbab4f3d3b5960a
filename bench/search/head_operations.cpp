#include <array>
#include <cstddef>
#include <memory>

#include "bench/search/operations.h"

namespace neuroshard::bench {
namespace {

constexpr int kShapes = 64;  // asked for in turn
constexpr std::size_t kDevices = 128;
constexpr std::size_t kFewDevices = 8;  // of single questions

/// Shapes and devices that hold some of them. Not changed once made.
struct Devices {
  Devices(const SearchSetup& setup, nn::Isa isa)
      : evaluator(evaluator_of(setup, setup.workloads.back(), setup.cluster.devices, isa)),
        size(evaluator->state_size()),
        states(kDevices * size) {
    const Workload& workload = setup.workloads.back();
    for (std::size_t k = 0; k < kShapes; ++k) {
      const auto table = static_cast<std::int32_t>(k % workload.tables.size());
      shapes.push_back(evaluator->intern(shape_of(whole_table(workload, table, 0))));
    }
    for (std::size_t d = 0; d < kDevices; ++d) {
      evaluator->clear(state(d));
      for (std::size_t k = 0; k < 5; ++k) evaluator->place(shapes[(7 * d + k) % kShapes], state(d));
    }
  }
  float* state(std::size_t device) { return states.data() + device * size; }

  std::shared_ptr<MlpEvaluator> evaluator;
  std::size_t size;
  AlignedVector<float> states;
  std::vector<search::ShapeId> shapes;
};

Operation place(const std::shared_ptr<Devices>& devices) {
  auto own = std::make_shared<Devices>(*devices);
  return {kShapes, [own] {
            for (const search::ShapeId shape : own->shapes) {
              const std::size_t device = static_cast<std::size_t>(shape) % kFewDevices;
              const float cost = own->evaluator->place(shape, own->state(device));
              keep(&cost);
            }
            // Sums must not grow without end.
            for (std::size_t d = 0; d < kFewDevices; ++d) own->evaluator->clear(own->state(d));
          }};
}

/// As the local search asks: the state of a device and what comes to it, `touched` devices a move.
Operation score_apart(const std::shared_ptr<Devices>& devices, std::size_t touched) {
  return {kShapes * static_cast<std::int64_t>(touched), [devices, touched] {
            for (std::size_t k = 0; k < kShapes; ++k) {
              for (std::size_t d = 0; d < touched; ++d) {
                const std::array<const float*, 2> parts{
                    devices->state((2 * k + d) % kFewDevices),
                    devices->evaluator->addend(devices->shapes[k])};
                const float cost = devices->evaluator->cost_of_sum(parts);
                keep(&cost);
              }
            }
          }};
}

/// As a greedy placement asks: one shard against all devices.
Operation score_all(const std::shared_ptr<Devices>& devices, std::size_t count) {
  auto costs = std::make_shared<std::vector<float>>(count);
  return {kShapes * static_cast<std::int64_t>(count), [devices, costs, count] {
            const std::span<const float> states(devices->states.data(), count * devices->size);
            for (const search::ShapeId shape : devices->shapes) {
              devices->evaluator->costs_with(shape, states, *costs);
              keep(costs->data());
            }
          }};
}

}  // namespace

std::vector<Subject> head_subjects(const SearchSetup& setup, nn::Isa isa) {
  auto devices = std::make_shared<Devices>(setup, isa);
  const int hidden = setup.models.compute->head.layer(0).outputs;
  const auto floor = [hidden](const Roofline& roofline) { return roofline.head_floor(hidden); };
  std::vector<Subject> subjects{
      {"head: place a shard", [devices] { return place(devices); }, floor},
      {"head: 1 device", [devices] { return score_apart(devices, 1); }, floor},
      {"head: 2 devices of a move", [devices] { return score_apart(devices, 2); }, floor}};
  for (const std::size_t count : {1, 2, 4, 8, 128}) {
    subjects.push_back({"head: a shard against " + std::to_string(count),
                        [devices, count] { return score_all(devices, count); }, floor});
  }
  return subjects;
}

}  // namespace neuroshard::bench
