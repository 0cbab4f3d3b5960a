#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"
#include "io/cost_data/cost_data.h"
#include "io/tables/tables.h"

namespace neuroshard::io {

enum class CollectionKind { kCompute, kComm };
enum class Backend { kUnknown, kCpu, kSim, kCuda };
/// The words of the file: "compute", "comm"; "cpu", "sim", "cuda" ("unknown" is
/// never written: it stands for a directory without collection.json).
std::string_view to_string(CollectionKind kind);
std::string_view to_string(Backend backend);

/// Flag of compute collections that measured row shards: in how many parts at most.
inline constexpr const char* kRowPartsFlag = "row-parts";

/// Where a data directory's numbers come from: its `collection.json` (`neuroshard-collection`,
/// version 1). Provenance follows from the backend: sim is "simulated", the others "measured".
struct Collection {
  CollectionKind kind = CollectionKind::kCompute;
  Backend backend = Backend::kUnknown;
  std::string hardware;         ///< text for people, e.g. "2 x AMD EPYC 7003, 1 thread"
  std::string profile;          ///< simulated hardware profile, "" for other backends
  std::int64_t batch_size = 0;  ///< global
  std::uint64_t seed = 0;
  std::int32_t devices = 0;                  ///< comm only, else 0
  std::map<std::string, std::string> flags;  ///< collection flags as given, e.g. "max-dim": "128"

  /// In how many parts at most the rows of measured tables were split; 1: whole rows only.
  [[nodiscard]] std::int32_t row_parts() const;
  [[nodiscard]] bool simulated() const { return backend == Backend::kSim; }
  friend bool operator==(const Collection&, const Collection&) = default;
};

/// Errors: kInvalidInput naming source and JSON path.
Result<Collection> parse_collection(std::string_view bytes, const std::string& source);
/// Deterministic; parse_collection reads it back to the same value. REQUIRES a known backend.
std::string format_collection(const Collection& collection);

/// What a data directory holds; the pool only one of compute data. A directory in the reference's
/// form, without the last, is measured on "unknown" hardware.
inline constexpr const char* kDataFile = "data.txt";
inline constexpr const char* kPoolFile = "table_configs.json";
inline constexpr const char* kCollectionFile = "collection.json";
std::string file_in(const std::string& directory, const char* name);

/// What collection.json of a directory says, or what the reference's form without one means:
/// backend unknown, batch size 65,536. Errors: as parse_collection's, and the other kind of data.
Result<Collection> read_collection(const std::string& directory, CollectionKind kind);

/// A data directory, read.
struct ComputeData {
  TableFile pool;  ///< with dims
  std::vector<ComputeSample> samples;
  Collection collection;
};
struct CommData {
  std::vector<CommSample> samples;
  Collection collection;
};

/// Errors: kInvalidInput naming the file and its line or JSON path: ids outside the pool, a pool
/// without dims, the other kind of data, another device count than collection.json says.
Result<ComputeData> read_compute_directory(const std::string& directory);
Result<CommData> read_comm_directory(const std::string& directory);

}  // namespace neuroshard::io
