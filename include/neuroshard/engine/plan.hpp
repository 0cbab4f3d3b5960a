// Part of neuroshard/engine.hpp: plans, how they are read, checked and written.
#ifndef NEUROSHARD_ENGINE_PLAN_HPP_
#define NEUROSHARD_ENGINE_PLAN_HPP_

#include <neuroshard/engine/base.hpp>
#include <neuroshard/engine/cluster.hpp>
#include <neuroshard/engine/cost_models.hpp>
#include <neuroshard/engine/plan.h>
#include <neuroshard/engine/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard {
inline namespace api {

using Shard = neuroshard_shard;
using DeviceCost = neuroshard_device_cost;
using HotRows = neuroshard_hot_rows;
using RobustCost = neuroshard_robust_cost;

/// What a format needs beside the plan; see neuroshard_export_options.
struct ExportOptions {
  std::string module{};
  std::string trainer_device{};
  std::int64_t memory_bytes = 0;
  std::int32_t devices_per_host = 0;
};

/// Shards, and what each device takes.
class Plan {
 public:
  explicit Plan(neuroshard_plan* owned) : handle_(owned) {}

  static Result<Plan> create(std::int32_t devices, std::int64_t batch_size,
                             std::span<const Shard> shards) {
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_plan_create(devices, batch_size, shards.data(), shards.size(), out, error);
    });
  }
  static Result<Plan> parse(std::string_view bytes, std::string_view source) {
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_plan_parse(detail::text(bytes), detail::text(source), out, error);
    });
  }
  static Result<Plan> read_file(std::string_view path) {
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_plan_read_file(detail::text(path), out, error);
    });
  }

  /// A plan of the engine's, TorchRec's or HugeCTR's JSON; see neuroshard_plan_import().
  static Result<Plan> import_from(std::string_view bytes, std::string_view source,
                                  const Workload& workload, std::int32_t devices = 0) {
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_plan_import(detail::text(bytes), detail::text(source), workload.get(),
                                    devices, out, error);
    });
  }

  /// All zero for a plan that was moved from. Texts in it live as long as this object.
  [[nodiscard]] neuroshard_plan_info info() const {
    auto info = detail::versioned<neuroshard_plan_info>();
    neuroshard_plan_get_info(get(), &info, nullptr);
    return info;
  }
  [[nodiscard]] double cost_ms() const { return info().cost_ms; }
  [[nodiscard]] std::vector<Shard> shards() const {
    std::vector<Shard> all(info().shard_count);
    neuroshard_plan_get_shards(get(), all.data(), all.size(), nullptr);
    return all;
  }
  /// Empty for a plan without costs.
  [[nodiscard]] std::vector<DeviceCost> device_costs() const {
    std::vector<DeviceCost> all(info().device_cost_count);
    neuroshard_plan_get_device_costs(get(), all.data(), all.size(), nullptr);
    return all;
  }
  /// Of each device, milliseconds of a whole step in which nothing is looked up or sent.
  [[nodiscard]] std::vector<double> dense_ms() const {
    std::vector<double> all(info().device_cost_count);
    neuroshard_plan_get_dense_ms(get(), all.data(), all.size(), nullptr);
    return all;
  }
  /// Of the tables with rows on every device beside their shards, by table.
  [[nodiscard]] std::vector<HotRows> hot_rows() const {
    std::vector<HotRows> all(info().hot_table_count);
    neuroshard_plan_get_hot_rows(get(), all.data(), all.size(), nullptr);
    return all;
  }
  /// What each of the cost models says that it was made for, the planner's own first; empty for a
  /// plan of Planner::plan(). Texts in it live as long as this object.
  [[nodiscard]] std::vector<RobustCost> robust_costs() const {
    std::vector<RobustCost> all(neuroshard_plan_robust_cost_count(get()),
                                detail::versioned<RobustCost>());
    for (std::size_t i = 0; i < all.size(); ++i) {
      neuroshard_plan_get_robust_cost(get(), i, &all[i], nullptr);
    }
    return all;
  }
  /// Whether it covers the workload and fits into the memory of the cluster.
  [[nodiscard]] Result<void> check(const Workload& workload, const Cluster& cluster) const {
    const neuroshard_cluster devices = cluster.c_struct();
    return detail::checked([&](neuroshard_error* error) {
      return neuroshard_plan_check(get(), workload.get(), &devices, error);
    });
  }
  /// Bytes that it brings to devices which do not hold them when it takes the place of `from`.
  [[nodiscard]] Result<std::int64_t> moved_bytes(const Workload& workload, const Plan& from) const {
    std::int64_t bytes = 0;
    const Result<void> done = detail::checked([&](neuroshard_error* error) {
      return neuroshard_plan_moved_bytes(from.get(), get(), workload.get(), &bytes, error);
    });
    if (!done) return done.error();
    return bytes;
  }
  /// The bytes of a file of that format; empty means "json", the engine's own plan file.
  [[nodiscard]] Result<std::string> export_as(const Workload& workload,
                                              std::string_view format = {},
                                              const ExportOptions& options = {}) const {
    auto given = detail::versioned<neuroshard_export_options>();
    given.module = detail::text(options.module);
    given.trainer_device = detail::text(options.trainer_device);
    given.memory_bytes = options.memory_bytes;
    given.devices_per_host = options.devices_per_host;
    return bytes_of([&](neuroshard_bytes** out, neuroshard_error* error) {
      return neuroshard_plan_export(get(), workload.get(), detail::text(format), &given, out,
                                    error);
    });
  }
  /// Whole training steps of the plan with that model: the bytes of a `neuroshard-iteration` file.
  [[nodiscard]] Result<std::string> iteration(const Workload& workload,
                                              const DenseModel& model) const {
    const neuroshard_dense_model given = model.c_struct();
    return bytes_of([&](neuroshard_bytes** out, neuroshard_error* error) {
      return neuroshard_plan_iteration(get(), workload.get(), &given, out, error);
    });
  }
  /// What an import had to put differently, a line each.
  [[nodiscard]] std::string notes() const {
    return std::string(detail::view(neuroshard_plan_notes(get())));
  }
  [[nodiscard]] const neuroshard_plan* get() const { return handle_.get(); }

 private:
  template <typename Call>
  static Result<std::string> bytes_of(const Call& call) {
    neuroshard_bytes* bytes = nullptr;
    if (Result<void> done =
            detail::checked([&](neuroshard_error* error) { return call(&bytes, error); });
        !done) {
      return done.error();
    }
    const detail::Handle<neuroshard_bytes, neuroshard_bytes_destroy> owner(bytes);
    return std::string(detail::view(neuroshard_bytes_view(bytes)));
  }

  detail::Handle<neuroshard_plan, neuroshard_plan_destroy> handle_;
};

}  // namespace api
}  // namespace neuroshard

#endif
