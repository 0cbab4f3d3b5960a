#include "io/models/dense_model_file.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/quoted_choices.h"
#include "io/file.h"
#include "io/json/json.h"
#include "io/json/json_writer.h"
#include "io/sha256.h"

namespace neuroshard::io {
namespace {

/// Of a bucket, 10^6 bytes.
constexpr double kMostBucketMb = 1e6;

/// The member's value among `choices`, by its word.
template <typename Value>
Status read_word(JsonObject& object, std::string_view key, std::span<const Value> choices,
                 Value& out) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at(key));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view word, value.text());
  for (const Value choice : choices) {
    if (to_string(choice) != word) continue;
    out = choice;
    return {};
  }
  return value.unexpected(quoted_choices(choices));
}

Status read_layers(JsonObject& root, std::string_view key, std::vector<std::int32_t>& layers) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray widths, root.array(key));
  if (widths.size() > static_cast<std::size_t>(kMaxLayers)) {
    return widths.value().error("found " + std::to_string(widths.size()) +
                                " layers, expected at most " + std::to_string(kMaxLayers));
  }
  for (const JsonValue value : widths) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t width, value.integer(1, kMaxLayerWidth));
    layers.push_back(static_cast<std::int32_t>(width));
  }
  return {};
}

Status read_interaction(JsonObject& root, DenseModel& model) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, root.object("interaction"));
  NEUROSHARD_RETURN_IF_ERROR(read_word(object, "kind", interactions(), model.interaction));
  if (model.interaction == Interaction::kDcn) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t layers, object.integer("layers", 1, kMaxLayers));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t rank, object.integer("rank", 1, kMaxLayerWidth));
    model.cross_layers = static_cast<std::int32_t>(layers);
    model.cross_rank = static_cast<std::int32_t>(rank);
  }
  return object.finish();
}

Status read_networks(JsonObject& root, DenseModel& model) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t features,
                              root.integer("dense_features", 0, kMaxLayerWidth));
  model.dense_features = static_cast<std::int32_t>(features);
  NEUROSHARD_RETURN_IF_ERROR(read_layers(root, "bottom", model.bottom));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue bottom, root.at("bottom"));
  if (features == 0 && !model.bottom.empty()) {
    return bottom.error("found layers without dense features, expected none");
  }
  NEUROSHARD_RETURN_IF_ERROR(read_interaction(root, model));
  NEUROSHARD_RETURN_IF_ERROR(read_layers(root, "top", model.top));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue top, root.at("top"));
  if (model.top.empty()) return top.error("found no layer, expected at least one");
  return {};
}

void write_layers(JsonWriter& writer, std::string_view key,
                  const std::vector<std::int32_t>& layers) {
  writer.key(key).begin_array(JsonWriter::Layout::kLine);
  for (const std::int32_t width : layers) writer.integer(width);
  writer.end_array();
}

}  // namespace

Result<DenseModel> parse_dense_model(std::string_view bytes, const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, document.root().object());
  NEUROSHARD_RETURN_IF_ERROR(root.format("neuroshard-model", 1));
  DenseModel model;
  NEUROSHARD_RETURN_IF_ERROR(read_networks(root, model));
  NEUROSHARD_RETURN_IF_ERROR(read_word(root, "precision", dense_precisions(), model.precision));
  NEUROSHARD_RETURN_IF_ERROR(read_word(root, "optimizer", dense_optimizers(), model.optimizer));
  if (root.has("schedule")) {
    NEUROSHARD_RETURN_IF_ERROR(read_word(root, "schedule", step_schedules(), model.schedule));
  }
  if (root.has("bucket_mb")) {
    NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue bucket, root.at("bucket_mb"));
    if (model.schedule == StepSchedule::kHugectr) {
      return bucket.error("found buckets, expected none: hugectr adds all gradients up at once");
    }
    NEUROSHARD_ASSIGN_OR_RETURN(model.bucket_mb, root.number("bucket_mb", 1, kMostBucketMb));
  }
  if (root.has("cuda_graph")) {
    NEUROSHARD_ASSIGN_OR_RETURN(model.cuda_graph, root.boolean("cuda_graph"));
  }
  NEUROSHARD_RETURN_IF_ERROR(root.finish());
  return model;
}

Result<DenseModelFile> read_dense_model(const std::string& path) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, read_text_file(path));
  NEUROSHARD_ASSIGN_OR_RETURN(DenseModel model, parse_dense_model(bytes, source_name(path)));
  return DenseModelFile{std::move(model), sha256_hex(bytes)};
}

std::string format_dense_model(const DenseModel& model) {
  JsonWriter writer;
  writer.begin_object();
  writer.key("format").text("neuroshard-model");
  writer.key("version").integer(1);
  writer.key("dense_features").integer(model.dense_features);
  write_layers(writer, "bottom", model.bottom);
  writer.key("interaction").begin_object(JsonWriter::Layout::kLine);
  writer.key("kind").text(to_string(model.interaction));
  if (model.interaction == Interaction::kDcn) {
    writer.key("layers").integer(model.cross_layers);
    writer.key("rank").integer(model.cross_rank);
  }
  writer.end_object();
  write_layers(writer, "top", model.top);
  writer.key("precision").text(to_string(model.precision));
  writer.key("optimizer").text(to_string(model.optimizer));
  if (model.schedule == StepSchedule::kTorchRec) {
    writer.key("bucket_mb").number(model.bucket_mb);
  } else {
    writer.key("schedule").text(to_string(model.schedule));
  }
  writer.key("cuda_graph").boolean(model.cuda_graph);
  writer.end_object();
  return writer.take();
}

}  // namespace neuroshard::io
