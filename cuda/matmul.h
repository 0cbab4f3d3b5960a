#pragma once

// Matrix products by cuBLASLt, in its column-major terms: D[m, n] = op(A)[m, k] op(B)[k, n] (+ D).
// For CUDA sources only.

#include <cublasLt.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "cuda/library.h"
#include "cuda/memory.h"
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
  bool accumulate = false;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;  ///< read or written, as the epilogue says
};

/// Thread-safe; products run in the default stream.
class Matmul {
 public:
  /// Opens cuBLASLt. Errors: kUnavailable.
  static Result<std::unique_ptr<Matmul>> create();
  ~Matmul();

  /// Gives the product to the GPU; false when cuBLASLt has no kernel for it and nothing was done.
  bool run(const Product& product);

 private:
  struct Functions;
  struct Descriptions;
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, bool, bool, int, bool>;

  explicit Matmul(std::unique_ptr<Functions> functions);
  bool find_algorithm(const Product& product, const Descriptions& described,
                      cublasLtMatmulAlgo_t& algorithm);

  std::unique_ptr<Functions> functions_;
  cublasLtHandle_t handle_ = nullptr;
  Buffer<std::byte> workspace_;
  std::mutex mutex_;
  std::map<Key, cublasLtMatmulAlgo_t> algorithms_;  // guarded by mutex_
};

}  // namespace neuroshard::cuda
