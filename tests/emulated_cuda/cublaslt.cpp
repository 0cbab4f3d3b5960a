// cuBLASLt on the CPU, as NVIDIA's documentation describes it. NEUROSHARD_EMULATED_CUBLASLT says
// what it has kernels for: all (the default), plain (no masks and no gradients of biases) or none,
// so that what a real one may refuse is tried, too.
#include <cublasLt.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "tests/emulated_cuda/streams.h"

struct cublasLtContext {};
struct cublasLtMatmulPreferenceOpaque_t {};

struct cublasLtMatrixLayoutOpaque_t {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t stride;
};

struct cublasLtMatmulDescOpaque_t {
  cublasOperation_t op_a = CUBLAS_OP_N;
  cublasOperation_t op_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  float* bias = nullptr;
  std::uint8_t* mask = nullptr;
  std::int64_t mask_stride = 0;
};

namespace {

using Description = cublasLtMatmulDescOpaque_t;
using Layout = cublasLtMatrixLayoutOpaque_t;

/// Column-major, op applied.
struct Operand {
  const float* values;
  std::int64_t stride;
  bool transposed;
  [[nodiscard]] float at(std::int64_t row, std::int64_t column) const {
    return transposed ? values[row * stride + column] : values[column * stride + row];
  }
};

/// One product, m x n x k.
struct Product {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  float alpha;
  float beta;
  Operand a;
  Operand b;
  const float* c;
  std::int64_t c_stride;
  float* d;
  std::int64_t d_stride;
  Description description;

  void run() const {
    const std::vector<float> columns = columns_of_a();
    std::vector<float> sums(static_cast<std::size_t>(m));
    for (std::int64_t j = 0; j < n; ++j) {
      std::fill(sums.begin(), sums.end(), 0.0F);
      for (std::int64_t l = 0; l < k; ++l) add_scaled(columns.data() + l * m, b.at(l, j), sums);
      spoil_padding(j);
      for (std::int64_t i = 0; i < m; ++i) {
        const float before = beta == 0 ? 0 : beta * c[j * c_stride + i];
        d[j * d_stride + i] = finished(i, j, alpha * sums[static_cast<std::size_t>(i)] + before);
      }
    }
    if (description.epilogue == CUBLASLT_EPILOGUE_BGRADB) sum_columns_of_b();
  }

 private:
  [[nodiscard]] std::vector<float> columns_of_a() const {
    std::vector<float> columns(static_cast<std::size_t>(m * k));
    for (std::int64_t l = 0; l < k; ++l) {
      for (std::int64_t i = 0; i < m; ++i)
        columns[static_cast<std::size_t>(l * m + i)] = a.at(i, l);
    }
    return columns;
  }
  static void add_scaled(const float* column, float by, std::vector<float>& sums) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += column[i] * by;
  }
  [[nodiscard]] float finished(std::int64_t i, std::int64_t j, float value) const {
    switch (description.epilogue) {
      case CUBLASLT_EPILOGUE_BIAS:
        return value + description.bias[i];
      case CUBLASLT_EPILOGUE_RELU_BIAS:
      case CUBLASLT_EPILOGUE_RELU_AUX_BIAS: {
        const float linear = value + description.bias[i];
        if (description.mask != nullptr) set_bit(i, j, linear > 0);
        return linear > 0 ? linear : 0;
      }
      case CUBLASLT_EPILOGUE_DRELU:
        return bit(i, j) ? value : 0;
      case CUBLASLT_EPILOGUE_DEFAULT:
      case CUBLASLT_EPILOGUE_BGRADB:
        break;
    }
    return value;
  }
  void set_bit(std::int64_t i, std::int64_t j, bool on) const {
    const std::int64_t at = j * description.mask_stride + i;
    const auto one = static_cast<std::uint8_t>(1U << at % 8);
    std::uint8_t& byte = description.mask[at / 8];
    byte = static_cast<std::uint8_t>(on ? byte | one : byte & ~one);
  }
  [[nodiscard]] bool bit(std::int64_t i, std::int64_t j) const {
    const std::int64_t at = j * description.mask_stride + i;
    return (description.mask[at / 8] >> at % 8 & 1) != 0;
  }
  /// The bits between columns are cuBLASLt's to write.
  void spoil_padding(std::int64_t j) const {
    if (description.epilogue != CUBLASLT_EPILOGUE_RELU_AUX_BIAS) return;
    for (std::int64_t i = m; i < description.mask_stride; ++i) set_bit(i, j, true);
  }
  void sum_columns_of_b() const {
    for (std::int64_t j = 0; j < n; ++j) {
      float total = 0;
      for (std::int64_t l = 0; l < k; ++l) total += b.at(l, j);
      description.bias[j] = total;
    }
  }
};

