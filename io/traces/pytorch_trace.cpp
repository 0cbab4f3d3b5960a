#include "io/traces/pytorch_trace.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "io/file.h"
#include "io/json/json.h"
#include "io/traces/exchange_halves.h"

namespace neuroshard::io {
namespace {

constexpr std::size_t kMost = 65536;  // ranks of an exchange, fused lookups: sums stay below 2^63

/// A node's inputs or outputs, in either of the schemas' forms.
struct Arguments {
  std::vector<JsonValue> values;
  std::vector<JsonValue> shapes;
  std::vector<std::string_view> types;
};

Status add_values(const JsonValue& from, std::vector<JsonValue>& to) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, from.array());
  for (const JsonValue value : array) to.push_back(value);
  return {};
}

/// `name`: "input" or "output".
Result<Arguments> arguments_of(JsonObject& node, const std::string& name) {
  Arguments all;
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue values, node.at(name + "s"));
  std::vector<JsonValue> types;
  if (values.is_object()) {
    NEUROSHARD_ASSIGN_OR_RETURN(JsonObject inside, values.object());
    const std::vector<std::pair<const char*, std::vector<JsonValue>*>> lists{
        {"values", &all.values}, {"shapes", &all.shapes}, {"types", &types}};
    for (const auto& [key, list] : lists) {
      NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue array, inside.at(key));
      NEUROSHARD_RETURN_IF_ERROR(add_values(array, *list));
    }
  } else {
    NEUROSHARD_RETURN_IF_ERROR(add_values(values, all.values));
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue shapes, node.at(name + "_shapes"));
    NEUROSHARD_RETURN_IF_ERROR(add_values(shapes, all.shapes));
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue names, node.at(name + "_types"));
    NEUROSHARD_RETURN_IF_ERROR(add_values(names, types));
  }
  for (const JsonValue& type : types) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view text, type.text());
    all.types.push_back(text);
  }
  return all;
}

Result<std::vector<std::int64_t>> integers_of(const JsonValue& value) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray array, value.array());
  std::vector<std::int64_t> all;
  for (const JsonValue each : array) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t number, each.integer(0, kMostTraceValues));
    all.push_back(number);
  }
  return all;
}

/// The operator's schema: a key of the node, or one of its attributes.
Result<std::string_view> schema_of(JsonObject& node) {
  if (const auto schema = node.find("op_schema")) return schema->text();
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray attributes, node.array("attrs"));
  for (const JsonValue each : attributes) {
    NEUROSHARD_ASSIGN_OR_RETURN(JsonObject attribute, each.object());
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string name, attribute.text("name"));
    if (name != "op_schema") continue;
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, attribute.at("value"));
    return value.text();
  }
  return node.value().error("found no operator schema, expected one of a lookup");
}

/// Where the first argument of the rest of a schema ends; types have parentheses, "Tensor(a!)".
std::size_t argument_end(std::string_view rest) {
  int open = 0;
  for (std::size_t at = 0; at < rest.size(); ++at) {
    if (open == 0 && (rest[at] == ',' || rest[at] == ')')) return at;
    open += rest[at] == '(' ? 1 : rest[at] == ')' ? -1 : 0;
  }
  return rest.size();
}

/// Which of the operator's arguments has that name.
std::optional<std::size_t> argument_place(std::string_view schema, std::string_view name) {
  std::size_t place = 0;
  std::string_view rest = schema.substr(std::min(schema.find('('), schema.size()));
  while (!rest.empty() && rest.front() != ')') {
    rest.remove_prefix(1);
    const std::string_view argument = rest.substr(0, argument_end(rest));
    const std::string_view declared = argument.substr(0, argument.find('='));
    const std::size_t blank = declared.find_last_of(' ');
    if (blank != std::string_view::npos && declared.substr(blank + 1) == name) return place;
    rest.remove_prefix(argument.size());
    ++place;
  }
  return std::nullopt;
}

std::optional<Precision> precision_of(std::string_view type) {
  if (type == "Tensor(float)") return Precision::kFp32;
  if (type == "Tensor(c10::Half)") return Precision::kFp16;
  if (type == "Tensor(c10::BFloat16)") return Precision::kBf16;
  return std::nullopt;
}

