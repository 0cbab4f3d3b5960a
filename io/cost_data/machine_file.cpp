#include "io/cost_data/machine_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "io/lines.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

constexpr double kMostCount = 65'536;
constexpr double kMostMs = 1e4;
constexpr double kMostGbps = 1e6;

/// A key, the numbers it may have and, of an optional one, what it has where it is not there.
struct NumberKey {
  std::string_view name;
  double low;
  double high;
  double absent = -1;
};
constexpr std::array kNumbers{
    NumberKey{"num_nodes", 1, kMostCount},
    NumberKey{"num_sockets_per_node", 1, kMostCount},
    NumberKey{"num_cpus_per_socket", 0, kMostCount, 0},
    NumberKey{"num_gpus_per_socket", 1, kMostCount},
    NumberKey{"membus_latency", 0, kMostMs, 0},
    NumberKey{"membus_bandwidth", 0, kMostGbps, 0},
    NumberKey{"upi_latency", 0, kMostMs, 0},
    NumberKey{"upi_bandwidth", 0, kMostGbps, 0},
    NumberKey{"nic_latency", 0, kMostMs, 0},
    NumberKey{"nic_bandwidth", 0, kMostGbps, 0},
    NumberKey{"nic_distribution", 0, kMostCount, 0},
    NumberKey{"nic_persocket", 0, kMostCount, 0},
    NumberKey{"pci_latency", 0, kMostMs, 0},
    NumberKey{"pci_bandwidth", 0, kMostGbps, 0},
    NumberKey{"nvlink_latency", 0, kMostMs, 0},
    NumberKey{"nvlink_bandwidth", 0, kMostGbps, 0},
};
constexpr std::array<std::string_view, 3> kDistances{"intra_socket", "inter_socket", "inter_node"};
constexpr std::array<std::string_view, 4> kMemories{"_sys_mem_to_sys_mem", "_sys_mem_to_gpu_fb_mem",
                                                    "_gpu_fb_mem_to_sys_mem",
                                                    "_gpu_fb_mem_to_gpu_fb_mem"};
constexpr std::array<std::string_view, 7> kLinks{"membus",     "upi",    "nic", "pci_to_host",
                                                 "pci_to_dev", "nvlink", "null"};

bool is_path_key(std::string_view key) {
  return std::any_of(kDistances.begin(), kDistances.end(), [&](std::string_view distance) {
    return key.starts_with(distance) && std::find(kMemories.begin(), kMemories.end(),
                                                  key.substr(distance.size())) != kMemories.end();
  });
}

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

/// What a device has of a path: GB/s and milliseconds.
struct PathTimes {
  double gbps = std::numeric_limits<double>::infinity();
  double latency_ms = 0;

  void take_slower(const PathTimes& other) {
    gbps = std::min(gbps, other.gbps);
    latency_ms = std::max(latency_ms, other.latency_ms);
  }
};

class MachineFile {
 public:
  explicit MachineFile(const std::string& source) : source_(source) {}

