#include <algorithm>
#include <utility>

#include "cuda/check.h"
#include "cuda/launch.h"
#include "cuda/training/issuer.h"
#include "cuda/training/loss_kernels.cuh"
#include "cuda/training/set_encoder.cuh"
#include "cuda/training/set_head.cuh"
#include "cuda/training/weight_parts.cuh"

namespace neuroshard::cuda {
namespace {

/// cuBLASLt wants the columns of a mask this many bits apart, or a multiple.
constexpr std::int64_t kMaskBits = 128;

std::int64_t mask_stride(int outputs) { return (outputs + kMaskBits - 1) / kMaskBits * kMaskBits; }

unsigned blocks_for(std::int64_t count, std::int64_t per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

}  // namespace

Result<std::unique_ptr<Issuer>> Issuer::create(cudaStream_t stream) {
  std::unique_ptr<Issuer> made(new Issuer());
  made->main_.stream = stream;
  NEUROSHARD_CUDA_RETURN_IF_ERROR(
      cudaStreamCreateWithFlags(&made->side_.stream, cudaStreamNonBlocking));
  for (cudaEvent_t* event : {&made->fork_, &made->done_}) {
    NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
  }
  for (Line* line : {&made->main_, &made->side_}) {  // products of a line share a workspace
    NEUROSHARD_ASSIGN_OR_RETURN(line->matmul, Matmul::create());
  }
  NEUROSHARD_RETURN_IF_ERROR(made->scalars_.reserve(1));
  return Result<std::unique_ptr<Issuer>>(std::move(made));
}

Issuer::~Issuer() {
  for (cudaEvent_t event : {fork_, done_}) {
    if (event != nullptr) cudaEventDestroy(event);
  }
  if (side_.stream != nullptr) cudaStreamDestroy(side_.stream);
}

Status Issuer::go_beside() {
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaEventRecord(fork_, main_.stream));
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(side_.stream, fork_));
  beside_ = true;
  line_ = &side_;
  return {};
}

Status Issuer::join() {
  line_ = &main_;
  if (!std::exchange(beside_, false)) return {};
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaEventRecord(done_, side_.stream));
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(main_.stream, done_));
  return {};
}

template <typename Kernel, typename... Arguments>
Status Issuer::launch(Kernel kernel, std::int64_t threads, const Arguments&... arguments) {
  if (threads <= 0) return {};
  return cuda::launch({blocks_for(threads, kTrainingThreads), kTrainingThreads, line_->stream},
                      kernel, arguments...);
}

Status Issuer::store(const StepScalars& scalars) {
  return cuda::launch({1, 1, line_->stream}, store_kernel, scalars, scalars_.data());
}

ProductCounts Issuer::products() const {
  ProductCounts all = main_.matmul->counts();
  for (const auto& [kind, count] : side_.matmul->counts()) {
    all[kind].taken += count.taken;
    all[kind].refused += count.refused;
  }
  return all;
}

void Issuer::forget(const void* memory) {
  if (masks_.erase(static_cast<const float*>(memory)) > 0) moved_ = true;
}

Status Issuer::issue(const OpList& list, bool capturing) {
  beside_ = false;
  line_ = &main_;
  for (auto& [y, mask] : masks_) mask.valid = false;
  for (std::size_t i = 0; i < list.ops().size();) {
    // The way back reads what the side reads, and writes other things.
    if (!OpList::goes_back(list.ops()[i])) NEUROSHARD_RETURN_IF_ERROR(join());
    NEUROSHARD_ASSIGN_OR_RETURN(const std::size_t done, issue_from(list, i, capturing));
    i += done;
  }
  return join();
}

Result<std::size_t> Issuer::issue_from(const OpList& list, std::size_t i, bool capturing) {
  const TrainingOp& op = list.ops()[i];
  const bool ends_step = list.ends_step(i);
  const auto scalars = list.scalars(i, ends_step ? 3 : 1);
  if (scalars && !capturing) NEUROSHARD_RETURN_IF_ERROR(store(*scalars));
  if (ends_step) {
    const auto& adam = std::get<nn::Adam>(list.ops()[i + 1]);
    NEUROSHARD_RETURN_IF_ERROR(launch(end_step_kernel, adam.count, std::get<nn::SegmentSum>(op),
                                      adam, std::get<nn::MovingAverage>(list.ops()[i + 2]),
                                      scalars_.data()));
    return std::size_t{3};
  }
  if (const auto encoder = find_encoder(list, i)) {
    NEUROSHARD_RETURN_IF_ERROR(cuda::launch(
        {blocks_for(encoder->gather.rows, kEncoderRows), kTrainingThreads, line_->stream},
        set_encoder_kernel, *encoder));
    return kEncoderOps;
  }
  if (const auto head = find_head(list.ops().subspan(i))) {
    NEUROSHARD_RETURN_IF_ERROR(run(*head));
    return kHeadOps;
  }
  if (const auto* forward = std::get_if<nn::DenseForward>(&op)) {
    NEUROSHARD_RETURN_IF_ERROR(run(*forward, list.wants_mask(i)));
  } else if (const auto* below = list.ends_below(i)) {
    NEUROSHARD_RETURN_IF_ERROR(run(std::get<nn::DenseBackward>(op), *below));
    return std::size_t{2};
  } else if (const auto* backward = std::get_if<nn::DenseBackward>(&op)) {
    NEUROSHARD_RETURN_IF_ERROR(run(*backward));
  } else if (const auto* spread = std::get_if<nn::SegmentSumBackward>(&op)) {
    const float* const gate = list.gate_behind(i);
    NEUROSHARD_RETURN_IF_ERROR(run(*spread, gate));
    return std::size_t{gate != nullptr ? 2U : 1U};
  } else {
    NEUROSHARD_RETURN_IF_ERROR(std::visit(
        [this](const auto& other) -> Status {
          using Op = std::decay_t<decltype(other)>;
          if constexpr (std::is_same_v<Op, nn::DenseForward> ||
                        std::is_same_v<Op, nn::DenseBackward> ||
                        std::is_same_v<Op, nn::SegmentSumBackward>) {
            return {};  // done above
          } else {
            return run(other);
          }
        },
        op));
  }
  return std::size_t{1};
}

