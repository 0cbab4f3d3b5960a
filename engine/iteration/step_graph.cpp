#include "engine/iteration/step_graph.h"

#include <string>
#include <utility>

namespace neuroshard {
namespace {

/// Of the processor, for each kernel that is launched on its own: PyTorch's usual launch.
constexpr double kIssueMs = 0.01;

class GraphBuilder {
 public:
  GraphBuilder(const DenseModel& model, std::int32_t devices,
               const std::function<double(double)>& all_reduce_ms)
      : model_(model), all_reduce_ms_(all_reduce_ms) {
    graph_.devices = devices;
  }

  /// The task's number.
  std::int32_t add(std::string name, StepPhase phase, Stream stream, std::vector<double> ms,
                   std::int32_t kernels, std::vector<std::int32_t> after) {
    StepTask task{std::move(name), phase, stream, std::move(after)};
    task.together = stream == Stream::kCommunication;
    task.issue_ms = model_.cuda_graph ? 0 : kernels * kIssueMs;
    task.ms = std::move(ms);
    graph_.tasks.push_back(std::move(task));
    return static_cast<std::int32_t>(graph_.tasks.size()) - 1;
  }

  /// The last of the operators, the first of which comes after those tasks.
  std::int32_t add_dense(const std::vector<DenseOperator>& operators, StepPhase phase,
                         std::vector<std::int32_t> after) {
    std::int32_t last = -1;
    for (const DenseOperator& one : operators) {
      last = add(one.name, phase, Stream::kCompute, {one.ms}, one.kernels, std::move(after));
      after = {last};
      bucket_ += one.gradient_bytes;
      if (!hugectr() && bucket_ >= model_.bucket_mb * 1e6) reduce_bucket(last);
    }
    return last;
  }

  /// To the bucket.
  void add_gradients(double bytes) { bucket_ += bytes; }

  /// What is left in the bucket, after that task; all buckets of the step.
  std::vector<std::int32_t> reduce_rest(std::int32_t after) {
    if (bucket_ > 0) reduce_bucket(after);
    return buckets_;
  }

  [[nodiscard]] bool hugectr() const { return model_.schedule == StepSchedule::kHugectr; }
  StepTask& task(std::int32_t number) { return graph_.tasks[static_cast<std::size_t>(number)]; }
  StepGraph take() { return std::move(graph_); }

 private:
  void reduce_bucket(std::int32_t after) {
    if (graph_.devices > 1) {
      const std::string name = "all-reduce, bucket " + std::to_string(buckets_.size() + 1);
      buckets_.push_back(add(name, StepPhase::kAllReduce, Stream::kCommunication,
                             {all_reduce_ms_(bucket_)}, 1, {after}));
    }
    bucket_ = 0;
  }

  const DenseModel& model_;
  const std::function<double(double)>& all_reduce_ms_;
  StepGraph graph_;
  std::vector<std::int32_t> buckets_;
  double bucket_ = 0;
};

std::vector<std::int32_t> present(std::vector<std::int32_t> tasks) {
  std::erase(tasks, -1);
  return tasks;
}

}  // namespace

StepGraph make_step_graph(const DenseModel& model, const DenseStep& dense,
                          const EmbeddingStep& embedding, std::int32_t devices,
                          const std::function<double(double)>& all_reduce_ms) {
  GraphBuilder builder(model, devices, all_reduce_ms);
  const std::int32_t copy = builder.add("copy of the batch after next", StepPhase::kInputCopy,
                                        Stream::kCopy, {embedding.input_copy_ms}, 1, {});
  const std::int32_t input =
      builder.add("rows of the next batch", StepPhase::kInputExchange, Stream::kCommunication,
                  {embedding.input_exchange_ms}, 1, {});
  builder.task(input).after_before = {copy};
  const std::int32_t lookup =
      builder.add("lookup", StepPhase::kLookupForward, Stream::kCompute,
                  embedding.lookup_forward_ms, embedding.forward_kernels, {});
  builder.task(lookup).after_before = {input};
  builder.task(copy).after_before = {lookup};  // of the batch before, whose place it takes
  const std::int32_t outputs =
      builder.add("exchange", StepPhase::kExchangeForward, Stream::kCommunication,
                  {embedding.exchange_forward_ms}, 1, {lookup});
  if (builder.hugectr()) {
    builder.add("lookup, replicas", StepPhase::kLookupForward, Stream::kCompute,
                embedding.replica_forward_ms, embedding.forward_kernels, {});
    builder.add("sort of rows", StepPhase::kLookupBackward, Stream::kCompute, embedding.sort_ms, 0,
                {});
  }
  const std::int32_t bottom =
      builder.add_dense(dense.bottom_forward, StepPhase::kBottomForward, {});
  const std::int32_t together = builder.add_dense(
      dense.interaction_forward, StepPhase::kInteractionForward, present({outputs, bottom}));
  const std::int32_t top = builder.add_dense(dense.top_forward, StepPhase::kTopForward, {together});
  const std::int32_t back = builder.add_dense(dense.top_backward, StepPhase::kTopBackward, {top});
  const std::int32_t apart =
      builder.add_dense(dense.interaction_backward, StepPhase::kInteractionBackward, {back});
  std::vector<std::int32_t> gradients{
      builder.add("exchange of gradients", StepPhase::kExchangeBackward, Stream::kCommunication,
                  {embedding.exchange_backward_ms}, 1, {apart})};
  if (builder.hugectr()) {
    builder.add("lookup backward, replicas", StepPhase::kLookupBackward, Stream::kCompute,
                embedding.replica_backward_ms, embedding.backward_kernels, {apart});
  } else if (embedding.replica_gradient_bytes > 0) {
    gradients.push_back(builder.add("all-reduce, tables", StepPhase::kAllReduce,
                                    Stream::kCommunication,
                                    {all_reduce_ms(embedding.replica_gradient_bytes)}, 1, {apart}));
  }
  const std::int32_t bottom_back =
      builder.add_dense(dense.bottom_backward, StepPhase::kBottomBackward, {apart});
  if (builder.hugectr()) builder.add_gradients(embedding.replica_gradient_bytes);
  const std::vector<std::int32_t> buckets =
      builder.reduce_rest(bottom_back >= 0 ? bottom_back : apart);
  builder.add("lookup backward", StepPhase::kLookupBackward, Stream::kCompute,
              embedding.lookup_backward_ms, embedding.backward_kernels, std::move(gradients));
  builder.add_dense(dense.optimizer, StepPhase::kOptimizer, buckets);
  return builder.take();
}

}  // namespace neuroshard
