#include <algorithm>
#include <memory>

#include "bench/search/operations.h"
#include "engine/core/rng.h"
#include "nn/inference.h"

namespace neuroshard::bench {
namespace {

constexpr std::int32_t kDistinctDims = 20;  // of devices

double multiply_adds(const nn::Mlp& mlp) {
  double count = 0;
  for (const nn::DenseSpec& spec : mlp.layers()) count += double{1} * spec.inputs * spec.outputs;
  return count;
}

/// The encoder and nothing else, `rows` shapes at a time.
Operation encode_rows(const SearchSetup& setup, nn::Isa isa, std::int64_t rows) {
  const nn::Mlp& mlp = setup.models.compute->table;
  auto network = std::make_shared<nn::PackedMlp>(mlp, nn::inference_kernels(isa));
  auto x = std::make_shared<AlignedVector<float>>(static_cast<std::size_t>(rows * mlp.inputs()));
  Rng rng(2);
  for (float& value : *x) value = static_cast<float>(rng.normal());
  auto y = std::make_shared<AlignedVector<float>>(
      static_cast<std::size_t>(rows * network->output_stride()));
  auto scratch = std::make_shared<AlignedVector<float>>(network->scratch_size(rows));
  return {rows, [=] {
            network->forward(rows, x->data(), network->inputs(), scratch->data(), y->data());
            keep(y->data());
          }};
}

/// Features, encoder and first layer of the head of shapes never seen before, all in one call or
/// one by one.
Operation encode_shapes(const SearchSetup& setup, nn::Isa isa, bool together) {
  const Workload& workload = setup.workloads.back();
  auto shapes = std::make_shared<std::vector<ShardShape>>();
  for (std::size_t table = 0; table < workload.tables.size(); ++table) {
    for (std::int32_t dim = 4; dim <= 256; dim += 4) {
      shapes->push_back({static_cast<std::int32_t>(table), workload.tables[table].rows, dim});
    }
  }
  return {static_cast<std::int64_t>(shapes->size()), [=, &setup, &workload] {
            const auto evaluator = evaluator_of(setup, workload, setup.cluster.devices, isa);
            if (together) {
              evaluator->intern_all(*shapes);
            } else {
              for (const ShardShape& shape : *shapes) evaluator->intern(shape);
            }
            keep(evaluator.get());
          }};
}

/// Plans under change, as walks cost them: since the last time one device gave dims and time to
/// another.
struct Plans {
  Plans(std::shared_ptr<MlpEvaluator> costs_by, std::int32_t devices, int count)
      : evaluator(std::move(costs_by)),
        plans(count),
        compute(static_cast<std::size_t>(devices * count)),
        dims(compute.size()),
        costs(static_cast<std::size_t>(count)) {
    for (float& value : compute) value = static_cast<float>(4 + 2 * rng.uniform());
    // Tables have few widths, so sums of them take few values: 14 to 64 in plans of 64 to 512
    // devices.
    for (std::int64_t& value : dims) value = 16 * rng.between(12, 11 + kDistinctDims);
  }
  void cost() {
    const std::size_t from = rng.below(compute.size());
    const std::size_t to = rng.below(compute.size());
    const std::int64_t moved = std::min<std::int64_t>(dims[from], 16);
    dims[from] -= moved;
    dims[to] += moved;
    std::swap(compute[from], compute[to]);
    evaluator->plan_costs({plans, compute, dims}, costs, scratch);
    keep(costs.data());
  }

  std::shared_ptr<MlpEvaluator> evaluator;
  int plans;
  std::vector<float> compute;
  std::vector<std::int64_t> dims;
  std::vector<double> costs;
  search::Scratch scratch;
  Rng rng{3};
};

Operation cost_plans(const std::shared_ptr<MlpEvaluator>& evaluator, std::int32_t devices,
                     int count) {
  auto plans = std::make_shared<Plans>(evaluator, devices, count);
  return {count, [plans] { plans->cost(); }};
}

/// What both networks need at least: of inputs that devices have in common, the first layer once;
/// the backward one once per distinct dims.
double plan_multiply_adds(const CommModels& comm, std::int32_t devices) {
  const double forward = multiply_adds(comm.forward.mlp);
  const double backward = multiply_adds(comm.backward.mlp);
  if (comm.architecture == CommArchitecture::kFixedDevices) return forward + backward;
  const auto common = [&](bool starts, const nn::Mlp& mlp) {
    return static_cast<double>(comm.features.split(starts).common.size()) * mlp.layer(0).outputs;
  };
  const double forward_once = common(true, comm.forward.mlp);
  const double backward_once = common(false, comm.backward.mlp);
  return forward_once + devices * (forward - forward_once) + backward_once +
         std::min(devices, kDistinctDims) * (backward - backward_once);
}

std::function<double(const Roofline&)> fma_floor(double count) {
  return [count](const Roofline& roofline) { return roofline.fma_floor(count); };
}

}  // namespace

std::vector<Subject> encoder_subjects(const SearchSetup& setup, nn::Isa isa) {
  const ComputeModel& compute = *setup.models.compute;
  const double encoder = multiply_adds(compute.table);
  const nn::DenseSpec& lift = compute.head.layer(0);
  std::vector<Subject> subjects;
  for (const std::int64_t rows : {1, 66}) {
    subjects.push_back({"encoder: " + std::to_string(rows) + " at a time",
                        [&setup, isa, rows] { return encode_rows(setup, isa, rows); },
                        fma_floor(encoder)});
  }
  for (const bool together : {false, true}) {
    subjects.push_back({together ? "encoder: new shapes at once" : "encoder: a new shape",
                        [&setup, isa, together] { return encode_shapes(setup, isa, together); },
                        fma_floor(encoder + double{1} * lift.inputs * lift.outputs)});
  }
  return subjects;
}

std::vector<Subject> plan_subjects(const SearchSetup& setup, nn::Isa isa) {
  const CommModels& comm = *setup.models.comm;
  std::vector<std::int32_t> counts{8, 64, 512};
  if (comm.architecture == CommArchitecture::kFixedDevices) counts = {comm.devices};
  std::vector<Subject> subjects;
  for (const std::int32_t devices : counts) {
    const auto evaluator = evaluator_of(setup, setup.workloads.back(), devices, isa);
    for (const int plans : {1, 11}) {
      if (devices > 64 && plans > 1) continue;
      subjects.push_back(
          {"plan: " + std::to_string(devices) + " devices, " + std::to_string(plans) + " at a time",
           [=] { return cost_plans(evaluator, devices, plans); },
           fma_floor(plan_multiply_adds(comm, devices))});
    }
  }
  return subjects;
}

}  // namespace neuroshard::bench
