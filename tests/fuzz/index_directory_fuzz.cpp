// Directories of recorded lookups: files of any bytes, or arrays that belong together but for what
// the input spoils.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "io/npy.h"
#include "io/tables/index_directory.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

namespace {

namespace fs = std::filesystem;
using Items = std::vector<std::int64_t>;

/// What the first byte of an input asks for.
enum Asked : unsigned {
  kLengths = 1,       ///< the optional file is there
  kBatchGiven = 2,    ///< the caller names the batch size
  kNarrow = 4,        ///< items of 4 bytes
  kRuns = 8,          ///< an item stands for 256 rows in a row: more than a small counter holds
  kRaw = 16,          ///< the files are bytes of the input
  kBadOffset = 32,    ///< one offset is another
  kBadIndices = 64,   ///< there is an index too many
  kFewLengths = 128,  ///< the shape of the lengths is another
};

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < bytes; ++k) value |= std::uint64_t{next()} << (8 * k);
    return value;
  }
  std::string_view bytes(std::size_t count) {
    count = std::min(count, size_);
    const std::string_view taken(reinterpret_cast<const char*>(data_), count);
    data_ += count;
    size_ -= count;
    return taken;
  }

 private:
  std::uint8_t next() { return size_ == 0 ? 0 : static_cast<std::uint8_t>(bytes(1)[0]); }

  const std::uint8_t* data_;
  std::size_t size_;
};

