// NeuroShard's engine for C++20: engine.h with owning handles and Result instead of status codes.
//
//   using namespace neuroshard;
//   Result<CostModels> models = CostModels::shipped();
//   if (!models) return complain(models.error().message);
//
// Header-only, on top of the C functions: it works with every compiler and standard library,
// whatever the engine was built with, and with -fno-exceptions. Nothing here throws except
// std::bad_alloc. Units, threads and lifetimes are those of engine.h: a const object may be shared
// between threads; Cancellation::cancel() may be called from any thread. Every function of an
// object that was moved from fails.
#ifndef NEUROSHARD_ENGINE_HPP_
#define NEUROSHARD_ENGINE_HPP_

#if __cplusplus <= 201703L
#error "neuroshard/engine.hpp needs C++20 (-std=c++20); neuroshard/engine.h does not"
#endif

#include <neuroshard/engine.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neuroshard {
inline namespace api {  // so that no name is that of the engine's own classes

/// Why a call failed: a NEUROSHARD_... code and one line of text.
struct Error {
  neuroshard_status status = NEUROSHARD_OK;
  std::string message;
};

/// A value or an Error. REQUIRES ok() for the value, !ok() for the error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose
  [[nodiscard]] bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const { return error_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Error error_;
};

/// Nothing or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose
  [[nodiscard]] bool ok() const { return error_.status == NEUROSHARD_OK; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
};

namespace detail {

inline neuroshard_text text(std::string_view view) { return {view.data(), view.size()}; }
inline std::string_view view(neuroshard_text text) { return {text.data, text.size}; }

/// A handle that is destroyed with its object.
template <typename T, void (*destroy)(T*)>
struct Destroy {
  void operator()(T* handle) const { destroy(handle); }
};
template <typename T, void (*destroy)(T*)>
using Handle = std::unique_ptr<T, Destroy<T, destroy>>;

/// Calls a C function with a fresh error handle behind its arguments.
template <typename Call>
Result<void> checked(const Call& call) {
  const Handle<neuroshard_error, neuroshard_error_destroy> error(neuroshard_error_create());
  const neuroshard_status status = call(error.get());
  if (status == NEUROSHARD_OK) return {};
  std::string message(view(neuroshard_error_message(error.get())));
  if (message.empty()) message = neuroshard_status_name(status);
  return Error{status, std::move(message)};
}

/// The same for functions that make a handle: wraps it in a `Wrapper`.
template <typename Wrapper, typename Raw, typename Call>
Result<Wrapper> made(const Call& call) {
  Raw* handle = nullptr;
  if (Result<void> done = checked([&](neuroshard_error* e) { return call(&handle, e); }); !done) {
    return done.error();
  }
  return Wrapper(handle);
}

template <typename Struct>
Struct versioned() {
  Struct value{};
  value.struct_size = sizeof value;
  return value;
}

}  // namespace detail

using Shard = neuroshard_shard;
using DeviceCost = neuroshard_device_cost;
using OffloadedTable = neuroshard_offloaded_table;

/// One embedding table; see neuroshard_table.
struct Table {
  std::string name;
  std::int64_t rows = 0;
  std::int32_t dim = 0;
  double pooling_factor = 0;  ///< of all features
  double zipf_alpha = 0;
  std::vector<double> reuse_histogram{};  ///< 17 shares, or empty: from zipf_alpha
  std::string data_type = "fp32";
  std::string optimizer = "sgd";
  std::int32_t features = 1;             ///< that look it up, each with an output of `dim` columns
  bool weighted = false;                 ///< whether lookups have weights of their own
  std::uint32_t forbidden_sharding = 0;  ///< a sum of NEUROSHARD_SHARDING_..
  std::int32_t min_columns = 4;          ///< of the narrowest shard that searches make
  std::vector<std::int32_t> devices{};   ///< that may have shards of it; empty: any
  bool pooled = true;                    ///< whether the rows of a bag are added up
  std::uint32_t forbidden_kernels = 0;   ///< a sum of NEUROSHARD_KERNEL_..
  double cache_load_factor = 0;          ///< that caches of rows have; 0: whichever does best
};

/// Tables and batch size.
class Workload {
 public:
  explicit Workload(neuroshard_workload* owned) : handle_(owned) {}

  static Result<Workload> create(std::int64_t batch_size = 65536) {
    return detail::made<Workload, neuroshard_workload>([&](auto** out, auto* error) {
      return neuroshard_workload_create(batch_size, out, error);
    });
  }
  /// `batch_size` 0 keeps the file's.
  static Result<Workload> parse(std::string_view bytes, std::string_view source,
                                std::int64_t batch_size = 0) {
    return detail::made<Workload, neuroshard_workload>([&](auto** out, auto* error) {
      return neuroshard_workload_parse(detail::text(bytes), detail::text(source), batch_size, out,
                                       error);
    });
  }
  static Result<Workload> read_file(std::string_view path, std::int64_t batch_size = 0) {
    return detail::made<Workload, neuroshard_workload>([&](auto** out, auto* error) {
      return neuroshard_workload_read_file(detail::text(path), batch_size, out, error);
    });
  }

  Result<void> add(const Table& table) {
    auto given = detail::versioned<neuroshard_table>();
    given.name = detail::text(table.name);
    given.rows = table.rows;
    given.dim = table.dim;
    given.pooling_factor = table.pooling_factor;
    given.zipf_alpha = table.zipf_alpha;
    given.reuse_histogram = table.reuse_histogram.empty() ? nullptr : table.reuse_histogram.data();
    given.reuse_histogram_size = table.reuse_histogram.size();
    given.data_type = detail::text(table.data_type);
    given.optimizer = detail::text(table.optimizer);
    given.features = table.features;
    given.weighted = table.weighted ? 1 : 0;
    given.forbidden_sharding = table.forbidden_sharding;
    given.min_columns = table.min_columns;
    given.devices = table.devices.empty() ? nullptr : table.devices.data();
    given.device_count = table.devices.size();
    given.unpooled = table.pooled ? 0 : 1;
    given.forbidden_kernels = table.forbidden_kernels;
    given.cache_load_factor = table.cache_load_factor;
    return detail::checked([&](neuroshard_error* error) {
      return neuroshard_workload_add_table(get(), &given, error);
    });
  }
  [[nodiscard]] std::size_t table_count() const { return neuroshard_workload_table_count(get()); }
  [[nodiscard]] std::int64_t batch_size() const { return neuroshard_workload_batch_size(get()); }
  [[nodiscard]] Result<Table> table(std::size_t index) const {
    auto own = detail::versioned<neuroshard_table>();
    if (Result<void> done = detail::checked([&](neuroshard_error* error) {
          return neuroshard_workload_get_table(get(), index, &own, error);
        });
        !done) {
      return done.error();
    }
    return Table{
        std::string(detail::view(own.name)),
        own.rows,
        own.dim,
        own.pooling_factor,
        0,
        std::vector<double>(own.reuse_histogram, own.reuse_histogram + own.reuse_histogram_size),
        std::string(detail::view(own.data_type)),
        std::string(detail::view(own.optimizer)),
        own.features,
        own.weighted != 0,
        own.forbidden_sharding,
        own.min_columns,
        std::vector<std::int32_t>(own.devices, own.devices + own.device_count),
        own.unpooled == 0,
        own.forbidden_kernels,
        own.cache_load_factor};
  }
  [[nodiscard]] neuroshard_workload* get() const { return handle_.get(); }

 private:
  detail::Handle<neuroshard_workload, neuroshard_workload_destroy> handle_;
};

/// The networks that know what a hardware costs.
class CostModels {
 public:
  explicit CostModels(neuroshard_cost_models* owned) : handle_(owned) {}

  /// Names of the models inside the library.
  static std::vector<std::string> shipped_names() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < neuroshard_shipped_model_count(); ++i) {
      names.emplace_back(detail::view(neuroshard_shipped_model_name(i)));
    }
    return names;
  }
  /// The empty name means the default.
  static Result<CostModels> shipped(std::string_view name = {}) {
    return detail::made<CostModels, neuroshard_cost_models>([&](auto** out, auto* error) {
      return neuroshard_cost_models_shipped(detail::text(name), out, error);
    });
  }
  static Result<CostModels> parse(std::string_view bytes, std::string_view source) {
    return detail::made<CostModels, neuroshard_cost_models>([&](auto** out, auto* error) {
      return neuroshard_cost_models_parse(detail::text(bytes), detail::text(source), out, error);
    });
  }
  static Result<CostModels> read_file(std::string_view path) {
    return detail::made<CostModels, neuroshard_cost_models>([&](auto** out, auto* error) {
      return neuroshard_cost_models_read_file(detail::text(path), out, error);
    });
  }

  /// Texts in it live as long as this object.
  [[nodiscard]] Result<neuroshard_cost_models_info> info() const {
    auto info = detail::versioned<neuroshard_cost_models_info>();
    if (Result<void> done = detail::checked([&](neuroshard_error* error) {
          return neuroshard_cost_models_get_info(get(), &info, error);
        });
        !done) {
      return done.error();
    }
    return info;
  }
  [[nodiscard]] const neuroshard_cost_models* get() const { return handle_.get(); }

 private:
  detail::Handle<neuroshard_cost_models, neuroshard_cost_models_destroy> handle_;
};

