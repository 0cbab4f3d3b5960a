#include "nn/trainer.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <string>

namespace neuroshard::nn {

void SetSamples::add(std::span<const std::int32_t> set, std::span<const float> target) {
  members.insert(members.end(), set.begin(), set.end());
  offsets.push_back(static_cast<std::int64_t>(members.size()));
  targets.insert(targets.end(), target.begin(), target.end());
}

float warmed_average(double most, std::int64_t step) {
  constexpr double kWarmup = 10;
  const auto past = static_cast<double>(step);
  return static_cast<float>(std::min(most, past / (past + kWarmup)));
}

Trainer::Chunk::Chunk(const Backend& backend, const SetNetworkSpec& spec)
    : network(backend, spec),
      members(backend),
      offsets(backend),
      targets(backend),
      x(backend),
      loss(backend) {}

Trainer::Trainer(const Backend& backend, ThreadPool* pool, const SetNetworkSpec& spec)
    : backend_(&backend),
      pool_(pool),
      spec_(spec),
      count_(spec.parameters()),
      features_(backend),
      parameters_(backend),
      m_(backend),
      v_(backend),
      average_(backend),
      gradient_(backend),
      chunk_gradients_(backend),
      reduction_offsets_(backend) {}

Result<Trainer> Trainer::create(const Backend& backend, ThreadPool* pool,
                                const SetNetworkSpec& spec, std::span<const float> features) {
  assert(features.size() % static_cast<std::size_t>(spec.inputs()) == 0);
  Trainer trainer(backend, pool, spec);
  NEUROSHARD_RETURN_IF_ERROR(trainer.features_.assign(features));
  NEUROSHARD_RETURN_IF_ERROR(trainer.gradient_.reserve(trainer.count_));
  NEUROSHARD_RETURN_IF_ERROR(trainer.start(std::vector<float>(trainer.count_, 0.0f)));
  return trainer;
}

Status Trainer::start(std::span<const float> parameters) {
  TrainerState state;
  state.parameters.assign(parameters.begin(), parameters.end());
  state.average = state.parameters;
  state.m.assign(count_, 0.0f);
  state.v.assign(count_, 0.0f);
  return restore(state);
}

Status Trainer::restore(const TrainerState& state) {
  for (const auto* values : {&state.parameters, &state.m, &state.v, &state.average}) {
    if (values->size() != count_) {
      return invalid_input("training state has " + std::to_string(values->size()) +
                           " values a part, expected " + std::to_string(count_));
    }
  }
  step_ = state.step;
  NEUROSHARD_RETURN_IF_ERROR(parameters_.assign(state.parameters));
  NEUROSHARD_RETURN_IF_ERROR(m_.assign(state.m));
  NEUROSHARD_RETURN_IF_ERROR(v_.assign(state.v));
  return average_.assign(state.average);
}

Result<TrainerState> Trainer::state() const {
  TrainerState state;
  state.step = step_;
  for (auto* values : {&state.parameters, &state.m, &state.v, &state.average}) {
    values->resize(count_);
  }
  NEUROSHARD_RETURN_IF_ERROR(parameters_.read(state.parameters));
  NEUROSHARD_RETURN_IF_ERROR(m_.read(state.m));
  NEUROSHARD_RETURN_IF_ERROR(v_.read(state.v));
  NEUROSHARD_RETURN_IF_ERROR(average_.read(state.average));
  return state;
}

Status Trainer::add_chunk() {
  Chunk chunk(*backend_, spec_);
  NEUROSHARD_RETURN_IF_ERROR(chunk.loss.reserve(1));
  backend_->fill_zero(chunk.loss.data(), sizeof(double));
  chunks_.push_back(std::move(chunk));
  return {};
}

Result<std::int64_t> Trainer::prepare(const SetSamples& samples,
                                      std::span<const std::int32_t> batch, bool with_gradients) {
  std::int64_t count = 0;
  const auto chunk_sets = static_cast<std::size_t>(backend_->chunk_sets());
  for (std::size_t begin = 0; begin < batch.size(); begin += chunk_sets, ++count) {
    if (count == static_cast<std::int64_t>(chunks_.size())) {
      NEUROSHARD_RETURN_IF_ERROR(add_chunk());
    }
    const std::size_t size = std::min(chunk_sets, batch.size() - begin);
    NEUROSHARD_RETURN_IF_ERROR(load(chunks_[static_cast<std::size_t>(count)], samples,
                                    batch.subspan(begin, size), with_gradients));
  }
  return count;
}

Status Trainer::load(Chunk& chunk, const SetSamples& samples, std::span<const std::int32_t> part,
                     bool with_gradients) {
  const auto outputs = spec_.outputs();
  chunk.host_members.clear();
  chunk.host_offsets.assign(1, 0);
  chunk.host_targets.clear();
  for (const std::int32_t sample : part) {
    const auto at = static_cast<std::size_t>(sample);
    chunk.host_members.insert(chunk.host_members.end(),
                              samples.members.begin() + samples.offsets[at],
                              samples.members.begin() + samples.offsets[at + 1]);
    chunk.host_offsets.push_back(static_cast<std::int32_t>(chunk.host_members.size()));
    if (!with_gradients) continue;
    const auto target = samples.targets.begin() + std::int64_t{sample} * outputs;
    chunk.host_targets.insert(chunk.host_targets.end(), target, target + outputs);
  }
  const auto sets = static_cast<std::int64_t>(part.size());
  const auto multiple = static_cast<std::size_t>(backend_->row_multiple());
  chunk.host_members.resize((chunk.host_members.size() + multiple - 1) / multiple * multiple, 0);
  const auto members = static_cast<std::int64_t>(chunk.host_members.size());
  NEUROSHARD_RETURN_IF_ERROR(chunk.network.reserve(sets, members, with_gradients));
  NEUROSHARD_RETURN_IF_ERROR(chunk.members.assign(chunk.host_members));
  NEUROSHARD_RETURN_IF_ERROR(chunk.offsets.assign(chunk.host_offsets));
  NEUROSHARD_RETURN_IF_ERROR(chunk.targets.assign(chunk.host_targets));
  NEUROSHARD_RETURN_IF_ERROR(
      chunk.x.reserve(chunk.host_members.size() * static_cast<std::size_t>(spec_.inputs())));
  chunk.batch = {sets, members, chunk.offsets.data(), chunk.x.data()};
  return {};
}

const float* Trainer::forward(Chunk& chunk, const float* parameters) {
  backend_->run(GatherRows{.rows = chunk.batch.members,
                           .width = spec_.inputs(),
                           .index = chunk.members.data(),
                           .table = features_.data(),
                           .out = chunk.x.data()});
  return chunk.network.forward(parameters, chunk.batch);
}

template <typename Body>
void Trainer::for_each_chunk(std::int64_t chunks, const Body& body) {
  if (pool_ != nullptr && chunks > 1) {
    pool_->parallel_for(chunks, std::cref(body));  // cref: no copy of the body on the heap
  } else {
    for (std::int64_t c = 0; c < chunks; ++c) body(c, 0);
  }
}

Status Trainer::step(const SetSamples& samples, std::span<const std::int32_t> batch,
                     const StepOptions& options) {
  assert(!batch.empty());
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t chunks, prepare(samples, batch, true));
  NEUROSHARD_RETURN_IF_ERROR(chunk_gradients_.reserve(static_cast<std::size_t>(chunks) * count_));
  // Before the operations, which then are one uninterrupted list.
  const std::int32_t offsets[] = {0, static_cast<std::int32_t>(chunks)};
  NEUROSHARD_RETURN_IF_ERROR(reduction_offsets_.assign(offsets));
  const std::int64_t outputs = spec_.outputs();
  const double scale = 1.0 / (static_cast<double>(batch.size()) * static_cast<double>(outputs));
  for_each_chunk(chunks, [&](std::int64_t c, int) {
    Chunk& chunk = chunks_[static_cast<std::size_t>(c)];
    const float* prediction = forward(chunk, parameters_.data());
    backend_->run(Loss{.count = chunk.batch.sets * outputs,
                       .spec = options.loss,
                       .prediction = prediction,
                       .target = chunk.targets.data(),
                       .scale = scale,
                       .slope = chunk.network.output_gradient(),
                       .sum = chunk.loss.data()});
    chunk.network.backward(parameters_.data(), chunk.batch,
                           chunk_gradients_.data() + static_cast<std::size_t>(c) * count_);
  });
  backend_->run(SegmentSum{.segments = 1,
                           .width = static_cast<int>(count_),
                           .offsets = reduction_offsets_.data(),
                           .x = chunk_gradients_.data(),
                           .y = gradient_.data()});
  const auto count = static_cast<std::int64_t>(count_);
  backend_->run(Adam{.count = count,
                     .step = ++step_,
                     .rate = options.rate,
                     .decay = options.decay,
                     .gradient = gradient_.data(),
                     .parameter = parameters_.data(),
                     .m = m_.data(),
                     .v = v_.data()});
  backend_->run(MovingAverage{.count = count,
                              .keep = options.average,
                              .value = parameters_.data(),
                              .average = average_.data()});
  return {};
}