Status Issuer::run(const nn::GatherRows& op) {
  return launch(gather_kernel, op.rows * op.width, op);
}

Status Issuer::reserve_mask(Mask& mask, const nn::DenseForward& op) {
  const auto bytes = static_cast<std::size_t>(mask_stride(op.spec.outputs) / 8 * op.rows);
  if (bytes <= mask.bits.capacity()) return {};
  moved_ = moved_ || mask.bits.capacity() > 0;
  return mask.bits.reserve(bytes);
}

Status Issuer::run(const nn::DenseForward& op, bool wants_mask) {
  // Row-major y = x W^T is column-major y' = W x': [outputs, rows] = [outputs, inputs] [inputs,
  // rows], and the bias goes to the rows of y'.
  Product product{.m = op.spec.outputs,
                  .n = op.rows,
                  .k = op.spec.inputs,
                  .a = op.weight,
                  .transpose_a = true,
                  .b = op.x,
                  .d = op.y,
                  .epilogue = CUBLASLT_EPILOGUE_BIAS,
                  .bias = op.bias};
  if (is_product(op.rows, op.spec)) {
    if (wants_mask) {
      Mask& mask = masks_[op.y];
      NEUROSHARD_RETURN_IF_ERROR(reserve_mask(mask, op));
      Product masked = product;
      masked.epilogue = CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
      masked.mask = mask.bits.data();
      masked.mask_stride = mask_stride(op.spec.outputs);
      mask.valid = line_->matmul->run(masked, line_->stream);
      if (mask.valid) return {};
    }
    if (op.spec.activation == nn::Activation::kRelu) {
      product.epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    }
    if (line_->matmul->run(product, line_->stream)) return {};
  }
  return launch(dense_kernel, op.rows * op.spec.outputs * kLanes, op);
}

Status Issuer::run(const nn::DenseBackward& op) {
  if (op.dx == nullptr) return weight_gradient(op);
  NEUROSHARD_RETURN_IF_ERROR(go_beside());
  const Status status = weight_gradient(op);
  line_ = &main_;
  return status.ok() ? input_gradient(op) : status;
}

/// A block of sums next to each other, its threads sharing the rows.
template <typename Kernel>
Status Issuer::launch_sums(Kernel kernel, std::int64_t sums, std::int64_t rows_of_blocks,
                           const nn::DenseBackward& op) {
  const dim3 grid(blocks_for(sums, kSumColumns), static_cast<unsigned>(rows_of_blocks));
  return cuda::launch({grid, dim3(kSumColumns, kSumParts), line_->stream}, kernel, op);
}

Result<float*> Issuer::reserve_parts(std::int64_t values) {
  const auto size = static_cast<std::size_t>(values);
  if (size > line_->parts.capacity()) {
    moved_ = moved_ || line_->parts.capacity() > 0;
    NEUROSHARD_RETURN_IF_ERROR(line_->parts.reserve(size));
  }
  return line_->parts.data();
}

Status Issuer::add_in_parts(const nn::DenseBackward& op) {
  const std::int64_t size = part_size(op.spec);
  NEUROSHARD_ASSIGN_OR_RETURN(float* const parts, reserve_parts(parts_of(op) * size));
  const auto give = [&](int inputs, auto kernel) {
    const dim3 grid(static_cast<unsigned>(parts_of(op)),
                    static_cast<unsigned>(tiles_of(op.spec, inputs)));
    return cuda::launch({grid, kTrainingThreads, line_->stream}, kernel, op, parts);
  };
  NEUROSHARD_RETURN_IF_ERROR(op.spec.inputs <= kNarrow
                                 ? give(kNarrow, weight_parts_kernel<kNarrow>)
                                 : give(kTileInputs, weight_parts_kernel<kTileInputs>));
  return launch(add_weight_parts_kernel, size, op, parts);
}

