#include "nn/isa.h"

#include <array>
#include <cstdlib>
#include <string>

namespace neuroshard::nn {
namespace {

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

bool has_avx512() {
#if defined(__x86_64__)
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#else
  return false;
#endif
}

bool has_neon() {
#if defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

constexpr std::array kIsaList{
    IsaInfo{Isa::kAvx512, "avx512", has_avx512},
    IsaInfo{Isa::kAvx2, "avx2", has_avx2},
    IsaInfo{Isa::kNeon, "neon", has_neon},
    IsaInfo{Isa::kScalar, "scalar", [] { return true; }},
};

}  // namespace

std::span<const IsaInfo> isa_list() { return kIsaList; }

Result<Isa> select_isa() {
  const char* forced = std::getenv("NEUROSHARD_BACKEND");
  std::string known;
  for (const IsaInfo& info : kIsaList) {
    if (forced == nullptr || *forced == '\0') {
      if (info.supported()) return info.isa;
      continue;
    }
    if (info.name == forced) {
      if (info.supported()) return info.isa;
      return invalid_input("NEUROSHARD_BACKEND=" + std::string(forced) +
                           ": this processor does not have it");
    }
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  return invalid_input("NEUROSHARD_BACKEND=" + std::string(forced) + ": unknown, expected one of " +
                       known);
}

std::string_view to_string(Isa isa) {
  for (const IsaInfo& info : kIsaList) {
    if (info.isa == isa) return info.name;
  }
  return "unknown";
}

}  // namespace neuroshard::nn