Result<double> Trainer::take_loss() {
  double total = 0;
  for (Chunk& chunk : chunks_) {
    double sum = 0;
    NEUROSHARD_RETURN_IF_ERROR(chunk.loss.read({&sum, 1}));
    backend_->fill_zero(chunk.loss.data(), sizeof(double));
    total += sum;
  }
  return total;
}

Status Trainer::predict(const SetSamples& samples, std::span<const std::int32_t> batch,
                        Weights weights, std::span<float> out) {
  const auto outputs = static_cast<std::size_t>(spec_.outputs());
  assert(out.size() == batch.size() * outputs);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t chunks, prepare(samples, batch, false));
  const float* parameters = weights == Weights::kAverage ? average_.data() : parameters_.data();
  for_each_chunk(chunks, [&](std::int64_t c, int) {
    Chunk& chunk = chunks_[static_cast<std::size_t>(c)];
    const float* prediction = forward(chunk, parameters);
    const std::size_t begin = static_cast<std::size_t>(c * backend_->chunk_sets()) * outputs;
    const std::size_t size = static_cast<std::size_t>(chunk.batch.sets) * outputs;
    backend_->download(out.data() + begin, prediction, size * sizeof(float));
  });
  return backend_->synchronize();
}

}  // namespace neuroshard::nn
