#pragma once

// Matrix products by cuBLASLt, in its column-major terms: D[m, n] = op(A)[m, k] op(B)[k, n] (+ D).
// For CUDA sources only.

#include <cublasLt.h>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "cuda/library.h"
#include "cuda/memory.h"
#include "cuda/training/product_counts.h"
#include "engine/core/status.h"

namespace neuroshard::cuda {

struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const float* a = nullptr;  ///< k x m when transposed, else m x k; dense columns, as all
  bool transpose_a = false;
  const float* b = nullptr;
  bool transpose_b = false;
  float* d = nullptr;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;    ///< read or written, as the epilogue says
  void* mask = nullptr;          ///< of a ReLU, a bit a value; read or written likewise
  std::int64_t mask_stride = 0;  ///< bits between its columns: a multiple of 128, at least m
};

/// For one stream: its products share a workspace. Not thread-safe.
class Matmul {
 public:
  /// Opens cuBLASLt. Errors: kUnavailable.
  static Result<std::unique_ptr<Matmul>> create();
  ~Matmul();

  /// Gives the product to the stream; false when cuBLASLt has no kernel for it and nothing was
  /// done. Equal products use equal kernels, whatever came between them.
  bool run(const Product& product, cudaStream_t stream);
  [[nodiscard]] const ProductCounts& counts() const { return counts_; }

 private:
  struct Functions;
  struct Descriptions;
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, bool, int, int, int, int>;

  explicit Matmul(std::unique_ptr<Functions> functions);
  /// A kernel of cuBLASLt for a product, if there is one.
  struct Choice {
    bool there = false;
    cublasLtMatmulAlgo_t algorithm{};
  };
  Choice choose(const Product& product, const Descriptions& described) const;
  bool give(const Product& product, cudaStream_t stream);

  std::unique_ptr<Functions> functions_;
  cublasLtHandle_t handle_ = nullptr;
  Buffer<std::byte> workspace_;
  std::map<Key, Choice> choices_;
  ProductCounts counts_;
};

}  // namespace neuroshard::cuda