  Status read(std::string_view bytes) {
    std::int64_t number = 0;
    while (!bytes.empty()) {
      const std::size_t end = std::min(bytes.find('\n'), bytes.size());
      NEUROSHARD_RETURN_IF_ERROR(read_line({&source_, ++number, bytes.substr(0, end)}));
      bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
    for (const NumberKey& key : kNumbers) {
      if (numbers_.contains(key.name)) continue;
      if (key.absent < 0) {
        return invalid_input(source_ + ": found no '" + std::string(key.name) +
                             "', expected FlexFlow's machine file with it");
      }
      numbers_[key.name] = key.absent;
    }
    return {};
  }

  Result<InterconnectProfile> links(const std::string& name) const {
    const double of_socket = number("num_gpus_per_socket");
    const double of_node = of_socket * number("num_sockets_per_node");
    const bool nodes = number("num_nodes") > 1;
    if (of_node * number("num_nodes") < 2) {
      return invalid_input(source_ + ": found one GPU, expected at least 2 that exchange");
    }
    PathTimes inside;
    if (of_socket > 1) {
      NEUROSHARD_ASSIGN_OR_RETURN(inside, path("intra_socket"));
    }
    if (of_node > of_socket) {
      NEUROSHARD_ASSIGN_OR_RETURN(const PathTimes between, path("inter_socket"));
      inside.take_slower(between);
    }
    PathTimes outside;
    if (nodes) {
      NEUROSHARD_ASSIGN_OR_RETURN(outside, path("inter_node"));
    }
    if (of_node == 1) inside = outside;
    InterconnectProfile links;
    links.name = name;
    links.devices_per_host = constant(nodes ? of_node : 0);
    links.intra_host_gbps = constant(inside.gbps);
    links.intra_host_latency_us = constant(1000 * inside.latency_ms);
    links.inter_host_gbps = constant(nodes ? outside.gbps : 0);
    links.inter_host_latency_us = constant(nodes ? 1000 * outside.latency_ms : 0);
    return links;
  }

 private:
  Status read_line(const Line& line) {
    const std::vector<std::string_view> words = words_of(line.text);
    if (words.empty() || words.front().starts_with('#')) return {};
    if (words.size() < 3 || words[1] != "=") {
      return line.error("found " + excerpt(line.text) + ", expected 'key = value'");
    }
    const std::string_view key = words.front();
    if (numbers_.contains(key) || paths_.contains(key)) {
      return line.error("found " + excerpt(key) + " twice, expected it once");
    }
    const auto number = std::find_if(kNumbers.begin(), kNumbers.end(),
                                     [&](const NumberKey& known) { return known.name == key; });
    if (number != kNumbers.end()) return read_number(line, *number, words);
    if (is_path_key(key)) return read_path(line, words);
    return line.error("found key " + excerpt(key) + ", expected one of FlexFlow's machine files");
  }

  Status read_number(const Line& line, const NumberKey& key,
                     const std::vector<std::string_view>& words) {
    if (words.size() != 3) return line.error("found several values, expected one number");
    NEUROSHARD_ASSIGN_OR_RETURN(
        const std::vector<double> values,
        parse_numbers(line, words[2], std::string(key.name), key.low, key.high));
    const bool whole = !key.name.ends_with("_latency") && !key.name.ends_with("_bandwidth");
    if (values.size() != 1 ||
        (whole && values[0] != static_cast<double>(static_cast<int>(values[0])))) {
      return line.error(std::string(key.name) + ": found " + excerpt(words[2]) + ", expected one " +
                        (whole ? "whole number" : "number"));
    }
    numbers_[key.name] = values[0];
    return {};
  }

  Status read_path(const Line& line, const std::vector<std::string_view>& words) {
    std::vector<std::string>& path = paths_[std::string(words.front())];
    for (std::size_t k = 2; k < words.size(); ++k) {
      if (std::find(kLinks.begin(), kLinks.end(), words[k]) == kLinks.end()) {
        return line.error("found link " + excerpt(words[k]) +
                          ", expected membus, upi, nic, pci_to_host, pci_to_dev, nvlink or null");
      }
      path.emplace_back(words[k]);
    }
    return {};
  }

  [[nodiscard]] double number(std::string_view key) const { return numbers_.find(key)->second; }

  /// Of its node, or of all its sockets.
  [[nodiscard]] double network_cards() const {
    const double of_socket = std::max(number("nic_distribution"), number("nic_persocket"));
    return of_socket > 0 ? of_socket * number("num_sockets_per_node") : 1;
  }

  Result<PathTimes> path(std::string_view distance) const {
    const std::string key = std::string(distance) + "_gpu_fb_mem_to_gpu_fb_mem";
    const auto found = paths_.find(key);
    PathTimes times;
    if (found != paths_.end()) {
      for (const std::string& link : found->second) {
        if (link != "null") add(link, times);
      }
    }
    if (times.gbps > 0 && times.gbps < std::numeric_limits<double>::infinity()) return times;
    return invalid_input(source_ + ": found no " + key +
                         " over links with a bandwidth, expected one");
  }

  void add(const std::string& link, PathTimes& times) const {
    const double of_socket = number("num_gpus_per_socket");
    const double of_node = of_socket * number("num_sockets_per_node");
    const std::string kind = link.starts_with("pci") ? "pci" : link;
    const double share = kind == "nvlink" ? of_node - 1
                         : kind == "nic"  ? network_cards() / of_node
                                          : 1 / of_socket;
    times.gbps = std::min(times.gbps, share * number(kind + "_bandwidth"));
    times.latency_ms += number(kind + "_latency");
  }

  [[nodiscard]] SourcedValue constant(double value) const {
    return {value, "machine file " + source_};
  }

  const std::string& source_;
  std::map<std::string_view, double> numbers_;  // by the names of kNumbers
  std::map<std::string, std::vector<std::string>, std::less<>> paths_;
};

}  // namespace

Result<InterconnectProfile> parse_machine_file(std::string_view bytes, const std::string& source,
                                               const std::string& name) {
  MachineFile file(source);
  NEUROSHARD_RETURN_IF_ERROR(file.read(bytes));
  return file.links(name);
}

}  // namespace neuroshard::io