/// `k`: what the product sums over. Of one, cuBLAS has no gradients.
bool has_kernel(const Description& description, std::int64_t k) {
  const char* text = std::getenv("NEUROSHARD_EMULATED_CUBLASLT");
  const std::string_view which = text != nullptr ? text : "all";
  if (which == "none") return false;
  const cublasLtEpilogue_t epilogue = description.epilogue;
  const bool plain = epilogue == CUBLASLT_EPILOGUE_DEFAULT || epilogue == CUBLASLT_EPILOGUE_BIAS ||
                     epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  return plain || (which == "all" && (k > 1 || epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS));
}

bool aligned(const void* memory, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(memory) % bytes == 0;
}

/// What the epilogue works with is there.
bool complete(const Description& description, std::int64_t m) {
  const cublasLtEpilogue_t epilogue = description.epilogue;
  const bool masked =
      epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS || epilogue == CUBLASLT_EPILOGUE_DRELU;
  const bool biased = epilogue != CUBLASLT_EPILOGUE_DEFAULT && epilogue != CUBLASLT_EPILOGUE_DRELU;
  if (biased && (description.bias == nullptr || !aligned(description.bias, 16))) return false;
  return !masked || (description.mask != nullptr && aligned(description.mask, 16) &&
                     description.mask_stride % 128 == 0 && description.mask_stride >= m);
}

template <typename Value>
cublasStatus_t set(Value& attribute, const void* value, std::size_t bytes) {
  if (bytes != sizeof attribute) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&attribute, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*,
                              void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  const std::unique_lock lock(neuroshard::emulation::device_mutex());
  const bool across_a = description->op_a == CUBLAS_OP_T;
  const bool across_b = description->op_b == CUBLAS_OP_T;
  Product product{.m = d_layout->rows,
                  .n = d_layout->columns,
                  .k = across_a ? a_layout->rows : a_layout->columns,
                  .alpha = *static_cast<const float*>(alpha),
                  .beta = *static_cast<const float*>(beta),
                  .a = {static_cast<const float*>(a), a_layout->stride, across_a},
                  .b = {static_cast<const float*>(b), b_layout->stride, across_b},
                  .c = static_cast<const float*>(c),
                  .c_stride = c_layout->stride,
                  .d = static_cast<float*>(d),
                  .d_stride = d_layout->stride,
                  .description = *description};
  const bool fit = (across_a ? a_layout->columns : a_layout->rows) == product.m &&
                   (across_b ? b_layout->columns : b_layout->rows) == product.k &&
                   (across_b ? b_layout->rows : b_layout->columns) == product.n && product.m > 0 &&
                   product.n > 0 && product.k > 0;
  if (!fit || workspace == nullptr || workspace_bytes == 0 || !complete(*description, product.m)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!has_kernel(*description, product.k)) return CUBLAS_STATUS_NOT_SUPPORTED;
  neuroshard::emulation::stream_of(stream).add([product] {
    product.run();
    return true;
  });
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  *found = 0;
  if (wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
  const std::int64_t k = description->op_a == CUBLAS_OP_N ? a->columns : a->rows;
  if (!has_kernel(*description, k)) return CUBLAS_STATUS_NOT_SUPPORTED;
  results[0] = {};
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t,
                                        cudaDataType_t) {
  *description = new Description();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete description;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(description->op_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(description->op_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(description->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(description->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return set(description->mask, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return set(description->mask_stride, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t stride) {
  *layout = new Layout{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), stride};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
