#include "io/benchmark/pytorch_steps.h"

#include <numeric>
#include <string_view>
#include <vector>

#include "engine/core/exchange_format.h"
#include "io/json/json_writer.h"

namespace neuroshard::io {
namespace {

using Layout = JsonWriter::Layout;
using Integers = std::vector<std::int64_t>;

constexpr std::string_view kLookup = "fbgemm::split_embedding_codegen_lookup_sgd_function";
constexpr std::string_view kLookupSchema =
    "fbgemm::split_embedding_codegen_lookup_sgd_function(Tensor dev_weights, SymInt total_D, "
    "Tensor indices, Tensor offsets) -> Tensor";

/// In the words of traces.
struct ValueType {
  std::string_view tensor;
  std::string_view name;
  std::int64_t bytes;
};

ValueType value_type(Precision precision) {
  if (precision == Precision::kFp16) return {"Tensor(c10::Half)", "Half", 2};
  if (precision == Precision::kBf16) return {"Tensor(c10::BFloat16)", "BFloat16", 2};
  return {"Tensor(float)", "Float", 4};
}

constexpr ValueType kLong{"Tensor(long int)", "Long", 8};
constexpr std::string_view kInt = "Int";

std::int64_t sum_of(const Integers& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

std::string list_of(const Integers& values) {
  std::string text;
  for (const std::int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

/// Nodes, one after the other, all below the one of the thread.
class StepWriter {
 public:
  StepWriter(std::int32_t rank, std::int32_t ranks) : rank_(rank), ranks_(ranks) {
    json_.begin_object().key("schema").text("1.1.1-chakra.0.0.4").key("pid").integer(rank + 1);
    json_.key("nodes").begin_array();
    label("[pytorch|profiler|execution_trace|process]", {});
    label("[pytorch|profiler|execution_trace|thread]", {});
    label(
        "## process_group:init ##",
        R"([{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "ranks": [], )"
        R"("group_size": )" +
            std::to_string(ranks) + R"(, "group_count": 1}])");
  }

  void lookup(std::int64_t weights, std::int64_t bags, std::int64_t lookups, std::int64_t batch,
              std::int64_t columns) {
    begin(kLookup);
    const ValueType values = value_type(Precision::kFp32);
    begin_list("inputs");
    tensor(values, weights);
    json_.integer(columns);
    tensor(kLong, lookups);
    tensor(kLong, bags + 1);
    describe({{weights}, {}, {lookups}, {bags + 1}},
             {values.tensor, kInt, kLong.tensor, kLong.tensor});
    begin_list("outputs");
    tensor(values, batch * columns);
    describe({{batch, columns}}, {values.tensor});
    attributes(kLookupSchema);
    json_.end_array().end_object();
  }

  /// Values of a collective, to each rank and from each where there are splits.
  void collective(std::string_view name, Precision precision, const Integers& sent,
                  const Integers& received, bool splits) {
    const ValueType type = value_type(precision);
    const std::string to = splits ? list_of(sent) : "[]";
    const std::string from = splits ? list_of(received) : "[]";
    begin("record_param_comms");
    begin_list("inputs");
    tensor(type, sum_of(sent));
    json_.integer(++collectives_).begin_array().text("0").text("default_pg").end_array();
    json_.integer(rank_).text(name);
    for (const Integers* const each : {&sent, &received}) integers(splits ? *each : Integers{});
    json_.integer(0).integer(1).integer(ranks_);
    const std::string list =
        splits ? "GenericList[" + joined_ints(sent.size()) + "]" : std::string("GenericList[]");
    describe(
        {{sum_of(sent)}, {}, {}, {}, {}, {}, {}, {}, {}, {}},
        {type.tensor, kInt, "Tuple[String,String]", kInt, "String", list, list, kInt, kInt, kInt});
    begin_list("outputs");
    tensor(type, sum_of(received));
    describe({{sum_of(received)}}, {type.tensor});
    attributes("");
    attribute("collective_name", name).attribute("dtype", type.name);
    attribute("in_msg_nelems", sum_of(sent)).attribute("out_msg_nelems", sum_of(received));
    attribute("in_split_size", to).attribute("out_split_size", from);
    attribute("global_rank_start", 0).attribute("global_rank_stride", 1);
    attribute("pg_name", std::string_view("0"))
        .attribute("pg_desc", std::string_view("default_pg"));
    attribute("pg_size", ranks_);
    json_.end_array().end_object();
  }

  std::string take() {
    json_.end_array().end_object();
    return json_.take();
  }

 private:
  static std::string joined_ints(std::size_t count) {
    std::string text;
    for (std::size_t k = 0; k < count; ++k) text += k == 0 ? "Int" : ",Int";
    return text;
  }

  void begin(std::string_view name) {
    const std::int64_t id = ++nodes_;
    json_.begin_object(Layout::kLine).key("id").integer(id).key("name").text(name);
    json_.key("ctrl_deps").integer(id < 3 ? 1 : 2);
  }

  void label(std::string_view name, std::string_view text) {
    begin(name);
    begin_list("inputs");
    const std::size_t texts = text.empty() ? 0 : 1;
    if (texts > 0) json_.text(text);
    describe(std::vector<Integers>(texts), std::vector<std::string_view>(texts, "String"));
    begin_list("outputs");
    describe({}, {});
    attributes("");
    json_.end_array().end_object();
  }

  void begin_list(std::string_view name) {
    json_.key(name).begin_object().key("values").begin_array();
  }

  /// Ends the values of a list, and says of what shapes and types they are.
  void describe(const std::vector<Integers>& shapes, const std::vector<std::string_view>& types) {
    json_.end_array().key("shapes").begin_array();
    for (const Integers& shape : shapes) integers(shape);
    json_.end_array().key("types").begin_array();
    for (const std::string_view type : types) json_.text(type);
    json_.end_array().key("strides").begin_array();
    for (const Integers& shape : shapes) {
      integers(shape.empty()       ? Integers{}
               : shape.size() == 1 ? Integers{1}
                                   : Integers{shape[1], 1});
    }
    json_.end_array().end_object();
  }

  void integers(const Integers& values) {
    json_.begin_array();
    for (const std::int64_t value : values) json_.integer(value);
    json_.end_array();
  }

  /// Ids of tensor and storage, offset, values, bytes of one, device.
  void tensor(const ValueType& type, std::int64_t values) {
    ++tensors_;
    json_.begin_array().integer(tensors_).integer(tensors_).integer(0).integer(values);
    json_.integer(type.bytes).text("cuda:" + std::to_string(rank_)).end_array();
  }

  StepWriter& attribute(std::string_view name, std::string_view text) {
    json_.begin_object().key("name").text(name).key("type").text("string").key("value").text(text);
    json_.end_object();
    return *this;
  }
  StepWriter& attribute(std::string_view name, std::int64_t value) {
    json_.begin_object().key("name").text(name).key("type").text(value < 0 ? "int64" : "uint64");
    json_.key("value").integer(value).end_object();
    return *this;
  }

  /// Those of all nodes; others may follow.
  void attributes(std::string_view schema) {
    json_.key("attrs").begin_array();
    attribute("rf_id", nodes_).attribute("fw_parent", 0).attribute("seq_id", -1);
    attribute("scope", 7).attribute("tid", 1).attribute("fw_tid", 0).attribute("op_schema", schema);
  }

  const std::int32_t rank_;
  const std::int32_t ranks_;
  JsonWriter json_;
  std::int64_t nodes_ = 0;
  std::int64_t tensors_ = 100;  // beyond the ids of nodes
  std::int64_t collectives_ = 0;
};

}  // namespace

std::int64_t first_sample(const PlanDocument& document, std::int32_t rank) {
  return document.batch_size * rank / document.plan.devices;
}

std::string format_pytorch_step(const PlanDocument& document, std::span<const std::int64_t> lookups,
                                std::int32_t rank) {
  const std::int32_t ranks = document.plan.devices;
  Integers columns(static_cast<std::size_t>(ranks));
  std::int64_t weights = 0;
  std::int64_t shards = 0;
  std::int64_t looked_up = 0;
  std::int64_t replicated = 0;
  for (std::size_t k = 0; k < document.plan.shards.size(); ++k) {
    const Shard& shard = document.plan.shards[k];
    if (shard.device == kEveryDevice) {
      replicated += shard.rows() * shard.dim();
      continue;
    }
    columns[static_cast<std::size_t>(shard.device)] += shard.dim();
    if (shard.device != rank) continue;
    weights += shard.rows() * shard.dim();
    looked_up += lookups[k];
    ++shards;
  }
  Integers embeddings;
  Integers arriving;
  const std::int64_t own = columns[static_cast<std::size_t>(rank)];
  const auto samples = [&](std::int32_t of) {
    return first_sample(document, of + 1) - first_sample(document, of);
  };
  for (std::int32_t peer = 0; peer < ranks; ++peer) {
    embeddings.push_back(samples(peer) * own);
    arriving.push_back(samples(rank) * columns[static_cast<std::size_t>(peer)]);
  }
  StepWriter step(rank, ranks);
  step.lookup(weights, shards * document.batch_size, looked_up, document.batch_size, own);
  if (sum_of(columns) > 0) {
    step.collective("all_to_allv", document.exchange.forward, embeddings, arriving, true);
    step.collective("all_to_allv", document.exchange.backward, arriving, embeddings, true);
  }
  if (replicated > 0) {
    step.collective("allreduce", Precision::kFp32, {replicated}, {replicated}, false);
  }
  return step.take();
}

}  // namespace neuroshard::io
