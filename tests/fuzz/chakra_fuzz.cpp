#include <vector>

#include "io/traces/chakra.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

namespace {

struct Trace {
  io::ChakraMetadata metadata;
  std::vector<io::ChakraNode> nodes;
  friend bool operator==(const Trace&, const Trace&) = default;
};

Result<Trace> read_trace(std::string_view bytes) {
  Trace trace;
  NEUROSHARD_ASSIGN_OR_RETURN(trace.metadata,
                              io::read_chakra(bytes, "input", [&](const io::ChakraNode& node) {
                                trace.nodes.push_back(node);
                                return Status();
                              }));
  return trace;
}

std::string written(const Trace& trace) {
  io::ChakraTrace writer(trace.metadata);
  for (const io::ChakraNode& node : trace.nodes) writer.add(node);
  return writer.take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<Trace> trace = read_trace(bytes);
  if (fuzz::accepted(trace) == nullptr) return 0;
  // Not every field is one of every type that we write: what is written of it stays what it is.
  const Trace once = fuzz::reread(read_trace(written(*trace)));
  fuzz::require(fuzz::reread(read_trace(written(once))) == once, "a trace survives writing");
  return 0;
}
