// Where a table's weights are, what tables allow of it, and what of them is in which memory.
#include "engine/core/compute_kernel.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/check_sharding.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/table.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(compute_kernel)

namespace {

constexpr TableKernel kFusedKernel{};
constexpr TableKernel kUvmKernel{ComputeKernel::kFusedUvm, 0};

TableKernel caching(double load_factor) { return {ComputeKernel::kFusedUvmCaching, load_factor}; }

Table table_with(Optimizer optimizer = Optimizer::kSgd, DataType data_type = DataType::kFp32) {
  Table table;
  table.name = "user";
  table.rows = 1001;
  table.dim = 64;
  table.optimizer = optimizer;
  table.data_type = data_type;
  return table;
}

}  // namespace

BOOST_AUTO_TEST_CASE(kernels_have_torchrecs_names) {
  const std::vector<std::string> names{"fused", "fused_uvm_caching", "fused_uvm"};
  BOOST_REQUIRE(all_compute_kernels().size() == names.size());
  for (std::size_t index = 0; index < names.size(); ++index) {
    const ComputeKernel kernel = all_compute_kernels()[index];
    BOOST_TEST(to_string(kernel) == names[index]);
    BOOST_TEST((parse_compute_kernel(names[index]).value() == kernel));
  }
  BOOST_TEST(compute_kernels() == "'fused', 'fused_uvm_caching' or 'fused_uvm'");
  for (const std::string word : {"", "FUSED", "dense", "fused_uvm ", "quant"}) {
    BOOST_TEST(parse_compute_kernel(word).status().message() ==
               "compute kernel '" + word +
                   "', expected 'fused', 'fused_uvm_caching' or 'fused_uvm'");
  }
  BOOST_TEST(describe(kUvmKernel) == "fused_uvm");
  BOOST_TEST(describe(caching(0.125)) == "fused_uvm_caching with 12.5 % of the rows");
}

BOOST_AUTO_TEST_CASE(caches_alone_have_a_load_factor) {
  for (const TableKernel& kernel : {kFusedKernel, kUvmKernel, caching(1e-9), caching(1)}) {
    BOOST_TEST(validate(kernel).ok(), describe(kernel));
  }
  for (const double factor : {0.0, -0.1, 1.0000001, std::nan(""), HUGE_VAL}) {
    const std::string message = validate(caching(factor)).message();
    BOOST_TEST(message.starts_with("load factor "), message);
    BOOST_TEST(message.ends_with("expected above 0 and at most 1"), message);
  }
  BOOST_TEST(validate(TableKernel{ComputeKernel::kFusedUvm, 0.2}).message() ==
             "load factor 0.2 of fused_uvm, expected one with fused_uvm_caching alone");
  BOOST_TEST(!validate(TableKernel{ComputeKernel::kFused, 0.2}).ok());
}

BOOST_AUTO_TEST_CASE(tables_allow_all_kernels_unless_told_otherwise) {
  AllowedKernels allowed;
  BOOST_TEST(allowed.all());
  for (const TableKernel& kernel : {kFusedKernel, kUvmKernel, caching(0.3)}) {
    BOOST_TEST(allowed.allows(kernel));
  }
  BOOST_TEST(describe(allowed) == "fused, fused_uvm_caching, fused_uvm");
  allowed.load_factor = 0.25;
  BOOST_TEST(allowed.all());
  BOOST_TEST(allowed.allows(caching(0.25)));
  BOOST_TEST(!allowed.allows(caching(0.3)));
  BOOST_TEST(allowed.allows(kUvmKernel));
  allowed.set(ComputeKernel::kFusedUvmCaching, false);
  BOOST_TEST(!allowed.allows(caching(0.25)));
  BOOST_TEST(describe(allowed) == "fused, fused_uvm");
  BOOST_TEST(!allowed.all());
  BOOST_TEST(validate(allowed).ok());
  allowed.set(ComputeKernel::kFused, false);
  allowed.set(ComputeKernel::kFusedUvm, false);
  BOOST_TEST(validate(allowed).message() ==
             "no compute kernel allowed, expected some of 'fused', 'fused_uvm_caching' or "
             "'fused_uvm'");
  for (const double factor : {-0.1, 1.1, std::nan("")}) {
    AllowedKernels wrong;
    wrong.load_factor = factor;
    const std::string message = validate(wrong).message();
    BOOST_TEST(message.starts_with("cache_load_factor is "), message);
    Table table = table_with();
    table.pooling_factor = 0;
    BOOST_TEST(validate(table).ok());
    table.kernels = wrong;
    BOOST_TEST(validate(table).message() == message);
  }
}

