// Small execution traces of PyTorch, in both forms that its observer has written.
#include "io/traces/pytorch_trace.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "io/file.h"
#include "tests/io/support.h"

namespace neuroshard::io {
namespace {

using test::check_prefixes_refused;
using test::check_refused;

/// Two tables of 8 samples on 2 ranks: 12 columns here, 4 there.
std::string small_trace(const std::string& form) {
  return test::value_of(read_file(std::string(NEUROSHARD_SOURCE_DIR) +
                                  "/tests/fuzz/corpus/pytorch_trace/" + form + ".json"));
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  BOOST_TEST_REQUIRE(at != std::string::npos, from);
  text.replace(at, from.size(), to);
}

Status refusal_of(const std::string& from, const std::string& to) {
  std::string text = small_trace("old");
  replace(text, from, to);
  return parse_pytorch_trace(text, "my.json").status();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pytorch_trace)

BOOST_AUTO_TEST_CASE(both_forms_say_the_same) {
  for (const std::string form : {"old", "new"}) {
    const std::string text = small_trace(form);
    const PytorchRank rank = test::value_of(parse_pytorch_trace(text, form));
    PytorchRank expected;
    expected.batch_size = 8;
    expected.forward = expected.backward = Precision::kFp32;
    expected.step.dims = 12;
    expected.step.lookups = 40;
    expected.step.lookups_sent = {20, 7};
    expected.step.forward_bytes = {192, 192};
    expected.step.backward_bytes = {192, 64};
    BOOST_TEST((rank == expected), form);
  }
}

BOOST_AUTO_TEST_CASE(exchanges_in_half_precision_are_half_the_bytes) {
  std::string text = small_trace("old");
  replace(text, "\"input_types\": [\"Tensor(float)\", \"Int\", \"Int\"",
          "\"input_types\": [\"Tensor(c10::Half)\", \"Int\", \"Int\"");
  const PytorchRank rank = test::value_of(parse_pytorch_trace(text, "my.json"));
  BOOST_TEST((rank.forward == Precision::kFp32));
  BOOST_TEST((rank.backward == Precision::kFp16));
  const std::vector<std::int64_t> bytes{96, 32};
  BOOST_TEST(rank.step.backward_bytes == bytes, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_no_such_trace_is_refused) {
  check_refused(parse_pytorch_trace("{}", "my.json").status(), {"my.json: $", "nodes"});
  check_refused(parse_pytorch_trace("\x1f\x8b", "my.json").status(), {"found gzip"});
  check_refused(refusal_of("fbgemm::split", "other::split"), {"found no node fbgemm::split"});
  check_refused(refusal_of("Tensor indices", "Tensor places"), {"without indices"});
  check_refused(refusal_of("[[8, 12]]", "[[8, 12, 1]]"), {"other shapes"});
  check_refused(refusal_of("[48, 48], [48, 16]", "[48, 48], [48]"), {"to 2 and from 1 ranks"});
  check_refused(refusal_of("[8, 4], [8, 8]", "[8, -4], [8, 8]"), {"nodes[4].inputs[5][1]", "-4"});
  check_refused(refusal_of("\"op_schema\"", "\"schema\""), {"attrs"});
  check_prefixes_refused(
      small_trace("old"), "my.json",
      [](std::string_view bytes) { return parse_pytorch_trace(bytes, "my.json"); }, 1);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::io
