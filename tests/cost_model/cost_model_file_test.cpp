// Cost model files: what is written comes back, and whatever does not fit together is named.
#include "engine/cost_model/cost_model_file.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "io/file.h"
#include "io/safetensors.h"
#include "tests/cost_model/random_models.h"
#include "tests/support/paths.h"

namespace neuroshard {
namespace {

/// A file with layers of easy sizes: 20 -> 7 -> 32 -> 64 -> 1, communication for 3 devices.
io::TensorFile sample() {
  Rng rng(1);
  CostModels models = test::random_models(3, rng);
  models.compute->table = test::random_mlp({20, 7, 32}, nn::Activation::kRelu, rng);
  models.compute->head = test::random_mlp({32, 64, 1}, nn::Activation::kNone, rng);
  models.comm->forward.mlp = test::random_mlp({6, 5, 3}, nn::Activation::kNone, rng);
  models.comm->backward.mlp = test::random_mlp({3, 5, 3}, nn::Activation::kNone, rng);
  return io::parse_safetensors(format_cost_models(models), "sample").value();
}

std::string message_of(const io::TensorFile& file) {
  const auto models = parse_cost_models(io::format_safetensors(file), "m");
  if (models.ok()) return "accepted";
  BOOST_TEST((models.status().code() == StatusCode::kInvalidInput));
  return models.status().message();
}

io::Tensor filled(std::vector<std::int64_t> shape, float value = 0.5f) {
  std::size_t size = 1;
  for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
  return {std::move(shape), std::vector<float>(size, value)};
}

void remove_prefix(io::TensorFile& file, const std::string& prefix) {
  std::erase_if(file.tensors, [&](const auto& entry) { return entry.first.starts_with(prefix); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cost_model_file)

BOOST_AUTO_TEST_CASE(what_is_written_comes_back) {
  Rng rng(7);
  for (int round = 0; round < 10; ++round) {
    CostModels models = test::random_models(static_cast<std::int32_t>(rng.between(1, 16)), rng);
    models.batch_size = rng.between(1, 100000);
    if (round % 3 == 1) models.min_batch_size = rng.between(1, models.batch_size);
    if (round % 4 == 1) models.compute->row_parts = static_cast<std::int32_t>(rng.between(2, 128));
    if (round % 2 == 1) {
      models.compute->target = CostTarget::kLogMilliseconds;
      models.comm_origin = {"another machine", Provenance::kMeasured};
      models.comm->forward.target = models.comm->backward.target = CostTarget::kLogMilliseconds;
    }
    const std::string bytes = format_cost_models(models);
    const CostModels read = parse_cost_models(bytes, "m").value();
    BOOST_TEST(format_cost_models(read) == bytes);
    BOOST_TEST(read.batch_size == models.batch_size);
    BOOST_TEST(read.min_batch_size == models.min_batch_size);
    BOOST_TEST((read.compute->target == models.compute->target));
    BOOST_TEST(read.compute->row_parts == models.compute->row_parts);
    BOOST_TEST(read.comm_origin.hardware == models.comm_origin.hardware);
    BOOST_TEST((read.comm_origin.provenance == models.comm_origin.provenance));
    BOOST_TEST(read.comm->devices == models.comm->devices);
    BOOST_TEST(
        std::ranges::equal(read.compute->table.parameters(), models.compute->table.parameters()));
    BOOST_TEST(read.comm->forward.scaling.std == models.comm->forward.scaling.std);
  }
}

BOOST_AUTO_TEST_CASE(pooled_communication_comes_back_and_is_checked) {
  Rng rng(8);
  CostModels models = test::random_pooled_models(rng);
  BOOST_TEST(parse_cost_models(format_cost_models(models), "m").value().comm->max_devices == 0);
  models.comm->min_devices = 3;
  models.comm->max_devices = 12;
  const std::string bytes = format_cost_models(models);
  const CostModels read = parse_cost_models(bytes, "m").value();
  BOOST_TEST(format_cost_models(read) == bytes);
  BOOST_TEST(read.comm->min_devices == 3);
  BOOST_TEST(read.comm->max_devices == 12);
  BOOST_TEST((read.comm->architecture == CommArchitecture::kPooledDevices));
  BOOST_TEST(read.comm->features.to_string() == test::kPooledFeatures);
  const io::TensorFile good = io::parse_safetensors(bytes, "m").value();
  io::TensorFile file = good;
  file.metadata["devices"] = "4";
  BOOST_TEST(message_of(file).starts_with("m: metadata 'devices': unknown key"));
  file = good;
  file.metadata["min_devices"] = "13";
  BOOST_TEST(message_of(file).starts_with("m: metadata min_devices: found '13'"));
  file = good;
  file.metadata.erase("max_devices");
  BOOST_TEST(message_of(file).starts_with("m: metadata max_devices"));
  file = good;
  file.metadata.erase("comm_features");
  BOOST_TEST(message_of(file) == "m: metadata comm_features: missing");
  file = good;
  file.metadata["comm_features"] = "dim,weather";
  BOOST_TEST(message_of(file).starts_with("m: metadata comm_features: unknown"));
  file = good;
  file.metadata["comm_features"] = "dim,start";
  BOOST_TEST(message_of(file) == "m: forward_comm.feature_mean: shape [10], expected [2]");
  file = good;
  file.tensors["backward_comm.2.weight"] = filled({2, 12});
  file.tensors["backward_comm.2.bias"] = filled({2});
  BOOST_TEST(message_of(file) == "m: backward_comm.2.weight: shape [2,12], expected [1,12]");
}

BOOST_AUTO_TEST_CASE(either_half_alone_is_a_file) {
  io::TensorFile file = sample();
  remove_prefix(file, "compute.");
  for (const char* key : {"compute_architecture", "compute_features", "compute_target"}) {
    BOOST_TEST(message_of(file) ==
               "m: metadata '" + file.metadata.lower_bound("compute_")->first +
                   "': unknown key, or one of a half that the file has no tensors of");
    file.metadata.erase(key);
  }
  const CostModels comm = parse_cost_models(io::format_safetensors(file), "m").value();
  BOOST_TEST(!comm.compute.has_value());
  BOOST_TEST(comm.comm.has_value());
  BOOST_TEST(parse_cost_models(format_cost_models(comm), "m").ok());

  CostModels compute = parse_cost_models(io::format_safetensors(sample()), "m").value();
  compute.comm.reset();
  BOOST_TEST(parse_cost_models(format_cost_models(compute), "m")->compute.has_value());
}

BOOST_AUTO_TEST_CASE(tensors_that_do_not_fit_are_named) {
  using Change = std::function<void(io::TensorFile&)>;
  const auto put = [](const std::string& name, const io::Tensor& tensor) {
    return [=](io::TensorFile& file) { file.tensors[name] = tensor; };
  };
  const auto drop = [](const std::string& name) {
    return [=](io::TensorFile& file) { file.tensors.erase(name); };
  };
  const std::vector<std::pair<Change, std::string>> cases{
      {put("compute.head.0.weight", filled({64, 31})),
       "compute.head.0.weight: shape [64,31], expected [64,32]"},
      {put("compute.table.0.weight", filled({7, 19})),
       "compute.table.0.weight: shape [7,19], expected [7,20]"},
      {put("compute.table.1.weight", filled({32, 8})),
       "compute.table.1.weight: shape [32,8], expected [32,7]"},
      {put("compute.table.1.bias", filled({31})),
       "compute.table.1.bias: shape [31], expected [32]"},
      {put("compute.table.0.weight", filled({140})),
       "compute.table.0.weight: shape [140], expected two dimensions, [outputs,inputs]"},
      {put("compute.table.0.weight", filled({0, 20})),
       "compute.table.0.weight: shape [0,20], expected two dimensions, [outputs,inputs]"},
      {put("compute.feature_mean", filled({19})),
       "compute.feature_mean: shape [19], expected [20]"},
      {put("compute.feature_std", filled({20, 1})),
       "compute.feature_std: shape [20,1], expected one dimension"},
      {put("compute.feature_std", filled({20}, 0)),
       "compute.feature_std: value 0 is 0.000000, expected above 0"},
      {put("compute.feature_std", filled({20}, -1)),
       "compute.feature_std: value 0 is -1.000000, expected above 0"},
      {[](io::TensorFile& file) {
         file.tensors["compute.head.1.weight"] = filled({2, 64});
         file.tensors["compute.head.1.bias"] = filled({2});
       },
       "compute.head.1.weight: shape [2,64], expected [1,64]"},
      {[](io::TensorFile& file) {
         file.tensors["compute.head.2.weight"] = filled({1, 1});
         file.tensors["compute.head.2.bias"] = filled({1});
       },
       "compute.head: 3 layers, expected 2"},
      {drop("compute.head.0.weight"), "compute.head.0.weight: missing"},
      {drop("compute.head.1.bias"), "compute.head.1.bias: missing"},
      {drop("forward_comm.feature_std"), "forward_comm.feature_std: missing"},
      {drop("backward_comm.0.bias"), "backward_comm.0.bias: missing"},
      {put("forward_comm.0.weight", filled({5, 7})),
       "forward_comm.0.weight: shape [5,7], expected [5,6]"},
      {[](io::TensorFile& file) {
         file.tensors["backward_comm.1.weight"] = filled({4, 5});
         file.tensors["backward_comm.1.bias"] = filled({4});
       },
       "backward_comm.1.weight: shape [4,5], expected [3,5]"},
      {put("compute.table.9.weight", filled({1, 1})), "unknown tensor 'compute.table.9.weight'"},
      {put("extra", filled({1})), "unknown tensor 'extra'"},
      {[](io::TensorFile& file) { remove_prefix(file, "backward_comm."); },
       "backward_comm.feature_mean: missing"},
  };
  BOOST_TEST(message_of(sample()) == "accepted");
  for (const auto& [change, expected] : cases) {
    io::TensorFile file = sample();
    change(file);
    BOOST_TEST(message_of(file) == "m: " + expected);
  }
}

BOOST_AUTO_TEST_CASE(metadata_that_does_not_fit_is_named) {
  const auto with = [](const std::string& key, const std::string& value) {
    io::TensorFile file = sample();
    file.metadata[key] = value;
    return message_of(file);
  };
  const auto without = [](const std::string& key) {
    io::TensorFile file = sample();
    file.metadata.erase(key);
    return message_of(file);
  };
  BOOST_TEST(with("format", "weights") ==
             "m: metadata format: found 'weights', expected 'neuroshard-cost-models'");
  BOOST_TEST(with("hardware", "x\r\x1b[2Kmeasured on H200") ==
             "m: hardware: found 'x\\x0d\\x1b[2Kmeasured on H200', expected text without control "
             "characters");
  BOOST_TEST(with("row_parts", "0") ==
             "m: metadata row_parts: found '0', expected an integer from 1 to 65536");
  BOOST_TEST(with("version", "2") == "m: metadata version: found '2', expected '1'");
  BOOST_TEST(with("cost_unit", "us") == "m: metadata cost_unit: found 'us', expected 'ms'");
  for (const char* bad : {"", "0", "-3", "4.0", " 4", "4x", "99999999999999999999"}) {
    BOOST_TEST(with("devices", bad) == "m: metadata devices: found '" + std::string(bad) +
                                           "', expected an integer from 1 to 65536");
  }
  BOOST_TEST(with("devices", "4") == "m: forward_comm.feature_mean: shape [6], expected [8]");
  BOOST_TEST(with("batch_size", "0").starts_with("m: metadata batch_size: found '0'"));
  BOOST_TEST(with("min_batch_size", "65537") ==
             "m: metadata min_batch_size: found '65537', expected an integer from 1 to 65536");
  BOOST_TEST(with("provenance", "guessed") ==
             "m: metadata provenance: found 'guessed', expected 'measured' or 'simulated'");
  BOOST_TEST(with("compute_target", "s") ==
             "m: metadata compute_target: found 's', expected 'ms' or 'log_ms'");
  BOOST_TEST(with("compute_architecture", "gnn").starts_with("m: metadata compute_architecture"));
  BOOST_TEST(with("comm_architecture", "gnn").starts_with("m: metadata comm_architecture"));
  BOOST_TEST(with("compute_features", "dim,color").starts_with("m: metadata compute_features: "));
  BOOST_TEST(with("note", "hello").starts_with("m: metadata 'note': unknown key"));
  BOOST_TEST(with("comm_hardware", "X") == "m: metadata comm_provenance: missing");
  for (const char* key :
       {"format", "version", "batch_size", "cost_unit", "hardware", "provenance",
        "compute_features", "compute_architecture", "comm_architecture", "devices"}) {
    BOOST_TEST(without(key) == "m: metadata " + std::string(key) + ": missing");
  }
}

BOOST_AUTO_TEST_CASE(the_reference_files_are_such_files) {
  for (const char* name : {"reference/cost_models_4_devices.safetensors",
                           "reference/cost_models_8_devices.safetensors"}) {
    const auto path = test::data_file(name);
    if (!path) {
      BOOST_TEST_MESSAGE("reference data is not there: skipped");
      return;
    }
    const auto models = parse_cost_models(io::read_file(*path).value(), *path);
    BOOST_REQUIRE_MESSAGE(models.ok(), models.status().message());
    BOOST_TEST((models->compute_origin.provenance == Provenance::kMeasured));
    BOOST_TEST(models->compute->features.to_string() == paper_features());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
