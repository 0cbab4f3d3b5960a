// Part of neuroshard/engine.hpp: tables and batch size.
#ifndef NEUROSHARD_ENGINE_WORKLOAD_HPP_
#define NEUROSHARD_ENGINE_WORKLOAD_HPP_

#include <neuroshard/engine/base.hpp>
#include <neuroshard/engine/workload.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard {
inline namespace api {

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
  /// A table file that says what the workload is.
  [[nodiscard]] Result<std::string> format() const {
    neuroshard_bytes* bytes = nullptr;
    if (Result<void> done = detail::checked([&](neuroshard_error* error) {
          return neuroshard_workload_format(get(), &bytes, error);
        });
        !done) {
      return done.error();
    }
    const detail::Handle<neuroshard_bytes, neuroshard_bytes_destroy> owner(bytes);
    return std::string(detail::view(neuroshard_bytes_view(bytes)));
  }
  [[nodiscard]] neuroshard_workload* get() const { return handle_.get(); }

 private:
  detail::Handle<neuroshard_workload, neuroshard_workload_destroy> handle_;
};

}  // namespace api
}  // namespace neuroshard

#endif