/// Ends searches from another thread; see neuroshard_cancel().
class Cancellation {
 public:
  explicit Cancellation(neuroshard_cancellation* owned) : handle_(owned) {}
  static Result<Cancellation> create() {
    return detail::made<Cancellation, neuroshard_cancellation>(neuroshard_cancellation_create);
  }
  void cancel() const { neuroshard_cancel(get()); }
  [[nodiscard]] bool cancelled() const { return neuroshard_cancelled(get()) != 0; }
  void reset() { neuroshard_cancellation_reset(get()); }
  [[nodiscard]] neuroshard_cancellation* get() const { return handle_.get(); }

 private:
  detail::Handle<neuroshard_cancellation, neuroshard_cancellation_destroy> handle_;
};

struct Cluster {
  std::int32_t devices = 0;
  std::int64_t memory_bytes = 0;  ///< for tables, and `buffers`, on each device
  std::int32_t devices_per_host = 0;
  std::int64_t host_memory_bytes = 0;  ///< of each host, for tables; 0: none, or not watched
  std::int32_t buffers = NEUROSHARD_BUFFERS_DEFAULT;

  [[nodiscard]] neuroshard_cluster c_struct() const {
    auto value = detail::versioned<neuroshard_cluster>();
    value.devices = devices;
    value.memory_bytes = memory_bytes;
    value.devices_per_host = devices_per_host;
    value.host_memory_bytes = host_memory_bytes;
    value.buffers = buffers;
    return value;
  }
};

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
                             std::span<const Shard> shards,
                             std::span<const OffloadedTable> offloaded = {}) {
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_plan_create(devices, batch_size, shards.data(), shards.size(),
                                    offloaded.data(), offloaded.size(), out, error);
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
  /// Its tables in host memory, by index.
  [[nodiscard]] std::vector<OffloadedTable> offloaded() const {
    std::vector<OffloadedTable> all(info().offloaded_count);
    neuroshard_plan_get_offloaded(get(), all.data(), all.size(), nullptr);
    return all;
  }
  /// Of each device, in its host's memory. Empty for a plan without costs.
  [[nodiscard]] std::vector<std::int64_t> host_bytes() const {
    std::vector<std::int64_t> all(info().device_cost_count);
    neuroshard_plan_get_host_bytes(get(), all.data(), all.size(), nullptr);
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
    neuroshard_bytes* bytes = nullptr;
    if (Result<void> done = detail::checked([&](neuroshard_error* error) {
          return neuroshard_plan_export(get(), workload.get(), detail::text(format), &given, &bytes,
                                        error);
        });
        !done) {
      return done.error();
    }
    const detail::Handle<neuroshard_bytes, neuroshard_bytes_destroy> owner(bytes);
    return std::string(detail::view(neuroshard_bytes_view(bytes)));
  }
  /// What an import had to put differently, a line each.
  [[nodiscard]] std::string notes() const {
    return std::string(detail::view(neuroshard_plan_notes(get())));
  }
  [[nodiscard]] const neuroshard_plan* get() const { return handle_.get(); }

 private:
  detail::Handle<neuroshard_plan, neuroshard_plan_destroy> handle_;
};

