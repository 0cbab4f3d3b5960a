#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace neuroshard::cuda {

/// What to do with a list of operations that has come.
enum class Turn {
  kIssue,    ///< one by one: it has not come before, or cannot be captured
  kCapture,  ///< it comes again
  kReplay    ///< its capture is there
};

/// Captures of lists by their keys. A list is captured when it comes the second time: the first
/// time prepares everything that capturing must not do (memory, modules, choices of algorithms),
/// and most lists that come once come never again. Not thread-safe.
template <typename Capture>
class ReplayCache {
 public:
  /// Lists that are remembered; with one more all are forgotten. A run has a handful.
  static constexpr std::size_t kMostLists = 256;

  /// To be called once each time a list comes.
  Turn next(const std::vector<std::uint64_t>& key) {
    auto found = lists_.find(key);
    if (found == lists_.end()) {
      if (lists_.size() == kMostLists) clear();
      lists_.emplace(key, List{});
      return Turn::kIssue;
    }
    if (found->second.hopeless) return Turn::kIssue;
    return found->second.captured ? Turn::kReplay : Turn::kCapture;
  }
  /// REQUIRES that next() has said kCapture, and no clear() since.
  void keep(const std::vector<std::uint64_t>& key, Capture capture) {
    List& list = lists_.at(key);
    list.capture = std::move(capture);
    list.captured = true;
  }
  /// Never to be tried again.
  void give_up(const std::vector<std::uint64_t>& key) { lists_.at(key).hopeless = true; }
  /// REQUIRES that next() has said kReplay, or keep().
  const Capture& at(const std::vector<std::uint64_t>& key) const { return lists_.at(key).capture; }
  void clear() { lists_.clear(); }

 private:
  struct List {
    bool captured = false;
    bool hopeless = false;
    Capture capture{};
  };
  std::map<std::vector<std::uint64_t>, List> lists_;
};

}  // namespace neuroshard::cuda
