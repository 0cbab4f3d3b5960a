// Plans as Chakra execution traces, read back by a reader of this file's own.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "io/formats/plan_export.h"
#include "io/traces/protobuf_wire.h"
#include "tests/io/support.h"

namespace neuroshard::io {
namespace {

using test::check_refused;

std::uint64_t read_varint(const std::string& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    BOOST_TEST_REQUIRE(at < bytes.size());
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
}

struct Field {
  std::uint64_t number = 0;
  std::string bytes;  // of one that has a length
};
using Fields = std::multimap<std::uint64_t, Field>;

Fields read_message(const std::string& bytes) {
  Fields fields;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t key = read_varint(bytes, at);
    Field field;
    field.number = read_varint(bytes, at);
    if ((key & 7) == 2) {
      field.bytes = bytes.substr(at, field.number);
      BOOST_TEST_REQUIRE(field.bytes.size() == field.number);
      at += field.number;
    } else {
      BOOST_TEST_REQUIRE((key & 7) == 0);
    }
    fields.emplace(key >> 3, field);
  }
  return fields;
}

struct Node {
  std::string name;
  std::uint64_t type = 0;
  std::uint64_t duration_us = 0;
  std::vector<std::uint64_t> after;
  std::map<std::string, std::uint64_t> numbers;
};

/// Of one rank, whose ids count from 0 on.
std::vector<Node> read_trace(const std::string& bytes) {
  std::vector<Node> nodes;
  for (std::size_t at = 0, message = 0; at < bytes.size(); ++message) {
    const std::uint64_t size = read_varint(bytes, at);
    const Fields fields = read_message(bytes.substr(at, size));
    at += size;
    if (message == 0) continue;  // metadata
    const auto number = [&](std::uint64_t field) { return fields.find(field)->second.number; };
    BOOST_TEST(number(1) == nodes.size());
    Node node{fields.find(2)->second.bytes, number(3), number(7), {}, {}};
    const auto after = fields.find(5);
    for (std::size_t k = 0; after != fields.end() && k < after->second.bytes.size();) {
      node.after.push_back(read_varint(after->second.bytes, k));
      BOOST_TEST(node.after.back() < nodes.size());  // so that there is no circle
    }
    const auto [first, last] = fields.equal_range(10);
    for (auto each = first; each != last; ++each) {
      const Fields attribute = read_message(each->second.bytes);
      BOOST_TEST_REQUIRE(attribute.size() == 2U);
      node.numbers[attribute.begin()->second.bytes] = attribute.rbegin()->second.number;
    }
    nodes.push_back(node);
  }
  return nodes;
}

constexpr std::int64_t kBatch = 1024;

Workload two_tables() {
  Workload workload;
  workload.batch_size = kBatch;
  for (const std::int32_t dim : {8, 16}) {
    Table table;
    table.name = "table" + std::to_string(dim);
    table.rows = 100;
    table.dim = dim;
    table.pooling_factor = 4;
    workload.tables.push_back(table);
  }
  return workload;
}

PlanDocument costed(std::vector<Shard> shards, std::int32_t devices) {
  PlanDocument document;
  document.plan = {devices, std::move(shards)};
  document.batch_size = kBatch;
  document.cost.per_device.resize(static_cast<std::size_t>(devices));
  for (DeviceCost& cost : document.cost.per_device) cost.compute_ms = 3;
  document.cost.cost_ms = 3;
  return document;
}

std::vector<std::vector<Node>> traces(const PlanDocument& document,
                                      const PlanExportOptions& options = {}) {
  std::vector<std::pair<std::string, std::string>> files;
  const Status status = export_folder("chakra", two_tables(), document, options,
                                      [&](std::string_view name, std::string_view bytes) {
                                        if (files.empty() || files.back().first != name) {
                                          files.emplace_back(name, "");
                                        }
                                        files.back().second += bytes;
                                        return Status();
                                      });
  BOOST_TEST_REQUIRE(status.ok(), status.message());
  std::vector<std::vector<Node>> ranks;
  for (const auto& [name, bytes] : files) {
    BOOST_TEST(name == "step." + std::to_string(ranks.size()) + ".et");
    ranks.push_back(read_trace(bytes));
  }
  return ranks;
}

constexpr std::uint64_t kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7;

}  // namespace