/// How to search; see neuroshard_plan_options.
struct PlanOptions {
  std::string algorithm{};  ///< empty: "refine"
  std::uint64_t seed = 0;
  double time_limit_s = 0;
  std::int64_t evaluations = 0;
  std::int32_t threads = 0;
  std::int32_t row_splits = NEUROSHARD_ROW_SPLITS_DEFAULT;  ///< one of NEUROSHARD_ROW_SPLITS_..
  bool data_parallel = false;
  bool equal_columns = false;  ///< column blocks of a table of one width, as HugeCTR has them
  const Cancellation* cancellation = nullptr;
  /// phase, done, total, unit. Must not throw.
  std::function<void(std::string_view, std::int64_t, std::int64_t, std::string_view)> progress{};
};

/// Searches and costs plans with one set of cost models. Thread-safe.
class Planner {
 public:
  explicit Planner(neuroshard_planner* owned) : handle_(owned) {}

  static Result<Planner> create(const CostModels& models,
                                const neuroshard_planner_options* options = nullptr) {
    return detail::made<Planner, neuroshard_planner>([&](auto** out, auto* error) {
      return neuroshard_planner_create(models.get(), options, out, error);
    });
  }

  [[nodiscard]] Result<Plan> plan(const Workload& workload, const Cluster& cluster,
                                  const PlanOptions& options = {}) const {
    const neuroshard_cluster devices = cluster.c_struct();
    const neuroshard_plan_options given = c_struct(options);
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_planner_plan(get(), workload.get(), &devices, &given, out, error);
    });
  }
  /// A plan that costs no more than `now`, one that runs, and brings at most so many bytes to
  /// devices that do not hold them.
  [[nodiscard]] Result<Plan> replan(const Workload& workload, const Cluster& cluster,
                                    const Plan& now, std::int64_t move_limit_bytes,
                                    const PlanOptions& options = {}) const {
    const neuroshard_cluster devices = cluster.c_struct();
    const neuroshard_plan_options given = c_struct(options);
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_planner_replan(get(), workload.get(), &devices, now.get(), move_limit_bytes,
                                       &given, out, error);
    });
  }
  /// The same shards with what they cost under this planner's models.
  [[nodiscard]] Result<Plan> simulate(const Workload& workload, const Plan& plan) const {
    return detail::made<Plan, neuroshard_plan>([&](auto** out, auto* error) {
      return neuroshard_planner_simulate(get(), workload.get(), plan.get(), out, error);
    });
  }
  [[nodiscard]] const neuroshard_planner* get() const { return handle_.get(); }

 private:
  static neuroshard_plan_options c_struct(const PlanOptions& options) {
    auto given = detail::versioned<neuroshard_plan_options>();
    given.algorithm = detail::text(options.algorithm);
    given.seed = options.seed;
    given.time_limit_s = options.time_limit_s;
    given.evaluations = options.evaluations;
    given.threads = options.threads;
    given.row_splits = options.row_splits;
    given.data_parallel = options.data_parallel ? 1 : 0;
    given.equal_columns = options.equal_columns ? 1 : 0;
    if (options.cancellation != nullptr) given.cancellation = options.cancellation->get();
    if (options.progress) {
      given.progress = hand_on;
      given.progress_user_data = const_cast<PlanOptions*>(&options);
    }
    return given;
  }
  static void hand_on(void* options, neuroshard_text phase, std::int64_t done, std::int64_t total,
                      neuroshard_text unit) {
    static_cast<const PlanOptions*>(options)->progress(detail::view(phase), done, total,
                                                       detail::view(unit));
  }

  detail::Handle<neuroshard_planner, neuroshard_planner_destroy> handle_;
};

}  // namespace api
}  // namespace neuroshard

#endif
