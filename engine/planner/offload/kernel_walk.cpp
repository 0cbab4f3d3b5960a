#include "engine/planner/offload/kernel_walk.h"

#include <algorithm>
#include <span>
#include <utility>

namespace neuroshard {
namespace {

constexpr std::uint64_t kTurnsOfKernels = 3;  // one change in so many is of a table's kernel
constexpr int kDraws = 4;                     // for a shard on the dearest device

}  // namespace

KernelWalk::KernelWalk(const KernelCosts& costs, const Hosts& hosts, const Plan& plan,
                       std::vector<TableKernel> kernels, std::uint64_t seed)
    : costs_(costs),
      hosts_(hosts),
      plan_(plan),
      shapes_(shapes_of(plan)),
      rng_(seed),
      now_(arrangement_of(plan, costs.tables())) {
  now_.kernels = std::move(kernels);
  settled_ = settle(costs_, shapes_, now_);
}

void KernelWalk::step() {
  next_ = now_;
  const std::size_t shard = draw_shard();
  if (now_.devices[shard] == kEveryDevice) return;
  if (rng_.below(kTurnsOfKernels) == 0) {
    change_kernel(static_cast<std::size_t>(shapes_[shard].table));
    if (rng_.below(2) == 0) move(rng_.below(shapes_.size()));
  } else if (rng_.below(2) == 0) {
    move(shard);
  } else {
    swap(shard);
  }
  if (next_.devices == now_.devices && next_.kernels == now_.kernels) return;
  Settled settled = settle(costs_, shapes_, next_, settled_.cost_ms());
  if (settled.cost_ms() > settled_.cost_ms() || !within_memory(settled)) return;
  std::swap(now_, next_);
  settled_ = std::move(settled);
}

Plan KernelWalk::plan() const {
  Plan plan = plan_;
  for (std::size_t k = 0; k < plan.shards.size(); ++k) plan.shards[k].device = now_.devices[k];
  set_kernels(settled_.kernels, plan);
  return plan;
}

const Table& KernelWalk::table_of(std::size_t shard) const {
  return costs_.workload().tables[static_cast<std::size_t>(shapes_[shard].table)];
}

bool KernelWalk::may_move(std::size_t shard) const {
  return now_.devices[shard] != kEveryDevice && shapes_[shard].rows == table_of(shard).rows;
}

/// Blocks of a table that meet on a device are joined there by trainers, which it may not allow.
bool KernelWalk::may_be_on(std::size_t shard, std::int32_t device) const {
  if (!costs_.problem().space.of(shapes_[shard].table).devices.has(device)) return false;
  for (std::size_t k = 0; k < shapes_.size(); ++k) {
    if (shapes_[k].table == shapes_[shard].table && now_.devices[k] == device) return false;
  }
  return true;
}

/// Half of them on the dearest device, if chance finds one there.
std::size_t KernelWalk::draw_shard() {
  std::size_t shard = rng_.below(shapes_.size());
  if (rng_.below(2) == 0) return shard;
  const auto dearest = static_cast<std::int32_t>(settled_.dearest());
  for (int draw = 0; draw < kDraws && now_.devices[shard] != dearest; ++draw) {
    shard = rng_.below(shapes_.size());
  }
  return shard;
}

void KernelWalk::move(std::size_t shard) {
  const auto devices = static_cast<std::uint64_t>(costs_.cluster().devices);
  const auto device = static_cast<std::int32_t>(rng_.below(devices));
  if (may_move(shard) && may_be_on(shard, device)) next_.devices[shard] = device;
}

void KernelWalk::swap(std::size_t shard) {
  const std::size_t other = rng_.below(shapes_.size());
  if (!may_move(shard) || !may_move(other)) return;
  if (!may_be_on(shard, now_.devices[other]) || !may_be_on(other, now_.devices[shard])) return;
  std::swap(next_.devices[shard], next_.devices[other]);
}

void KernelWalk::change_kernel(std::size_t table) {
  const std::span<const std::size_t> kernels = costs_.kernels(table);
  next_.kernels[table] = costs_.kernel_of(table, kernels[rng_.below(kernels.size())]);
}

bool KernelWalk::within_memory(const Settled& settled) const {
  if (*std::min_element(settled.left.begin(), settled.left.end()) < 0) return false;
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(hosts_.count));
  for (std::size_t k = 0; k < shapes_.size(); ++k) {
    if (next_.devices[k] == kEveryDevice) continue;
    const auto host = static_cast<std::size_t>(next_.devices[k] / hosts_.devices_each);
    bytes[host] +=
        costs_.host_bytes(shapes_[k], settled.kernels[static_cast<std::size_t>(shapes_[k].table)]);
  }
  return *std::max_element(bytes.begin(), bytes.end()) <= hosts_.memory_bytes;
}

}  // namespace neuroshard