/// An all_to_allv: values of a type that go to each rank and come from each.
struct Exchange {
  std::int64_t id = 0;
  std::string_view type;
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> received;

  [[nodiscard]] std::int64_t received_sum() const {
    std::int64_t sum = 0;
    for (const std::int64_t values : received) sum += values;  // at most 2^40 each
    return sum;
  }
};

struct Found {
  std::int64_t batch = 0;
  std::int64_t dims = 0;
  std::int64_t lookups = 0;
  std::vector<std::int64_t> bags;  ///< of each fused lookup
  std::vector<Exchange> exchanges;
  std::vector<Exchange> all_to_alls;  ///< as c10d has them, where gloo notes no collectives
};

Status add_lookup(JsonObject& node, Found& found) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view schema, schema_of(node));
  NEUROSHARD_ASSIGN_OR_RETURN(const Arguments inputs, arguments_of(node, "input"));
  NEUROSHARD_ASSIGN_OR_RETURN(const Arguments outputs, arguments_of(node, "output"));
  const auto indices = argument_place(schema, "indices");
  const auto offsets = argument_place(schema, "offsets");
  if (!indices || !offsets || std::max(*indices, *offsets) >= inputs.shapes.size() ||
      outputs.shapes.empty()) {
    return node.value().error("found a fused lookup without indices, offsets or outputs");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const auto rows, integers_of(inputs.shapes[*indices]));
  NEUROSHARD_ASSIGN_OR_RETURN(const auto bags, integers_of(inputs.shapes[*offsets]));
  NEUROSHARD_ASSIGN_OR_RETURN(const auto output, integers_of(outputs.shapes[0]));
  if (rows.size() != 1 || bags.size() != 1 || output.size() != 2 || output[0] < 1 || bags[0] < 1) {
    return node.value().error("found a fused lookup of other shapes, expected pooled lookups");
  }
  if (found.batch != 0 && found.batch != output[0]) {
    return node.value().error("found a batch of " + std::to_string(output[0]) + ", expected " +
                              std::to_string(found.batch) + " as before");
  }
  if (found.bags.size() == kMost) {
    return node.value().error("found more than " + std::to_string(kMost) + " fused lookups");
  }
  found.batch = output[0];
  found.dims += output[1];
  found.lookups += rows[0];
  found.bags.push_back(bags[0] - 1);
  return {};
}

bool is_all_to_allv(const JsonValue& value) {
  return value.is_string() && *value.text() == "all_to_allv";
}

/// The exchange of a node's inputs that say what goes to each rank and what comes from each.
Status add_exchange_of(JsonObject& node, std::string_view type, const JsonValue& sent,
                       const JsonValue& received, std::vector<Exchange>& exchanges) {
  Exchange exchange;
  NEUROSHARD_ASSIGN_OR_RETURN(exchange.id, node.integer("id", 0));
  exchange.type = type;
  NEUROSHARD_ASSIGN_OR_RETURN(exchange.sent, integers_of(sent));
  NEUROSHARD_ASSIGN_OR_RETURN(exchange.received, integers_of(received));
  if (exchange.sent.size() != exchange.received.size() || exchange.sent.size() > kMost) {
    return node.value().error("found all_to_allv to " + std::to_string(exchange.sent.size()) +
                              " and from " + std::to_string(exchange.received.size()) +
                              " ranks, expected as many, at most " + std::to_string(kMost));
  }
  if (!exchange.sent.empty()) exchanges.push_back(std::move(exchange));
  return {};
}

Status add_collective(JsonObject& node, Found& found) {
  NEUROSHARD_ASSIGN_OR_RETURN(const Arguments inputs, arguments_of(node, "input"));
  const auto word = std::find_if(inputs.values.begin(), inputs.values.end(), is_all_to_allv);
  if (inputs.values.end() - word < 3 || inputs.types.empty()) return {};  // another collective
  return add_exchange_of(node, inputs.types.front(), *(word + 1), *(word + 2), found.exchanges);
}