Status Issuer::run(const nn::DenseBackward& above, const nn::DenseBackward& below) {
  const std::int64_t size = part_size(below.spec) + part_size(above.spec);
  NEUROSHARD_ASSIGN_OR_RETURN(float* const parts, reserve_parts(parts_of(below) * size));
  const int tiles = tiles_of(below.spec, kNarrow) + tiles_of(above.spec, kNarrow);
  const dim3 grid(static_cast<unsigned>(parts_of(below)), static_cast<unsigned>(tiles));
  NEUROSHARD_RETURN_IF_ERROR(cuda::launch({grid, kTrainingThreads, line_->stream},
                                          weight_parts_of_two_kernel, below, above, parts));
  return launch(add_weight_parts_of_two_kernel, size, below, above, parts);
}

Status Issuer::weight_gradient(const nn::DenseBackward& op) {
  if (adds_in_parts(op)) return add_in_parts(op);
  // dW' [inputs, outputs] = x' dy'^T, and the bias gradient sums the columns of that right side.
  Product product{.m = op.spec.inputs,
                  .n = op.spec.outputs,
                  .k = op.rows,
                  .a = op.x,
                  .b = op.dy,
                  .transpose_b = true,
                  .d = op.dweight};
  const bool by_product = is_product(op.rows, op.spec);
  if (by_product) {
    Product with_bias = product;
    with_bias.epilogue = CUBLASLT_EPILOGUE_BGRADB;
    with_bias.bias = op.dbias;
    if (line_->matmul->run(with_bias, line_->stream)) return {};
  }
  if (!by_product || !line_->matmul->run(product, line_->stream)) {
    NEUROSHARD_RETURN_IF_ERROR(
        launch_sums(weight_gradient_kernel, op.spec.inputs, op.spec.outputs, op));
  }
  return launch_sums(bias_gradient_kernel, op.spec.outputs, 1, op);
}

Status Issuer::input_gradient(const nn::DenseBackward& op) {
  // dx' [inputs, rows] = W' dy'.
  Product product{.m = op.spec.inputs,
                  .n = op.rows,
                  .k = op.spec.outputs,
                  .a = op.weight,
                  .b = op.dy,
                  .d = op.dx};
  const bool gated = op.x_activation == nn::Activation::kRelu;
  const bool by_product = is_product(op.rows, op.spec);
  if (by_product && gated) {
    const auto mask = masks_.find(op.x);
    if (mask != masks_.end() && mask->second.valid) {
      // Not DRELU_BGRAD, which would sum up the bias gradient of the layer below on the way: its
      // sums have other bits in every run (cuBLASLt 13, H100, 300 rows of 128 values).
      Product masked = product;
      masked.mask = mask->second.bits.data();
      masked.mask_stride = mask_stride(op.spec.inputs);
      masked.epilogue = CUBLASLT_EPILOGUE_DRELU;
      if (line_->matmul->run(masked, line_->stream)) return {};
    }
  }
  if (by_product && line_->matmul->run(product, line_->stream)) {
    return gated ? run(nn::ReluBackward{op.rows * op.spec.inputs, op.x, op.dx}) : Status();
  }
  return launch(input_gradient_kernel, op.rows * op.spec.inputs, op);
}

Status Issuer::run(const SetHead& head) {
  NEUROSHARD_RETURN_IF_ERROR(
      cuda::launch({blocks_for(head.sum.segments + 1, kHeadSets), kHeadThreads, line_->stream},
                   set_head_kernel, head));
  NEUROSHARD_RETURN_IF_ERROR(go_beside());
  const int blocks =
      gradient_blocks(head.hidden_back.spec) + gradient_blocks(head.output_back.spec) + 1;
  const Status status =
      cuda::launch({static_cast<unsigned>(blocks), dim3(kSumColumns, kSumParts), line_->stream},
                   head_gradients_kernel, head);
  line_ = &main_;
  return status;
}

Status Issuer::run(const nn::ReluBackward& op) {
  return launch(relu_backward_kernel, op.count, op);
}

Status Issuer::run(const nn::SegmentSum& op) {
  return launch(segment_sum_kernel, op.segments * op.width, op);
}

Status Issuer::run(const nn::SegmentSumBackward& op, const float* gate) {
  // One more segment: the rows that belong to none.
  return launch(segment_sum_backward_kernel, (op.segments + 1) * op.width, op, gate);
}

Status Issuer::run(const nn::Loss& op) {
  return cuda::launch({1, kTrainingThreads, line_->stream}, loss_kernel, op);
}

Status Issuer::run(const nn::Adam& op) {
  return launch(adam_kernel, op.count, op, scalars_.data());
}

Status Issuer::run(const nn::MovingAverage& op) {
  return launch(moving_average_kernel, op.count, op, scalars_.data());
}

}  // namespace neuroshard::cuda