BOOST_AUTO_TEST_SUITE(plan_trace)

BOOST_AUTO_TEST_CASE(messages_are_encoded_as_the_documentation_has_them) {
  // protobuf.dev/programming-guides/encoding: 150 in field 1, "testing" in field 2, and 3, 270 and
  // 86942 packed in field 6.
  BOOST_TEST(ProtobufMessage().varint(1, 150).str() == "\x08\x96\x01");
  BOOST_TEST(ProtobufMessage().bytes(2, "testing").str() == "\x12\x07testing");
  const std::vector<std::uint64_t> values{3, 270, 86942};
  BOOST_TEST(ProtobufMessage().packed(6, values).str() == "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
  BOOST_TEST(ProtobufMessage().packed(6, {}).str().empty());
  BOOST_TEST(ProtobufMessage().varint(1, 0).framed() == std::string("\x02\x08\x00", 3));
  std::size_t at = 0;
  std::string largest = ProtobufMessage().varint(1, ~std::uint64_t{0}).str().substr(1);
  BOOST_TEST(largest.size() == 10U);
  BOOST_TEST(read_varint(largest, at) == ~std::uint64_t{0});
}

BOOST_AUTO_TEST_CASE(ranks_that_send_unequally_much_do_so_in_pairs) {
  const auto ranks = traces(costed({{0, 0, 100, 0, 8, 0}, {1, 0, 100, 0, 16, 1}}, 3));
  BOOST_TEST_REQUIRE(ranks.size() == 3U);
  using Message = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
  std::set<Message> sent, received;
  std::map<std::uint64_t, double> bytes;  // by tag
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    for (const Node& node : ranks[rank]) {
      if (node.type == kCompute) continue;
      const Message message{node.numbers.at("comm_src"), node.numbers.at("comm_dst"),
                            node.numbers.at("comm_tag"), node.numbers.at("comm_size")};
      BOOST_TEST((node.type == kSend || node.type == kReceive));
      BOOST_TEST((node.type == kSend ? std::get<0>(message) : std::get<1>(message)) == rank);
      BOOST_TEST((node.type == kSend ? sent : received).insert(message).second);
      BOOST_TEST(std::get<3>(message) > 0U);
      if (node.type == kSend)
        bytes[std::get<2>(message)] += static_cast<double>(std::get<3>(message));
    }
  }
  BOOST_TEST((sent == received));
  // Each table's outputs for the samples of two others, and back.
  const double third = std::ceil(kBatch / 3.0 * 8 * 4) + std::ceil(kBatch / 3.0 * 16 * 4);
  BOOST_TEST(bytes.at(0) == 2 * third);
  BOOST_TEST(bytes.at(1) == 2 * third);
}

