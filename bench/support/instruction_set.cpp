#include "bench/support/instruction_set.h"

#include <cstdlib>
#include <string>

#include "nn/isa.h"

namespace neuroshard::bench {

void use_one_instruction_set() {
  for (const nn::IsaInfo& info : nn::isa_list()) {
    if (info.isa == nn::Isa::kAvx2 && info.supported()) {
      setenv("NEUROSHARD_BACKEND", std::string(info.name).c_str(), 0);
    }
  }
}

}  // namespace neuroshard::bench
