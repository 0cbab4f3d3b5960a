#include "tests/emulated_cuda/streams.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace neuroshard::emulation {
namespace {

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Whether work that has just come is done now. The same from run to run.
bool at_once() {
  const char* order = std::getenv("NEUROSHARD_EMULATED_ORDER");
  if (order != nullptr && std::strcmp(order, "late") == 0) return false;
  static std::uint32_t state = 1;
  state = state * 1664525U + 1013904223U;
  return state >> 31 != 0;
}

/// The graph's nodes, those that came last first, as far as their order allows it: a dependency
/// that was forgotten shows.
class GraphRun {
 public:
  explicit GraphRun(std::shared_ptr<Graph> graph)
      : graph_(std::move(graph)), done_(graph_->nodes.size()) {}
  bool step() {
    while (left_ > 0) {
      const std::size_t next = choose();
      if (!graph_->nodes[next].work()) return false;
      done_[next] = true;
      --left_;
    }
    return true;
  }

 private:
  [[nodiscard]] std::size_t choose() const {
    for (std::size_t i = done_.size(); i-- > 0;) {
      const std::vector<std::size_t>& behind = graph_->nodes[i].behind;
      if (!done_[i] &&
          std::all_of(behind.begin(), behind.end(), [&](std::size_t b) { return done_[b]; }))
        return i;
    }
    fail("a graph whose nodes wait for each other");
  }

  std::shared_ptr<Graph> graph_;
  std::vector<bool> done_;
  std::size_t left_ = done_.size();
};

void add_nodes(std::vector<std::size_t>& to, const std::vector<std::size_t>& from) {
  for (const std::size_t node : from) {
    if (std::find(to.begin(), to.end(), node) == to.end()) to.push_back(node);
  }
}

/// How many nodes stand before or at the frontier.
std::size_t reached(const Graph& graph, std::vector<std::size_t> frontier) {
  std::vector<bool> seen(graph.nodes.size());
  std::size_t count = 0;
  while (!frontier.empty()) {
    const std::size_t node = frontier.back();
    frontier.pop_back();
    if (seen[node]) continue;
    seen[node] = true;
    ++count;
    add_nodes(frontier, graph.nodes[node].behind);
  }
  return count;
}

}  // namespace

std::recursive_mutex& device_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

std::vector<Stream*>& all_streams() {
  static Stream first;
  static std::vector<Stream*> all{&first};
  return all;
}

Stream& default_stream() { return *all_streams().front(); }

void Stream::add(Work work) {
  if (capture_ == nullptr) {
    work_.push_back(std::move(work));
    if (at_once()) progress();
    return;
  }
  capture_->graph.nodes.push_back({std::move(work), frontier_});
  frontier_ = {capture_->graph.nodes.size() - 1};
}

cudaError_t Stream::record(Event& event) {
  event.stream = this;
  event.capture = capture_;
  event.frontier = frontier_;
  event.mark = std::make_shared<Event::Mark>();
  if (capture_ == nullptr) {
    work_.push_back([mark = event.mark] {
      *mark = {true, now()};
      return true;
    });
  }
  return cudaSuccess;
}

cudaError_t Stream::wait(Event& event) {
  if (event.mark == nullptr) return cudaSuccess;
  if (event.capture != nullptr) {
    if (capture_ != nullptr && capture_ != event.capture) return cudaErrorStreamCaptureIsolation;
    if (capture_ == nullptr) {
      capture_ = event.capture;
      capture_->members.push_back(this);
      frontier_.clear();
    }
    add_nodes(frontier_, event.frontier);
    return cudaSuccess;
  }
  if (capture_ != nullptr) return cudaErrorStreamCaptureIsolation;
  work_.push_back([mark = event.mark, other = event.stream] {
    if (!mark->done) other->progress();
    return mark->done;
  });
  return cudaSuccess;
}

bool Stream::progress() {
  if (busy_) return false;
  busy_ = true;
  while (!work_.empty() && work_.front()()) work_.pop_front();
  busy_ = false;
  return work_.empty();
}

void Stream::drain(std::unique_lock<std::recursive_mutex>& lock) {
  while (!progress()) {
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock.lock();
  }
}

bool Stream::invalidate_capture() {
  if (capture_ == nullptr) return false;
  capture_->valid = false;
  return true;
}

cudaError_t Stream::begin_capture() {
  if (capture_ != nullptr) return cudaErrorInvalidValue;
  capture_ = std::make_shared<Capture>();
  capture_->origin = this;
  capture_->members = {this};
  frontier_.clear();
  return cudaSuccess;
}

cudaError_t Stream::end_capture(std::unique_ptr<Graph>& graph) {
  const std::shared_ptr<Capture> capture = capture_;
  if (capture == nullptr || capture->origin != this) return cudaErrorInvalidValue;
  const bool joined = reached(capture->graph, frontier_) == capture->graph.nodes.size();
  for (Stream* member : capture->members) {
    member->capture_.reset();
    member->frontier_.clear();
  }
  if (!capture->valid) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  graph = std::make_unique<Graph>(std::move(capture->graph));
  return cudaSuccess;
}

void Stream::launch(std::shared_ptr<Graph> graph) {
  add([run = std::make_shared<GraphRun>(std::move(graph))] { return run->step(); });
}

}  // namespace neuroshard::emulation
