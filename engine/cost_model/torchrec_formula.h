#pragma once

#include <cstdint>

#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "engine/cost_model/torchrec_costs.h"

namespace neuroshard {

/// What a shard costs the device that holds it.
struct TorchRecShardCost {
  double compute_ms = 0;
  double forward_ms = 0;  ///< exchange
  double backward_ms = 0;

  [[nodiscard]] double total_ms() const { return compute_ms + forward_ms + backward_ms; }
};

/// TorchRec's performance estimator (planner/shard_estimators.py) for fused kernels and those that
/// read host memory, and the dense ones of data-parallel tables: shard by shard, nothing waits, and
/// nothing knows of skew. Outputs have the tables' data type or, where costs.exchange is not fp32
/// both ways, that of TorchRec's codecs, as its registry has them and its estimator counts them:
/// int8 and fp8 as one byte, and partial sums of fp8 as fp16 and, backward, bf16. Tables on every
/// device exchange as they are. Each lookup of a table that is not pooled has an output, and each
/// sample of one that is, of which 1.9 counts P where features have P < 1 lookups a sample. A
/// value; const access is thread-safe.
class TorchRecFormula {
 public:
  /// REQUIRES batch_size >= 1 and devices >= 1.
  TorchRecFormula(const TorchRecCosts& costs, std::int64_t batch_size, std::int32_t devices);

  /// Devices of one of several hosts, or 0: one host.
  [[nodiscard]] std::int32_t host_devices() const { return host_devices_; }

  /// Whichever of those below `shape`, of `table`, is: a part of a table's rows is a block over one
  /// host's devices when its row_blocks are as many, else one over all devices. `bandwidth`, here
  /// and below: bytes per ms that the table's kernel reads and writes, as of KernelBandwidths.
  [[nodiscard]] TorchRecShardCost shard(const Table& table, const ShardShape& shape,
                                        double bandwidth) const;
  /// `dim` columns with all rows: table_wise, column_wise.
  [[nodiscard]] TorchRecShardCost whole_rows(const Table& table, std::int32_t dim,
                                             double bandwidth) const;
  /// One of the blocks of a table's rows over all devices, however many rows it has: row_wise.
  [[nodiscard]] TorchRecShardCost block_of_all(const Table& table, double bandwidth) const;
  /// One of the blocks of the rows of `dim` columns over the devices of one host: table_row_wise,
  /// grid_shard. REQUIRES host_devices() > 0.
  [[nodiscard]] TorchRecShardCost block_of_host(const Table& table, std::int32_t dim,
                                                double bandwidth) const;
  /// A table that every device holds, of each of them: data_parallel.
  [[nodiscard]] TorchRecShardCost replica(const Table& table) const;

 private:
  /// Of one output that travels.
  struct Bytes {
    double forward = 0;
    double backward = 0;
  };
  /// How a block's outputs travel: all of them added up, some of the way in another format.
  struct BlockExchange {
    double ms_per_byte = 0;       ///< of all of the way
    double more_ms_per_byte = 0;  ///< of its part, in ms_per_byte, between hosts
    Bytes summed;
    Bytes sent;
  };

  [[nodiscard]] double output_values(const Table& table, std::int32_t dim, double samples,
                                     double lookups) const;
  [[nodiscard]] Bytes sent(const Table& table) const;
  [[nodiscard]] Bytes summed(const Table& table) const;
  [[nodiscard]] TorchRecShardCost block(const Table& table, std::int32_t dim, std::int32_t blocks,
                                        const BlockExchange& exchange, double bandwidth) const;

  std::int32_t devices_;
  std::int32_t host_devices_;
  TorchRecRelease release_;
  ExchangeFormat format_;
  double samples_;              ///< of the batch, as many on each device
  double device_bandwidth_;     ///< bytes per ms
  double all_ms_per_byte_;      ///< of outputs in one direction, between all devices
  double by_host_ms_per_byte_;  ///< on a host, and then between hosts, a device each
  double between_ms_per_byte_;  ///< of those, between hosts
  double reduce_ms_per_byte_;   ///< of gradients, between all devices
};

}  // namespace neuroshard
