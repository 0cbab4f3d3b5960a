#include "search/exact_enumeration.h"

namespace neuroshard::search {
namespace {

constexpr std::size_t kBatch = 64;  // complete plans costed together

}  // namespace

bool alike(const SearchSpace& space, const PlanEvaluator& evaluator) {
  return evaluator.devices_alike() &&
         std::all_of(space.tables.begin(), space.tables.end(),
                     [](const TableSpace& table) { return table.devices.all(); });
}

Enumeration::Enumeration(const Problem& problem, const PlanEvaluator& evaluator,
                         const std::vector<ExactItem>& items, const StopCheck& stop)
    : evaluator_(evaluator),
      items_(items),
      stop_(stop),
      devices_(problem.cluster.devices),
      memory_(problem.cluster.memory_bytes),
      alike_(alike(problem.space, evaluator)),
      state_size_(evaluator.state_size()),
      states_(static_cast<std::size_t>(devices_) * state_size_),
      saved_states_(items.size() * state_size_),
      compute_(static_cast<std::size_t>(devices_)),
      saved_compute_(items.size()),
      saved_used_(items.size()),
      bytes_(static_cast<std::size_t>(devices_)),
      dims_(static_cast<std::size_t>(devices_)),
      work_(static_cast<std::size_t>(devices_)) {}

void Enumeration::clear() {
  device_of_.clear();
  for (std::int32_t device = 0; device < devices_; ++device) {
    evaluator_.clear(states_.data() + static_cast<std::size_t>(device) * state_size_);
  }
  std::fill(compute_.begin(), compute_.end(), evaluator_.empty_cost());
  std::fill(bytes_.begin(), bytes_.end(), 0);
  std::fill(dims_.begin(), dims_.end(), 0);
  std::fill(work_.begin(), work_.end(), DeviceWork{});
  collectives_ = {};
  used_ = 0;
}

bool Enumeration::place(std::size_t item, std::int32_t device) {
  const ExactItem& placed = items_[item];
  const auto d = static_cast<std::size_t>(device);
  if (bytes_[d] > memory_ - placed.bytes || !placed.allowed->has(device)) return false;
  float* state = states_.data() + d * state_size_;
  std::copy_n(state, state_size_, saved_states_.data() + item * state_size_);
  saved_compute_[item] = compute_[d];
  saved_used_[item] = used_;
  compute_[d] = evaluator_.place(placed.shape, state);
  bytes_[d] += placed.bytes;
  dims_[d] += placed.exchanged.dims;
  work_[d] += placed.exchanged.work;
  collectives_ += placed.exchanged.collectives;
  used_ = std::max(used_, device + 1);
  device_of_.push_back(device);
  return true;
}

void Enumeration::take_away(std::size_t item) {
  const ExactItem& placed = items_[item];
  const auto d = static_cast<std::size_t>(device_of_.back());
  device_of_.pop_back();
  std::copy_n(saved_states_.data() + item * state_size_, state_size_,
              states_.data() + d * state_size_);
  compute_[d] = saved_compute_[item];
  used_ = saved_used_[item];
  bytes_[d] -= placed.bytes;
  dims_[d] -= placed.exchanged.dims;
  work_[d] -= placed.exchanged.work;
  collectives_ -= placed.exchanged.collectives;
}

void Enumeration::list_prefixes(std::size_t length, std::vector<Devices>& prefixes) {
  clear();
  list(0, length, prefixes);
}

void Enumeration::list(std::size_t item, std::size_t length, std::vector<Devices>& prefixes) {
  if (item == length) {
    prefixes.push_back(device_of_);
    return;
  }
  const std::int32_t count = choices();
  for (std::int32_t device = 0; device < count; ++device) {
    if (!place(item, device)) continue;
    list(item + 1, length, prefixes);
    take_away(item);
  }
}

ExactFound Enumeration::run(const Devices& prefix) {
  found_ = {};
  found_.stopped = stop_.stop();
  clear();
  for (std::size_t item = 0; item < prefix.size(); ++item) place(item, prefix[item]);
  visit(prefix.size());
  flush();
  return found_;
}

void Enumeration::visit(std::size_t item) {
  if (found_.stopped) return;
  if (item == items_.size()) {
    add_plan();
    return;
  }
  const std::int32_t count = choices();
  for (std::int32_t device = 0; device < count; ++device) {
    if (!place(item, device)) continue;
    visit(item + 1);
    take_away(item);
  }
}

void Enumeration::add_plan() {
  plans_.push_back(device_of_);
  plan_compute_.insert(plan_compute_.end(), compute_.begin(), compute_.end());
  plan_dims_.insert(plan_dims_.end(), dims_.begin(), dims_.end());
  plan_work_.insert(plan_work_.end(), work_.begin(), work_.end());
  plan_collectives_.push_back(collectives_);
  if (plans_.size() == kBatch) flush();
}

void Enumeration::flush() {
  costs_.resize(plans_.size());
  if (!plans_.empty()) {
    evaluator_.plan_costs(
        {static_cast<int>(plans_.size()), plan_compute_, plan_dims_, plan_collectives_, plan_work_},
        costs_, scratch_);
  }
  for (std::size_t plan = 0; plan < plans_.size(); ++plan) {
    if (costs_[plan] >= found_.cost && !found_.devices.empty()) continue;
    found_.cost = costs_[plan];
    found_.devices = plans_[plan];
  }
  found_.evaluations += static_cast<std::int64_t>(plans_.size());
  plans_.clear();
  plan_compute_.clear();
  plan_dims_.clear();
  plan_work_.clear();
  plan_collectives_.clear();
  found_.stopped = found_.stopped || stop_.stop();
}

}  // namespace neuroshard::search
