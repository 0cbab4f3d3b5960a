#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "cuda/check.h"
#include "cuda/training/matmul.h"

namespace neuroshard::cuda {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // NVIDIA's advice for Hopper

/// Kernels that are remembered, by the shape of the product; with one more all are forgotten.
constexpr std::size_t kMostChoices = 4096;

std::string_view name_of(cublasLtEpilogue_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      return "nothing";
    case CUBLASLT_EPILOGUE_BIAS:
      return "BIAS";
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      return "RELU_BIAS";
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
      return "RELU_AUX_BIAS";
    case CUBLASLT_EPILOGUE_DRELU:
      return "DRELU";
    case CUBLASLT_EPILOGUE_BGRADB:
      return "BGRADB";
    default:
      return "others";
  }
}

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

/// Of a pointer that cuBLASLt's heuristic looks at itself: the largest power of two up to 256 that
/// divides it.
int alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return 1 << std::min(8, std::countr_zero(address));
}

}  // namespace

/// The functions of libcublasLt that are called here.
struct Matmul::Functions {
  decltype(cublasLtCreate)* create;
  decltype(cublasLtDestroy)* destroy;
  decltype(cublasLtMatmul)* matmul;
  decltype(cublasLtMatmulAlgoGetHeuristic)* heuristic;
  decltype(cublasLtMatmulDescCreate)* desc_create;
  decltype(cublasLtMatmulDescDestroy)* desc_destroy;
  decltype(cublasLtMatmulDescSetAttribute)* desc_set;
  decltype(cublasLtMatrixLayoutCreate)* layout_create;
  decltype(cublasLtMatrixLayoutDestroy)* layout_destroy;
  decltype(cublasLtMatmulPreferenceCreate)* preference_create;
  decltype(cublasLtMatmulPreferenceDestroy)* preference_destroy;
  decltype(cublasLtMatmulPreferenceSetAttribute)* preference_set;

  Status load(const Library& library) {
    NEUROSHARD_RETURN_IF_ERROR(library.find("cublasLtCreate", create));
    NEUROSHARD_RETURN_IF_ERROR(library.find("cublasLtDestroy", destroy));
    NEUROSHARD_RETURN_IF_ERROR(library.find("cublasLtMatmul", matmul));
    NEUROSHARD_RETURN_IF_ERROR(library.find("cublasLtMatmulAlgoGetHeuristic", heuristic));
    NEUROSHARD_RETURN_IF_ERROR(library.find("cublasLtMatmulDescCreate", desc_create));
    NEUROSHARD_RETURN_IF_ERROR(library.find("cublasLtMatmulDescDestroy", desc_destroy));
    NEUROSHARD_RETURN_IF_ERROR(library.find("cublasLtMatmulDescSetAttribute", desc_set));
    NEUROSHARD_RETURN_IF_ERROR(library.find("cublasLtMatrixLayoutCreate", layout_create));
    NEUROSHARD_RETURN_IF_ERROR(library.find("cublasLtMatrixLayoutDestroy", layout_destroy));
    NEUROSHARD_RETURN_IF_ERROR(library.find("cublasLtMatmulPreferenceCreate", preference_create));
    NEUROSHARD_RETURN_IF_ERROR(library.find("cublasLtMatmulPreferenceDestroy", preference_destroy));
    return library.find("cublasLtMatmulPreferenceSetAttribute", preference_set);
  }
};