/// A folder of this process, in memory where there is such a place: it is written all the time.
class Folder {
 public:
  Folder() {
    std::error_code ignored;
    const fs::path memory("/dev/shm");
    path_ =
        (fs::is_directory(memory, ignored) ? memory : fs::temp_directory_path()) / "fuzz-XXXXXX";
    fuzz::require(::mkdtemp(path_.data()) != nullptr, "a folder can be made");
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }
  void write(const char* name, std::string_view bytes) const {
    std::ofstream out(file(name), std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::string path_;
};

std::string npy(const Items& items, const Items& shape, bool narrow) {
  std::string bytes = io::format_npy_header(shape);
  if (narrow) bytes.replace(bytes.find("<i8"), 3, "<i4");
  for (const std::int64_t item : items) {
    char raw[8];
    std::memcpy(raw, &item, sizeof raw);
    bytes.append(raw, narrow ? 4 : 8);
  }
  return bytes;
}

std::string npy(const Items& items, bool narrow) {
  return npy(items, {static_cast<std::int64_t>(items.size())}, narrow);
}

void write_raw(const Folder& folder, Input& input, unsigned asked) {
  const std::size_t offsets = input.number(2);
  const std::size_t lengths = input.number(2);
  folder.write(io::kOffsetsFile, input.bytes(offsets));
  if ((asked & kLengths) != 0) folder.write(io::kLengthsFile, input.bytes(lengths));
  folder.write(io::kIndicesFile, input.bytes(std::string_view::npos));
}

/// Arrays of `tables` x `batch` bags, spoilt as asked. Whether all of it is right.
bool write_arrays(const Folder& folder, Input& input, unsigned asked, std::int64_t tables,
                  std::int64_t batch) {
  const bool narrow = (asked & kNarrow) != 0;
  const std::int64_t run = (asked & kRuns) != 0 ? 256 : 1;
  const std::uint64_t longest = run > 1 ? 4 : 32;  // each part of a table reads all of it
  Items lengths;
  Items offsets{0};
  for (std::int64_t bag = 0; bag < tables * batch; ++bag) {
    lengths.push_back(static_cast<std::int64_t>(input.number(1) % longest) * run);
    offsets.push_back(offsets.back() + lengths.back());
  }
  Items indices;
  while (static_cast<std::int64_t>(indices.size()) < offsets.back()) {
    const auto row = static_cast<std::int64_t>(input.number(run > 1 ? 1 : narrow ? 4 : 8));
    for (std::int64_t k = 0; k < run; ++k) indices.push_back(run * row + k);
  }
  const bool rows = std::all_of(indices.begin(), indices.end(), [&](std::int64_t row) {
    return narrow ? row <= INT32_MAX : row >= 0 && row < INT64_MAX;
  });
  if ((asked & kBadOffset) != 0) {
    offsets[input.number(1) % offsets.size()] += 1 + static_cast<std::int64_t>(input.number(1));
  }
  if ((asked & kBadIndices) != 0) indices.push_back(0);
  const Items shape{tables, batch};
  const Items other{batch * tables, 1};
  folder.write(io::kOffsetsFile, npy(offsets, narrow));
  folder.write(io::kIndicesFile, npy(indices, narrow));
  if ((asked & kLengths) != 0) {
    folder.write(io::kLengthsFile,
                 npy(lengths, (asked & kFewLengths) != 0 ? other : shape, narrow));
  }
  const bool batch_known = (asked & kBatchGiven) != 0
                               ? (asked & kLengths) == 0 || (asked & kFewLengths) == 0 || batch == 1
                               : (asked & kLengths) != 0;
  return rows && batch_known && (asked & (kBadOffset | kBadIndices)) == 0;
}

Items read_all(const std::string& path) {
  const io::NpyFile file = fuzz::reread(io::NpyFile::open(path));
  Items items(static_cast<std::size_t>(file.items()));
  std::vector<std::int32_t> scratch;
  fuzz::require(file.read(0, items, scratch).ok(), "a file that was counted is read", path);
  return items;
}

std::size_t bin_of(std::int64_t count) {
  int bin = 0;
  while (count > reuse_bin_range(bin).high) ++bin;
  return static_cast<std::size_t>(bin);
}

/// Every table is what counting its rows one by one says.
void require_counted(const Folder& folder, const io::IndexDirectory& directory) {
  const Items offsets = read_all(folder.file(io::kOffsetsFile));
  const Items indices = read_all(folder.file(io::kIndicesFile));
  fuzz::require(directory.batch_size > 0, "a batch has samples");
  const auto batch = static_cast<std::size_t>(directory.batch_size);
  fuzz::require(directory.tables.size() * batch + 1 == offsets.size(), "bags are tables x batch");
  for (std::size_t t = 0; t < directory.tables.size(); ++t) {
    const io::IndexStatistics& table = directory.tables[t];
    std::map<std::int64_t, std::int64_t> counts;
    for (std::int64_t k = offsets[t * batch]; k < offsets[(t + 1) * batch]; ++k) {
      ++counts[indices[static_cast<std::size_t>(k)]];
    }
    std::array<std::int64_t, kReuseBins> bins{};
    for (const auto& [row, count] : counts) ++bins[bin_of(count)];
    fuzz::require(table.bins == bins, "rows are in the bins of their counts");
    fuzz::require(table.lookups == offsets[(t + 1) * batch] - offsets[t * batch], "lookups");
    fuzz::require(table.distinct == static_cast<std::int64_t>(counts.size()), "distinct rows");
    fuzz::require(table.rows == (counts.empty() ? 0 : counts.rbegin()->first + 1), "the last row");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  Input input(data, size);
  const auto asked = static_cast<unsigned>(input.number(1));
  const auto batch = static_cast<std::int64_t>(1 + input.number(1) % 16);
  const auto tables = static_cast<std::int64_t>(1 + input.number(1) % 8);
  std::error_code ignored;
  fs::remove(folder.file(io::kLengthsFile), ignored);
  bool right = false;
  if ((asked & kRaw) != 0) {
    write_raw(folder, input, asked);
  } else {
    right = write_arrays(folder, input, asked, tables, batch);
  }
  io::IndexOptions options;
  options.batch_size = (asked & kBatchGiven) != 0 ? batch : 0;
  options.memory_bytes = 1;  // as little as there can be: what does not fit is counted in parts
  const auto directory = io::read_index_directory(folder.path(), options);
  if (fuzz::accepted(directory, folder.path()) != nullptr) {
    require_counted(folder, *directory);
  } else {
    fuzz::require(!right, "arrays that belong together are read", directory.status().message());
  }
  return 0;
}