BOOST_AUTO_TEST_CASE(shards_with_a_kernel_that_is_not_allowed_are_told) {
  std::vector<Shard> whole{{0, 0, 1001, 0, 64, 0, kUvmKernel}};
  Table table = table_with();
  for (const std::int32_t devices : {1, 2}) {  // unlike its sharding, also on a single device
    BOOST_TEST(check_sharding(table, whole, devices).ok());
    table.kernels.set(ComputeKernel::kFusedUvm, false);
    BOOST_TEST(check_sharding(table, whole, devices).message() ==
               "found the kernel fused_uvm, it may have fused, fused_uvm_caching");
    table.kernels = {};
  }
  whole[0].kernel = caching(0.2);
  table.kernels.load_factor = 0.5;
  BOOST_TEST(check_sharding(table, whole, 2).message() ==
             "found the kernel fused_uvm_caching with 20 % of the rows, it may have fused, "
             "fused_uvm_caching, fused_uvm, caches with 50 % of the rows");
  // Replicas are on the devices whatever the kernels of shards.
  whole[0].kernel = {};
  table.kernels.set(ComputeKernel::kFused, false);
  BOOST_TEST(!check_sharding(table, whole, 2).ok());
  BOOST_TEST(check_sharding(table, std::vector<Shard>{{0, 0, 1001, 0, 64, kEveryDevice}}, 2).ok());
}

BOOST_AUTO_TEST_CASE(weights_are_where_the_kernel_says) {
  const auto bytes = [](const TableKernel& kernel, Optimizer optimizer = Optimizer::kSgd,
                        DataType data_type = DataType::kFp32) {
    const Table table = table_with(optimizer, data_type);
    const ShardShape whole{.rows = 1001, .dim = 64, .kernel = kernel};
    BOOST_TEST(table_bytes(table, {}, kernel) == bytes_on_device(table, whole));
    return std::pair(bytes_on_device(table, whole), bytes_on_host(table, whole));
  };
  constexpr std::int64_t kWeights = 1001 * 64 * 4;
  BOOST_TEST((bytes(kFusedKernel) == std::pair(kWeights, std::int64_t{0})));
  BOOST_TEST((bytes(kUvmKernel) == std::pair(std::int64_t{0}, kWeights)));
  // 4 bytes a row, and 256 + 16 for each of 201 rows: 200.2 of 1,001 are rounded up.
  BOOST_TEST((bytes(caching(0.2)) ==
              std::pair<std::int64_t, std::int64_t>(1001 * 4 + 201 * (256 + 16), kWeights)));
  BOOST_TEST((bytes(caching(1)) ==
              std::pair<std::int64_t, std::int64_t>(1001 * 4 + 1001 * (256 + 16), kWeights)));
  BOOST_TEST(bytes(caching(1e-9)).first == 1001 * 4 + 256 + 16);
  BOOST_TEST(bytes(caching(0.2), Optimizer::kSgd, DataType::kFp16).first ==
             1001 * 4 + 201 * (128 + 16));
  // One state a row stays on the device, one for each weight goes along with it.
  BOOST_TEST((bytes(kUvmKernel, Optimizer::kRowwiseAdagrad) ==
              std::pair<std::int64_t, std::int64_t>(1001 * 4, kWeights)));
  BOOST_TEST((bytes(caching(0.2), Optimizer::kRowwiseAdagrad) ==
              std::pair<std::int64_t, std::int64_t>(1001 * (4 + 4) + 201 * (256 + 16), kWeights)));
  BOOST_TEST((bytes(kUvmKernel, Optimizer::kAdagrad) ==
              std::pair<std::int64_t, std::int64_t>(0, 2 * kWeights)));
  BOOST_TEST((bytes(kUvmKernel, Optimizer::kAdam) ==
              std::pair<std::int64_t, std::int64_t>(0, 3 * kWeights)));
}

BOOST_AUTO_TEST_CASE(shards_round_their_caches_up_each) {
  const Table table = table_with();
  const auto shape = [](std::int64_t rows, std::int32_t dim) {
    return ShardShape{.rows = rows, .dim = dim, .kernel = caching(0.3)};
  };
  // 3 of 10 rows, exactly; of 11, 3.3.
  BOOST_TEST(bytes_on_device(table, shape(10, 64)) == 10 * 4 + 3 * (256 + 16));
  BOOST_TEST(bytes_on_device(table, shape(11, 64)) == 11 * 4 + 4 * (256 + 16));
  BOOST_TEST(bytes_on_device(table, shape(10, 4)) == 10 * 4 + 3 * (16 + 16));
  BOOST_TEST(bytes_on_host(table, shape(10, 4)) == 10 * 16);
}

BOOST_AUTO_TEST_CASE(no_offloaded_table_has_more_than_is_added_for_it) {
  for (const Optimizer optimizer :
       {Optimizer::kSgd, Optimizer::kRowwiseAdagrad, Optimizer::kAdam}) {
    const Table table = table_with(optimizer);
    const ShardShape column{.rows = table.rows, .dim = 1, .kernel = caching(1)};
    std::int64_t total = 5;
    BOOST_TEST(add_offloaded_bytes(table, total));
    // The most is that of columns apart.
    BOOST_TEST(total - 5 >= table.dim * bytes_on_device(table, column));
    BOOST_TEST(total - 5 >= table.dim * bytes_on_host(table, column));
  }
  Table large = table_with();
  large.rows = std::int64_t{1} << 54;
  std::int64_t total = 0;
  BOOST_TEST(!add_offloaded_bytes(large, total));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