BOOST_AUTO_TEST_CASE(steps_follow_one_another_and_take_what_costs_say) {
  PlanExportOptions options;
  options.dense_ms = 0.5;
  options.trace_steps = 2;
  // Columns of both tables on each device: all send the same.
  PlanDocument document = costed(
      {{0, 0, 100, 0, 4, 0}, {0, 0, 100, 4, 8, 1}, {1, 0, 100, 0, 8, 1}, {1, 0, 100, 8, 16, 0}}, 2);
  document.exchange = {Precision::kFp16, Precision::kFp32};
  for (const std::vector<Node>& nodes : traces(document, options)) {
    BOOST_TEST_REQUIRE(nodes.size() == 10U);
    const std::vector<std::string> names{"embedding_lookup_forward", "embedding_exchange_forward",
                                         "dense", "embedding_exchange_backward",
                                         "embedding_lookup_backward"};
    const std::vector<std::uint64_t> durations{1000, 0, 500, 0, 2000};
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      BOOST_TEST(nodes[k].name == names[k % 5]);
      BOOST_TEST(nodes[k].duration_us == durations[k % 5]);
      BOOST_TEST(nodes[k].after.size() == (k == 0 ? 0U : 1U));
      if (k > 0) BOOST_TEST(nodes[k].after.front() == k - 1);
      BOOST_TEST(nodes[k].numbers.at("is_cpu_op") == 0U);
    }
    BOOST_TEST(nodes[1].type == kCollective);
    BOOST_TEST(nodes[1].numbers.at("comm_type") == 6U);  // all-to-all, of the whole buffer
    BOOST_TEST(nodes[1].numbers.at("comm_size") == kBatch * 12 * 2U);
    BOOST_TEST(nodes[3].numbers.at("comm_size") == kBatch * 12 * 4U);
    BOOST_TEST(nodes[0].numbers.at("tensor_size") == kBatch * 4 * 12 * 4U);
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_what_every_device_holds_are_reduced) {
  const auto ranks = traces(
      costed({{0, 0, 100, 0, 8, kEveryDevice}, {1, 0, 50, 0, 16, 0}, {1, 50, 100, 0, 16, 1}}, 2));
  for (const std::vector<Node>& nodes : ranks) {
    BOOST_TEST_REQUIRE(nodes.size() == 6U);
    BOOST_TEST(nodes.back().name == "replica_gradients");
    BOOST_TEST(nodes.back().numbers.at("comm_type") == 0U);
    BOOST_TEST(nodes.back().numbers.at("comm_size") == 100U * 8 * 4);
    // Partial sums of all samples.
    BOOST_TEST(nodes[1].numbers.at("comm_size") == kBatch * 16 * 4U);
  }
}

BOOST_AUTO_TEST_CASE(one_device_exchanges_nothing) {
  const auto ranks = traces(costed({{0, 0, 100, 0, 8, 0}, {1, 0, 100, 0, 16, 0}}, 1));
  BOOST_TEST_REQUIRE(ranks.size() == 1U);
  for (const Node& node : ranks.front()) BOOST_TEST(node.type == kCompute);
}

BOOST_AUTO_TEST_CASE(files_of_many_steps_are_given_part_by_part) {
  const PlanDocument document = costed({{0, 0, 100, 0, 8, 0}, {1, 0, 100, 0, 16, 1}}, 2);
  PlanExportOptions many;
  many.trace_steps = 4000;
  std::size_t most = 0;
  std::size_t all = 0;
  const Status status = export_folder("chakra", two_tables(), document, many,
                                      [&](std::string_view, std::string_view bytes) {
                                        most = std::max(most, bytes.size());
                                        all += bytes.size();
                                        return Status();
                                      });
  BOOST_TEST(status.ok());
  BOOST_TEST(most < std::size_t{2} << 20);
  BOOST_TEST(all > 2 * most);
}

BOOST_AUTO_TEST_CASE(what_a_trace_cannot_say_is_refused) {
  const PlanDocument uneven = costed({{0, 0, 100, 0, 8, 0}, {1, 0, 100, 0, 16, 1}}, 2);
  const auto refusal = [](const PlanDocument& document, const PlanExportOptions& options) {
    return export_folder("chakra", two_tables(), document, options,
                         [](std::string_view, std::string_view) { return Status(); });
  };
  PlanExportOptions collective;
  collective.exchange_nodes = "collective";
  check_refused(refusal(uneven, collective), {"unequally much", "expected pairs"});
  PlanDocument without_costs = uneven;
  without_costs.cost = {};
  check_refused(refusal(without_costs, {}), {"no costs"});
  check_refused(export_plan("chakra", two_tables(), uneven, {}).status(), {"found 'chakra'"});
  // What takes the files may end it.
  const Status full =
      export_folder("chakra", two_tables(), uneven, {},
                    [](std::string_view, std::string_view) { return io_error("disk full"); });
  BOOST_TEST(full.message() == "disk full");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::io
