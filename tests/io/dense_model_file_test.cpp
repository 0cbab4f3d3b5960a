#include "io/models/dense_model_file.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/file.h"

namespace neuroshard::io {
namespace {

std::string example_model_text() {
  const Result<std::string> text =
      read_text_file(std::string(NEUROSHARD_SOURCE_DIR) + "/examples/dlrm_dcnv2_model.json");
  BOOST_REQUIRE(text.ok());
  return *text;
}

std::string with_other(const std::string& what, const std::string& with) {
  std::string text = example_model_text();
  const std::size_t at = text.find(what);
  BOOST_REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(dense_model_file)

BOOST_AUTO_TEST_CASE(the_example_is_mlperfs_model) {
  const Result<DenseModel> model = parse_dense_model(example_model_text(), "m");
  BOOST_REQUIRE_MESSAGE(model.ok(), model.status().message());
  BOOST_TEST(model->dense_features == 13);
  BOOST_TEST((model->bottom == std::vector<std::int32_t>{512, 256, 128}));
  BOOST_TEST((model->interaction == Interaction::kDcn));
  BOOST_TEST(model->cross_layers == 3);
  BOOST_TEST(model->cross_rank == 512);
  BOOST_TEST((model->top == std::vector<std::int32_t>{1024, 1024, 512, 256, 1}));
  BOOST_TEST((model->precision == DensePrecision::kFp16));
  BOOST_TEST((model->optimizer == DenseOptimizer::kAdagrad));
  BOOST_TEST(model->cuda_graph);
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  const DenseModel dcn = parse_dense_model(example_model_text(), "m").value();
  BOOST_TEST(format_dense_model(dcn) == example_model_text());
  DenseModel cat = dcn;
  cat.interaction = Interaction::kCat;
  cat.cross_layers = cat.cross_rank = 0;
  cat.dense_features = 0;
  cat.bottom.clear();
  cat.precision = DensePrecision::kTf32;
  cat.bucket_mb = 12.5;
  BOOST_TEST((parse_dense_model(format_dense_model(cat), "m").value() == cat));
  cat.schedule = StepSchedule::kHugectr;
  cat.bucket_mb = 25;
  BOOST_TEST((parse_dense_model(format_dense_model(cat), "m").value() == cat));
}

BOOST_AUTO_TEST_CASE(buckets_and_graphs_have_defaults) {
  const std::string text =
      with_other("\"adagrad\",\n  \"bucket_mb\": 25,\n  \"cuda_graph\": true", "\"adagrad\"");
  const DenseModel model = parse_dense_model(text, "m").value();
  BOOST_TEST(model.bucket_mb == 25);
  BOOST_TEST(!model.cuda_graph);
}

BOOST_AUTO_TEST_CASE(hugectr_has_no_buckets) {
  const auto with = parse_dense_model(
      with_other("\"bucket_mb\": 25", "\"schedule\": \"hugectr\",\n  \"bucket_mb\": 25"), "m");
  BOOST_TEST(with.status().message().find(
                 "found buckets, expected none: hugectr adds all gradients up at once") !=
                 std::string::npos,
             with.status().message());
  const auto without =
      parse_dense_model(with_other("\"bucket_mb\": 25", "\"schedule\": \"hugectr\""), "m");
  BOOST_REQUIRE(without.ok());
  BOOST_TEST((without->schedule == StepSchedule::kHugectr));
  const auto other =
      parse_dense_model(with_other("\"bucket_mb\": 25", "\"schedule\": \"horovod\""), "m");
  BOOST_TEST(other.status().message().find("$.schedule") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(bad_models_are_refused_in_one_line_that_names_the_place) {
  std::string layers = "[1";
  for (int i = 0; i < kMaxLayers; ++i) layers += ", 1";
  const std::vector<std::pair<std::string, std::string>> cases{
      {with_other("neuroshard-model", "neuroshard-plan"), "$.format"},
      {with_other("\"version\": 1", "\"version\": 2"), "$.version"},
      {with_other("512, 256, 128", "512, 0"), "$.bottom[1]"},
      {with_other("512, 256, 128", "512, 65537"), "$.bottom[1]"},
      {with_other("\"dense_features\": 13", "\"dense_features\": 0"), "$.bottom"},
      {with_other("\"dense_features\": 13", "\"dense_features\": -1"), "$.dense_features"},
      {with_other("[1024, 1024, 512, 256, 1]", "[]"), "$.top"},
      {with_other("[1024, 1024, 512, 256, 1]", layers + "]"), "$.top"},
      {with_other("\"dcn\"", "\"fm\""), "'dcn', 'dot' or 'cat'"},
      {with_other("\"dcn\"", "\"dot\""), "layers"},
      {with_other("\"layers\": 3, ", ""), "'layers'"},
      {with_other("\"rank\": 512", "\"rank\": 0"), "$.interaction.rank"},
      {with_other("\"fp16\"", "\"fp8\""), "'fp32', 'tf32', 'fp16' or 'bf16'"},
      {with_other("\"adagrad\"", "\"lamb\""), "'sgd', 'adagrad' or 'adam'"},
      {with_other("\"bucket_mb\": 25", "\"bucket_mb\": 0"), "$.bucket_mb"},
      {with_other("\"cuda_graph\": true", "\"cuda_graph\": 1"), "$.cuda_graph"},
      {with_other("\"cuda_graph\"", "\"cuda_graphs\""), "cuda_graphs"},
      {"[]", "$"}};
  for (const auto& [text, expected] : cases) {
    const Result<DenseModel> model = parse_dense_model(text, "my.json");
    BOOST_TEST_CONTEXT(expected) {
      BOOST_REQUIRE(!model.ok());
      const std::string& message = model.status().message();
      BOOST_TEST((model.status().code() == StatusCode::kInvalidInput));
      BOOST_TEST(message.starts_with("my.json: "), message);
      BOOST_TEST(message.find(expected) != std::string::npos, message);
      BOOST_TEST(message.find('\n') == std::string::npos, message);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::io
