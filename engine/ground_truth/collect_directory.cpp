#include "engine/ground_truth/collect_directory.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "io/descriptor.h"
#include "io/file.h"

namespace neuroshard {
namespace {

using Setting = std::pair<std::string, std::string>;  // name, value as text

/// Everything that makes two collections' numbers comparable, in the order of importance.
std::vector<Setting> settings_of(const io::Collection& collection) {
  std::vector<Setting> list{{"kind", std::string(io::to_string(collection.kind))},
                            {"backend", std::string(io::to_string(collection.backend))},
                            {"profile", collection.profile},
                            {"hardware", collection.hardware},
                            {"batch-size", std::to_string(collection.batch_size)},
                            {"seed", std::to_string(collection.seed)},
                            {"devices", std::to_string(collection.devices)}};
  list.insert(list.end(), collection.flags.begin(), collection.flags.end());
  // Files of whole rows do not name the flag.
  const bool compute = collection.kind == io::CollectionKind::kCompute;
  if (compute && collection.flags.count(io::kRowPartsFlag) == 0) {
    list.emplace_back(io::kRowPartsFlag, "1");
  }
  return list;
}

const std::string* find(const std::vector<Setting>& list, const std::string& name) {
  for (const Setting& setting : list) {
    if (setting.first == name) return &setting.second;
  }
  return nullptr;
}

/// kInvalidInput naming the first setting that differs.
Status compare(const io::Collection& begun, const io::Collection& wanted, const std::string& path) {
  const std::vector<Setting> before = settings_of(begun);
  const std::vector<Setting> now = settings_of(wanted);
  std::vector<std::string> names;
  for (const Setting& setting : now) names.push_back(setting.first);
  for (const Setting& setting : before) names.push_back(setting.first);
  for (const std::string& name : names) {
    const std::string* old_value = find(before, name);
    const std::string* new_value = find(now, name);
    if (old_value != nullptr && new_value != nullptr && *old_value == *new_value) continue;
    return invalid_input(path + ": begun with " + name + " " +
                         (old_value == nullptr ? "unset" : "'" + *old_value + "'") +
                         ", cannot resume with " +
                         (new_value == nullptr ? "unset" : "'" + *new_value + "'"));
  }
  return {};
}

/// kInvalidInput when the directory's pool is another one; "" has no file.
Status check_pool(const std::string& directory, const std::string& pool) {
  if (pool.empty()) return {};
  const std::string path = io::file_in(directory, io::kPoolFile);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string found, io::read_text_file(path));
  if (found == pool) return {};
  return invalid_input(path + ": found other tables, expected those to collect with or no file");
}

Status resume(const std::string& directory, const io::Collection& settings,
              const std::string& pool) {
  const std::string path = io::file_in(directory, io::kCollectionFile);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, io::read_text_file(path));
  NEUROSHARD_ASSIGN_OR_RETURN(const io::Collection begun, io::parse_collection(bytes, path));
  NEUROSHARD_RETURN_IF_ERROR(compare(begun, settings, path));
  return check_pool(directory, pool);
}

/// Whether a collection was begun in the directory, with the same settings. kInvalidInput when it
/// has others, or data of somebody else.
Result<bool> begun_with(const std::string& directory, const io::Collection& settings,
                        const std::string& pool) {
  const std::string data = io::file_in(directory, io::kDataFile);
  std::error_code error;
  // First, as another process may just be beginning: what has data has a collection.json by then.
  const std::uintmax_t size = std::filesystem::file_size(data, error);
  const bool has_data = !error && size > 0;
  if (std::filesystem::exists(io::file_in(directory, io::kCollectionFile), error)) {
    NEUROSHARD_RETURN_IF_ERROR(resume(directory, settings, pool));
    return true;
  }
  if (!has_data) {
    // One that is killed while it begins leaves this file only.
    const bool has_pool = std::filesystem::exists(io::file_in(directory, io::kPoolFile), error);
    if (has_pool) NEUROSHARD_RETURN_IF_ERROR(check_pool(directory, pool));
    return false;
  }
  return invalid_input(data + ": found " + std::to_string(size) + " bytes but no " +
                       std::string(io::kCollectionFile) +
                       " beside it, expected an empty directory or a collection to resume");
}

Status begin(const std::string& directory, const io::Collection& settings,
             const std::string& pool) {
  // collection.json last: a directory that has it has everything.
  if (!pool.empty()) {
    NEUROSHARD_RETURN_IF_ERROR(
        io::write_file_atomically(io::file_in(directory, io::kPoolFile), pool));
  }
  return io::write_file_atomically(io::file_in(directory, io::kCollectionFile),
                                   io::format_collection(settings));
}

/// kInvalidInput naming the line of data.txt that is no sample: it would count as one, and only
/// what reads the whole collection in the end would find it.
Status check_samples(const std::string& directory, io::CollectionKind kind) {
  if (kind == io::CollectionKind::kComm) return io::read_comm_directory(directory).status();
  return io::read_compute_directory(directory).status();
}

}  // namespace

Result<io::AppendLog> open_collection(const std::string& directory, const io::Collection& settings,
                                      const std::string& pool) {
  std::error_code error;
  const bool made = std::filesystem::create_directory(directory, error);
  if (error) return io_error(directory + ": cannot make the directory: " + error.message());
  // What is synced in it is lost all the same while its own name is not on the disk.
  if (made && !io::sync_directory(io::file_in(directory, ".."))) {
    return io_error(directory + ": cannot sync its folder: " + io::last_error());
  }
  // Asked before the log is opened, which cuts off a torn line, and again when it is ours alone.
  NEUROSHARD_RETURN_IF_ERROR(begun_with(directory, settings, pool).status());
  NEUROSHARD_ASSIGN_OR_RETURN(io::AppendLog log,
                              io::AppendLog::open(io::file_in(directory, io::kDataFile)));
  NEUROSHARD_ASSIGN_OR_RETURN(const bool begun, begun_with(directory, settings, pool));
  if (!begun) {
    NEUROSHARD_RETURN_IF_ERROR(begin(directory, settings, pool));
  } else if (log.lines() > 0) {
    NEUROSHARD_RETURN_IF_ERROR(check_samples(directory, settings.kind));
  }
  return log;
}

}  // namespace neuroshard
