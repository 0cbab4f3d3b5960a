#include "io/traces/step_trace.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>

#include "io/file.h"
#include "io/json/json_writer.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDigits = "0123456789";

Status add_rank_file(const std::string& folder, const std::string& ending, const std::string& path,
                     std::map<std::int64_t, std::string>& files) {
  const std::string name = file_name(path);
  const auto rank = rank_in_name(std::string_view(name).substr(0, name.size() - ending.size()));
  if (!rank) {
    return invalid_input(folder + ": found " + excerpt(name) + ", expected a name with a rank, " +
                         "such as step.0" + ending);
  }
  const auto [known, is_new] = files.emplace(*rank, path);
  if (is_new) return {};
  return invalid_input(folder + ": found two files of rank " + std::to_string(*rank) + ", " +
                       excerpt(file_name(known->second)) + " and " + excerpt(name) +
                       ", expected one of each");
}

void write_integers(JsonWriter& json, const char* key, const std::vector<std::int64_t>& values) {
  if (values.empty()) return;
  json.key(key).begin_array(JsonWriter::Layout::kLine);
  for (const std::int64_t value : values) json.integer(value);
  json.end_array();
}

void write_rank(JsonWriter& json, std::int64_t number, const RankStep& rank) {
  json.begin_object().key("rank").integer(number);
  if (rank.dims) json.key("dims").integer(*rank.dims);
  if (rank.lookups) json.key("lookups").integer(*rank.lookups);
  if (rank.forward_ms) json.key("forward_ms").number(*rank.forward_ms);
  if (rank.backward_ms) json.key("backward_ms").number(*rank.backward_ms);
  if (rank.forward_exchange_ms) json.key("forward_exchange_ms").number(*rank.forward_exchange_ms);
  if (rank.backward_exchange_ms) {
    json.key("backward_exchange_ms").number(*rank.backward_exchange_ms);
  }
  write_integers(json, "lookups_sent", rank.lookups_sent);
  write_integers(json, "forward_bytes", rank.forward_bytes);
  write_integers(json, "backward_bytes", rank.backward_bytes);
  json.end_object();
}

}  // namespace

std::vector<std::string> unknown_of_shapes() {
  return {"rows of each table", "pooling factor of each table"};
}

std::string format_step_trace(const StepTrace& trace) {
  JsonWriter json;
  json.begin_object().key("format").text("neuroshard-trace").key("version").integer(1);
  json.key("source").text(trace.source).key("steps").integer(trace.steps);
  if (!trace.hardware.empty()) json.key("hardware").text(trace.hardware);
  if (trace.batch_size) json.key("batch_size").integer(*trace.batch_size);
  if (trace.exchange) {
    json.key("exchange").begin_object(JsonWriter::Layout::kLine);
    json.key("forward").text(to_string(trace.exchange->forward));
    json.key("backward").text(to_string(trace.exchange->backward)).end_object();
  }
  json.key("unknown").begin_array(JsonWriter::Layout::kLine);
  for (const std::string& what : unknown_of_shapes()) json.text(what);
  json.end_array().key("ranks").begin_array();
  for (std::size_t k = 0; k < trace.ranks.size(); ++k) {
    write_rank(json, static_cast<std::int64_t>(k), trace.ranks[k]);
  }
  json.end_array().end_object();
  return json.take();
}

Status check_unpacked(std::string_view bytes, const std::string& source) {
  if (!bytes.starts_with("\x1f\x8b")) return {};
  return invalid_input(source + ": found gzip, expected a trace that is unpacked (gunzip)");
}

std::optional<std::int64_t> rank_in_name(std::string_view name) {
  const std::size_t last = name.find_last_of(kDigits);
  if (last == std::string_view::npos) return std::nullopt;
  const std::size_t before = name.find_last_not_of(kDigits, last);
  const std::size_t first = before == std::string_view::npos ? 0 : before + 1;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + first, name.data() + last + 1, number);
  if (error != std::errc() || number >= kMostTraceRanks) return std::nullopt;
  return number;
}

Result<std::vector<std::string>> files_in(const std::string& folder, const std::string& ending) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().ends_with(ending)) files.push_back(at->path().string());
  }
  if (error) return invalid_input(folder + ": cannot read the folder: " + error.message());
  if (files.empty()) return invalid_input(folder + ": found no file *" + ending);
  std::sort(files.begin(), files.end());
  return files;
}

Status missing_rank(const std::string& folder, std::int64_t rank, std::int64_t last) {
  return invalid_input(folder + ": found no file of rank " + std::to_string(rank) +
                       ", expected one of each up to " + std::to_string(last));
}

Result<std::vector<std::string>> files_of_ranks(const std::string& folder,
                                                const std::string& ending) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::string> all, files_in(folder, ending));
  std::map<std::int64_t, std::string> files;
  for (const std::string& path : all) {
    NEUROSHARD_RETURN_IF_ERROR(add_rank_file(folder, ending, path, files));
  }
  std::vector<std::string> paths;
  for (auto& [rank, path] : files) {
    if (rank != std::ssize(paths))
      return missing_rank(folder, std::ssize(paths), files.rbegin()->first);
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace neuroshard::io