/// The description of one product; freed with the object.
struct Matmul::Descriptions {
  Descriptions(const Functions& functions, const Product& p) : functions_(functions) {
    const cublasOperation_t op_a = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t op_b = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    good_ =
        functions.desc_create(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS &&
        set(CUBLASLT_MATMUL_DESC_TRANSA, op_a) && set(CUBLASLT_MATMUL_DESC_TRANSB, op_b) &&
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, p.epilogue) &&
        (p.bias == nullptr || set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias)) &&
        (p.mask == nullptr || (set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.mask) &&
                               set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.mask_stride))) &&
        make(a, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k) &&
        make(b, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n) && make(d, p.m, p.n);
  }
  Descriptions(const Descriptions&) = delete;
  Descriptions& operator=(const Descriptions&) = delete;
  ~Descriptions() {
    for (cublasLtMatrixLayout_t layout : {a, b, d}) {
      if (layout != nullptr) functions_.layout_destroy(layout);
    }
    if (product != nullptr) functions_.desc_destroy(product);
  }
  [[nodiscard]] bool good() const { return good_; }

  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t d = nullptr;

 private:
  template <typename Value>
  bool set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    return functions_.desc_set(product, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS;
  }
  bool make(cublasLtMatrixLayout_t& layout, std::int64_t rows, std::int64_t columns) {
    return functions_.layout_create(&layout, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                                    static_cast<std::uint64_t>(columns),
                                    rows) == CUBLAS_STATUS_SUCCESS;
  }

  const Functions& functions_;
  bool good_ = false;
};

Matmul::Matmul(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}

Matmul::~Matmul() {
  if (handle_ != nullptr) functions_->destroy(handle_);
}

Result<std::unique_ptr<Matmul>> Matmul::create() {
  const std::string file = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  NEUROSHARD_ASSIGN_OR_RETURN(const Library library, Library::open(file));
  auto functions = std::make_unique<Functions>();
  NEUROSHARD_RETURN_IF_ERROR(functions->load(library));
  std::unique_ptr<Matmul> made(new Matmul(std::move(functions)));
  if (made->functions_->create(&made->handle_) != CUBLAS_STATUS_SUCCESS) {
    return unavailable("backend cuda: " + file + " does not start");
  }
  NEUROSHARD_RETURN_IF_ERROR(made->workspace_.reserve(kWorkspaceBytes));
  return Result<std::unique_ptr<Matmul>>(std::move(made));
}

Matmul::Choice Matmul::choose(const Product& p, const Descriptions& described) const {
  cublasLtMatmulPreference_t preference = nullptr;
  if (functions_->preference_create(&preference) != CUBLAS_STATUS_SUCCESS) return {};
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    functions_->preference_set(preference, attribute, &value, sizeof value);
  };
  const auto alignment = [](const void* pointer) {
    return std::uint32_t{aligned(pointer) ? 16U : 4U};
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(p.a));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(p.b));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(p.d));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(p.d));
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  const cublasStatus_t status =
      functions_->heuristic(handle_, described.product, described.a, described.b, described.d,
                            described.d, preference, 1, &best, &found);
  functions_->preference_destroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS || found != 1 || best.state != CUBLAS_STATUS_SUCCESS) {
    return {};
  }
  return {true, best.algo};
}

bool Matmul::run(const Product& product, cudaStream_t stream) {
  const bool taken = give(product, stream);
  ProductCount& count = counts_[name_of(product.epilogue)];
  ++(taken ? count.taken : count.refused);
  return taken;
}

bool Matmul::give(const Product& p, cudaStream_t stream) {
  // cuBLASLt takes 16-byte vectors of bias and mask whatever it is told; others go the plain way.
  if (!aligned(p.bias) || !aligned(p.mask)) return false;
  const Descriptions described(*functions_, p);
  if (!described.good()) return false;
  const int alignments = (aligned(p.a) ? 1 : 0) + (aligned(p.b) ? 2 : 0) + (aligned(p.d) ? 4 : 0);
  const Key key{p.m,
                p.n,
                p.k,
                p.transpose_a,
                p.transpose_b,
                static_cast<int>(p.epilogue),
                alignments,
                alignment_of(p.bias),
                alignment_of(p.mask)};
  auto known = choices_.find(key);
  if (known == choices_.end()) {
    if (choices_.size() == kMostChoices) choices_.clear();
    known = choices_.emplace(key, choose(p, described)).first;
  }
  if (!known->second.there) return false;
  const float one = 1;
  const float zero = 0;
  const bool taken =
      functions_->matmul(handle_, described.product, &one, p.a, described.a, p.b, described.b,
                         &zero, p.d, described.d, p.d, described.d, &known->second.algorithm,
                         workspace_.data(), kWorkspaceBytes, stream) == CUBLAS_STATUS_SUCCESS;
  if (!taken) known->second.there = false;
  return taken;
}

}  // namespace neuroshard::cuda
