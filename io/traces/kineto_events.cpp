#include "io/traces/kineto_events.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/traces/step_trace.h"

namespace neuroshard::io {
namespace {

// Since the trace's base time or, in those of older PyTorch, since 1970: 285 years, up to which
// doubles have whole microseconds.
constexpr double kMostUs = 9e15;
constexpr std::size_t kMostSplits = 65536;

/// An entry's time. Traces of old have no duration of what was not over.
Result<std::optional<TimeRange>> time_of(JsonObject& event) {
  const auto start = event.find("ts");
  const auto length = event.find("dur");
  if (!start || !length) return std::optional<TimeRange>();
  TimeRange time;
  NEUROSHARD_ASSIGN_OR_RETURN(time.start, start->number(-kMostUs, kMostUs));
  NEUROSHARD_ASSIGN_OR_RETURN(time.us, length->number(0, kMostUs));
  return std::optional(time);
}

/// An integer of an object; nothing where there is none.
std::optional<std::int64_t> integer_in(std::optional<JsonObject>& object, std::string_view key) {
  const auto value = object ? object->find(key) : std::nullopt;
  if (!value) return std::nullopt;
  const auto number = value->integer(0);
  return number.ok() ? std::optional(*number) : std::nullopt;
}

std::optional<std::string_view> text_in(std::optional<JsonObject>& object, std::string_view key) {
  const auto value = object ? object->find(key) : std::nullopt;
  if (!value || !value->is_string()) return std::nullopt;
  return *value->text();
}

/// The sizes of an operator's input: `args["Input Dims"][index]`, where the trace has shapes.
Result<std::vector<std::int64_t>> input_sizes(std::optional<JsonObject>& args, std::size_t index) {
  std::vector<std::int64_t> sizes;
  const auto inputs = args ? args->find("Input Dims") : std::nullopt;
  if (!inputs) return sizes;
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray all, inputs->array());
  std::size_t place = 0;
  for (const JsonValue input : all) {
    if (place++ != index) continue;
    if (!input.is_array()) return sizes;
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray tensor, input.array());
    for (const JsonValue size : tensor) {
      if (size.is_array()) return std::vector<std::int64_t>();  // a list of tensors
      NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t own, size.integer(0, kMostTraceValues));
      sizes.push_back(own);
    }
  }
  return sizes;
}

std::optional<Precision> precision_named(std::string_view word) {
  if (word == "float") return Precision::kFp32;
  if (word == "c10::Half") return Precision::kFp16;
  if (word == "c10::BFloat16") return Precision::kBf16;
  return std::nullopt;
}

/// "[512, 512]"; nothing of a list that was cut short, or is none.
std::vector<std::int64_t> splits_of(std::string_view text) {
  std::vector<std::int64_t> splits;
  if (!text.starts_with('[') || !text.ends_with(']')) return splits;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const auto read = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || value < 0 || value > kMostTraceValues ||
        splits.size() == kMostSplits) {
      return {};
    }
    splits.push_back(value);
    text.remove_prefix(read);
    if (text.empty()) return splits;
    if (!text.starts_with(", ")) return {};
    text.remove_prefix(2);
  }
  return splits;
}

/// The type of an operator's input.
Result<std::string_view> input_type(std::optional<JsonObject>& args, std::size_t index) {
  const auto types = args ? args->find("Input type") : std::nullopt;
  if (!types) return std::string_view();
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray all, types->array());
  std::size_t place = 0;
  for (const JsonValue type : all) {
    if (place++ == index) return type.text();
  }
  return std::string_view();
}

/// c10d::alltoall_base_(output, input, group, output splits, input splits, ..).
Status add_exchange(const OperatorEvent& op, std::optional<JsonObject>& args,
                    KinetoEvents& events) {
  ExchangeEvent exchange;
  exchange.op = op;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view type, input_type(args, 1));
  exchange.precision = precision_named(type);
  const auto values = args ? args->find("Concrete Inputs") : std::nullopt;
  if (!values) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray all, values->array());
  std::size_t place = 0;
  for (const JsonValue value : all) {
    if ((place == 3 || place == 4) && value.is_string()) {
      (place == 3 ? exchange.received : exchange.sent) = splits_of(*value.text());
    }
    ++place;
  }
  events.exchanges.push_back(std::move(exchange));
  return {};
}

Status add_operator(std::string_view name, const OperatorEvent& op, std::optional<JsonObject>& args,
                    KinetoEvents& events) {
  events.operators.push_back(op);
  if (name == "c10d::alltoall_base_") return add_exchange(op, args, events);
  LookupEvent lookup;
  lookup.op = op;
  if (name.starts_with(kFusedLookup)) {
    lookup.kind = LookupEvent::Kind::kForward;
  } else if (name.find("CppNode<") != std::string_view::npos &&
             name.find("LookupFunction_") != std::string_view::npos &&
             !name.starts_with("autograd::engine")) {  // whose child this is
    lookup.kind = LookupEvent::Kind::kBackward;
    NEUROSHARD_ASSIGN_OR_RETURN(const auto sizes, input_sizes(args, 0));
    if (sizes.size() == 2 && sizes[0] > 0) {
      const bool pooled = name.find("NoBag") == std::string_view::npos;  // else a row a lookup
      if (pooled) lookup.samples = sizes[0];
      lookup.columns = sizes[1];
    }
  } else if (name == "fbgemm::bounds_check_indices") {
    lookup.kind = LookupEvent::Kind::kCheck;
    NEUROSHARD_ASSIGN_OR_RETURN(const auto sizes, input_sizes(args, 1));
    if (sizes.size() == 1) lookup.lookups = sizes[0];
  } else {
    return {};
  }
  events.lookups.push_back(lookup);
  return {};
}

/// gloo has no kernels: a thread of its own does what it was told to.
Status add_gloo(const TimeRange& time, std::optional<JsonObject>& args, KinetoEvents& events) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view type, input_type(args, 0));
  if (precision_named(type)) events.by_gloo.push_back(time);
  return {};
}

}  // namespace

Status add_kineto_event(const JsonValue& value, KinetoEvents& events) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject event, value.object());
  std::optional<JsonObject> fields(event);
  const auto category = text_in(fields, "cat");
  const auto name = text_in(fields, "name");
  if (!category || !name || text_in(fields, "ph") != "X") return {};
  NEUROSHARD_ASSIGN_OR_RETURN(const std::optional<TimeRange> time, time_of(event));
  if (!time) return {};
  std::optional<JsonObject> args;
  if (const auto own = event.find("args")) {
    NEUROSHARD_ASSIGN_OR_RETURN(args, own->object());
  }
  if (category == "kernel") {
    events.kernels.push_back({integer_in(args, "External id").value_or(-1), time->us});
  } else if (category == "cpu_op") {
    const OperatorEvent op{integer_in(fields, "tid").value_or(-1), *time,
                           integer_in(args, "External id").value_or(-1)};
    return add_operator(*name, op, args, events);
  } else if (category == "user_annotation" && name->starts_with("ProfilerStep#")) {
    events.steps.push_back(*time);
  } else if (category == "user_annotation" && *name == "gloo:all_to_all") {
    return add_gloo(*time, args, events);
  }
  return {};
}

}  // namespace neuroshard::io
