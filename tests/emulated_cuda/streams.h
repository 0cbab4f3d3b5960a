#pragma once

// Streams, events and captured graphs. Work is done at once or waits in its stream until somebody
// has to see it done, by turns that look random: whoever has forgotten to wait finds too little
// there, or too much. NEUROSHARD_EMULATED_ORDER=late: always as late as CUDA allows.

#include <cuda_runtime.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace neuroshard::emulation {

/// Does a piece of work; false when it cannot yet, because another process has to do something.
using Work = std::function<bool()>;

/// What everything here is guarded by. Recursive: work may add work.
std::recursive_mutex& device_mutex();

/// A node of a captured graph, and the nodes before it.
struct Node {
  Work work;
  std::vector<std::size_t> behind;
};

struct Graph {
  std::vector<Node> nodes;
};

/// Streams that are being captured together.
struct Capture {
  Graph graph;
  Stream* origin;
  bool valid = true;
  std::vector<Stream*> members;
};

class Event {
 public:
  struct Mark {
    bool done = false;
    std::int64_t nanoseconds = 0;
  };
  Stream* stream = nullptr;    ///< of the last record
  std::shared_ptr<Mark> mark;  ///< null: never recorded
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> frontier;  ///< captured: the nodes it stands behind
};

class Stream {
 public:
  /// At the end of the stream, or of the graph it is captured to.
  void add(Work work);
  cudaError_t record(Event& event);
  cudaError_t wait(Event& event);
  /// Does what can be done now; true when nothing is left.
  bool progress();
  /// Does all of it, waiting for other processes. With device_mutex() held once.
  void drain(std::unique_lock<std::recursive_mutex>& lock);
  [[nodiscard]] bool capturing() const { return capture_ != nullptr; }
  [[nodiscard]] bool invalidate_capture();
  cudaError_t begin_capture();
  /// Null unless all went well.
  cudaError_t end_capture(std::unique_ptr<Graph>& graph);
  void launch(std::shared_ptr<Graph> graph);

 private:
  std::deque<Work> work_;
  bool busy_ = false;  ///< within progress()
  std::shared_ptr<Capture> capture_;
  std::vector<std::size_t> frontier_;
};

/// The stream that null stands for. The others do not wait for it: all are made non-blocking.
Stream& default_stream();
inline Stream& stream_of(cudaStream_t stream) {
  return stream != nullptr ? *stream : default_stream();
}
/// Everything that has been made and not destroyed, the default stream first.
std::vector<Stream*>& all_streams();

}  // namespace neuroshard::emulation
