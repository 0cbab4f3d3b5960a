// Chakra traces read back, ours and what others and nobody would write.
#include "io/traces/chakra.h"

#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "io/traces/protobuf_wire.h"
#include "tests/io/support.h"

namespace neuroshard::io {
namespace {

using test::check_prefixes_refused;
using test::check_refused;

struct ReadTrace {
  ChakraMetadata metadata;
  std::vector<ChakraNode> nodes;
};

Result<ReadTrace> read_chakra_nodes(std::string_view bytes) {
  ReadTrace read;
  NEUROSHARD_ASSIGN_OR_RETURN(read.metadata,
                              read_chakra(bytes, "my.et", [&](const ChakraNode& node) {
                                read.nodes.push_back(node);
                                return Status();
                              }));
  return read;
}

std::vector<ChakraNode> one_of_each() {
  using Type = ChakraNode::Type;
  return {{.id = 0, .name = "look up", .type = Type::kCompute, .duration_us = 7, .operations = 9},
          {.id = 1,
           .name = "exchange",
           .type = Type::kCollective,
           .after = {0},
           .bytes = std::uint64_t{1} << 40,
           .collective = ChakraNode::Collective::kAllToAll},
          {.id = 2, .name = "s", .type = Type::kSend, .bytes = 1, .from = 0, .to = 3, .tag = 5},
          {.id = 300,
           .name = "r",
           .type = Type::kReceive,
           .after = {1, 2},
           .bytes = 8,
           .from = 3,
           .to = 0}};
}

std::string written() {
  ChakraTrace trace({{"batch_size", "128"}, {"empty", ""}});
  for (const ChakraNode& node : one_of_each()) trace.add(node);
  return trace.take();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chakra)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back) {
  const ReadTrace read = test::value_of(read_chakra_nodes(written()));
  const ChakraMetadata metadata{{"batch_size", "128"}, {"empty", ""}};
  BOOST_TEST((read.metadata == metadata));
  BOOST_TEST((read.nodes == one_of_each()));
}

BOOST_AUTO_TEST_CASE(what_there_is_no_place_for_is_skipped) {
  // Field 6 (when it starts), inputs, a double among the attributes, a dependency that is not
  // packed, and one of control.
  const std::string real =
      ProtobufMessage().bytes(1, "x").str() + std::string("\x19", 1) + "12345678";
  const std::string node = ProtobufMessage().varint(1, 4).varint(6, 99).bytes(8, "in").str() +
                           ProtobufMessage().varint(5, 2).varint(4, 3).bytes(10, real).str() +
                           std::string("\x7d", 1) + "four";
  const std::string bytes = ProtobufMessage().framed() + ProtobufMessage().bytes(1, "1").framed() +
                            std::string(1, static_cast<char>(node.size())) + node;
  const ReadTrace read = test::value_of(read_chakra_nodes(bytes));
  BOOST_TEST_REQUIRE(read.nodes.size() == 2U);
  BOOST_TEST(read.nodes[1].id == 4U);
  const std::vector<std::uint64_t> after{2, 3};
  BOOST_TEST(read.nodes[1].after == after, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_no_trace_is_refused) {
  check_refused(read_chakra_nodes("").status(), {"my.et: byte 0: found the end"});
  check_refused(read_chakra_nodes("\x1f\x8b\x08").status(), {"my.et: found gzip", "gunzip"});
  check_refused(read_chakra_nodes("{\"nodes\": []}").status(), {"byte 1: found 12 bytes", "123"});
  check_refused(read_chakra_nodes(std::string(11, '\xff')).status(), {"more than 64 bits"});
  check_refused(read_chakra_nodes(std::string("\x02\x0b\x01", 3)).status(),
                {"byte 1", "wire type 3"});
  check_refused(read_chakra_nodes(std::string("\x02\x00\x01", 3)).status(), {"byte 1", "field 0"});
  const std::string other = std::string(1, '\0') + ProtobufMessage().varint(3, 8).framed();
  check_refused(read_chakra_nodes(other).status(), {"found a node of type 8, expected 0 to 7"});
  std::string many =
      std::string(1, '\0') + ProtobufMessage().bytes(5, std::string((1U << 20) + 1, '\1')).framed();
  check_refused(read_chakra_nodes(many).status(), {"found more than 1048576 dependencies"});
}

BOOST_AUTO_TEST_CASE(what_no_trace_begins_with_is_refused_after_a_block) {
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_SELF, &before);
  check_refused(read_file("/dev/zero", check_chakra_start).status(),
                {"/dev/zero: byte 0: found a first message of 0 bytes, expected the metadata"});
  ::getrusage(RUSAGE_SELF, &after);
  BOOST_TEST(after.ru_maxrss - before.ru_maxrss < 64 * 1024);
  const std::string trace = written();
  for (std::size_t size = 1; size <= trace.size(); ++size) {
    BOOST_TEST(check_chakra_start(std::string_view(trace).substr(0, size), "f").ok(), size);
  }
  check_refused(check_chakra_start("\x1f\x8b", "f"), {"f: found gzip"});
  check_refused(
      check_chakra_start("{\"format\": \"neuroshard-plan\", \"version\": 1, \"devices\": 2, "
                         "\"batch_size\": 65536, \"cost_model\": \"h200_sim\", \"algorithm\": "
                         "\"refine\"}",
                         "f"),
      {"f: byte "});
}

BOOST_AUTO_TEST_CASE(a_file_that_ends_within_a_node_is_refused) {
  ChakraTrace trace(ChakraMetadata{{"batch_size", "128"}});
  check_prefixes_refused(trace.take(), "my.et", read_chakra_nodes);
  trace.add(one_of_each()[1]);
  // With an empty message in front, of which alone there may be a file.
  const std::string node = trace.take();
  for (std::size_t size = 1; size < node.size(); ++size) {
    check_refused(read_chakra_nodes(std::string(1, '\0') + node.substr(0, size)).status(),
                  {"my.et: byte"});
  }
}

BOOST_AUTO_TEST_CASE(an_error_of_the_sink_ends_it) {
  int taken = 0;
  const auto read = read_chakra(written(), "my.et", [&](const ChakraNode&) {
    return ++taken == 2 ? invalid_input("enough") : Status();
  });
  check_refused(read.status(), {"my.et: enough"});
  BOOST_TEST(taken == 2);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::io