/// c10d::alltoall_base_(output, input, group, output splits, input splits, ..).
Status add_all_to_all(JsonObject& node, Found& found) {
  NEUROSHARD_ASSIGN_OR_RETURN(const Arguments inputs, arguments_of(node, "input"));
  if (inputs.values.size() < 5 || inputs.types.size() < 2) return {};
  return add_exchange_of(node, inputs.types[1], inputs.values[4], inputs.values[3],
                         found.all_to_alls);
}

Result<Found> search_nodes(const JsonDocument& document) {
  Found found;
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, document.root().object());
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray nodes, root.array("nodes"));
  for (const JsonValue each : nodes) {
    NEUROSHARD_ASSIGN_OR_RETURN(JsonObject node, each.object());
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string name, node.text("name"));
    if (name.starts_with(kFusedLookup)) NEUROSHARD_RETURN_IF_ERROR(add_lookup(node, found));
    if (name == "record_param_comms") NEUROSHARD_RETURN_IF_ERROR(add_collective(node, found));
    if (name == "c10d::alltoall_base_") NEUROSHARD_RETURN_IF_ERROR(add_all_to_all(node, found));
  }
  if (found.bags.empty()) {
    return document.root().error("found no node " + std::string(kFusedLookup) +
                                 "*, expected FBGEMM's fused lookups");
  }
  if (found.exchanges.empty()) found.exchanges = std::move(found.all_to_alls);
  std::sort(found.exchanges.begin(), found.exchanges.end(),
            [](const Exchange& a, const Exchange& b) { return a.id < b.id; });
  return found;
}

/// Lengths of bags are as many as those.
void assign_exchanges(const Found& found, PytorchRank& rank) {
  std::int64_t bags = 0;
  for (const std::int64_t count : found.bags) bags += count;
  std::vector<TracedExchange> floats;
  for (const Exchange& exchange : found.exchanges) {
    if (const auto precision = precision_of(exchange.type)) {
      floats.push_back({*precision, exchange.sent, exchange.received});
    } else if (exchange.received_sum() != bags) {
      rank.step.lookups_sent = exchange.sent;
    }
  }
  std::optional<ExchangeHalves> halves = exchange_halves(floats);
  if (!halves) return;
  rank.forward = halves->forward.precision;
  rank.backward = halves->backward.precision;
  rank.step.forward_bytes = std::move(halves->forward.bytes);
  rank.step.backward_bytes = std::move(halves->backward.bytes);
}

}  // namespace

Result<PytorchRank> parse_pytorch_trace(std::string_view bytes, const std::string& source) {
  NEUROSHARD_RETURN_IF_ERROR(check_unpacked(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(const Found found, search_nodes(document));
  PytorchRank rank;
  rank.batch_size = found.batch;
  rank.step.dims = found.dims;
  rank.step.lookups = found.lookups;
  assign_exchanges(found, rank);
  return rank;
}

Result<StepTrace> read_pytorch_steps(const std::string& folder) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                              files_of_ranks(folder, ".json"));
  StepTrace trace;
  trace.source = "pytorch";
  for (const std::string& path : files) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, read_text_file(path));
    NEUROSHARD_ASSIGN_OR_RETURN(const PytorchRank rank, parse_pytorch_trace(bytes, path));
    const bool is_first = trace.ranks.empty();
    if (is_first) trace.batch_size = rank.batch_size;
    if (is_first && rank.forward && rank.backward) {
      trace.exchange = ExchangeFormat{*rank.forward, *rank.backward};
    }
    if (trace.batch_size != rank.batch_size) {
      return invalid_input(path +
                           ": found another batch than of rank 0, expected traces of one run");
    }
    for (const auto* list :
         {&rank.step.forward_bytes, &rank.step.backward_bytes, &rank.step.lookups_sent}) {
      if (list->empty() || list->size() == files.size()) continue;
      return invalid_input(path + ": found exchanges of " + std::to_string(list->size()) +
                           " ranks, expected " + std::to_string(files.size()) +
                           ", of which there are files");
    }
    trace.ranks.push_back(rank.step);
  }
  return trace;
}

}  // namespace neuroshard::io
