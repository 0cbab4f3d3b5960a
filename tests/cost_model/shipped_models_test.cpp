// Models linked into the library, and what a name or path means.
#include "engine/cost_model/shipped_models.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "engine/cost_model/cost_model_file.h"
#include "engine/cost_model/validate_models.h"
#include "io/file.h"
#include "io/sha256.h"
#include "tests/cost_model/random_models.h"

namespace neuroshard::test {

BOOST_AUTO_TEST_SUITE(shipped_models)

BOOST_AUTO_TEST_CASE(every_file_in_models_is_linked_in_byte_by_byte) {
  std::set<std::string> names{"torchrec", "torchrec-1.4"};
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(NEUROSHARD_SOURCE_DIR) + "/models")) {
    if (entry.path().extension() != ".safetensors") continue;
    const std::string name = entry.path().stem().string();
    names.insert(name);
    const std::string bytes = io::read_file(entry.path().string()).value();
    BOOST_TEST((shipped_model_bytes(name) == bytes), name);
    const auto named = load_cost_models(name);
    BOOST_REQUIRE_MESSAGE(named.ok(), named.status().message());
    BOOST_TEST(named->sha256 == io::sha256_hex(bytes));
    BOOST_TEST(named->models.compute.has_value());
    BOOST_TEST(named->models.comm.has_value());
  }
  BOOST_TEST(shipped_model_count() == names.size());
  for (std::size_t index = 0; index < shipped_model_count(); ++index) {
    const auto named = load_shipped_models(std::string(shipped_model_name(index)));
    BOOST_REQUIRE_MESSAGE(named.ok(), named.status().message());
    BOOST_TEST(names.erase(named->name) == 1u);
    BOOST_TEST(!named->models.compute_origin.hardware.empty());
    BOOST_TEST(named->sha256.size() == 64u);
  }
}

BOOST_AUTO_TEST_CASE(a_gpu_that_was_measured_has_a_model_of_its_own) {
  BOOST_TEST(shipped_model_of_hardware("NVIDIA H100 80GB HBM3") == "h100");
  // Another memory, another clock: nobody has measured those.
  BOOST_TEST(shipped_model_of_hardware("NVIDIA H100 PCIe") == kDefaultCostModel);
  BOOST_TEST(shipped_model_of_hardware("NVIDIA H100") == kDefaultCostModel);
  BOOST_TEST(shipped_model_of_hardware("") == kDefaultCostModel);
  const CostModels models = load_shipped_models("h100").value().models;
  BOOST_TEST((models.compute_origin.provenance == Provenance::kMeasured));
  BOOST_TEST((models.comm_origin.provenance == Provenance::kSimulated));
  BOOST_TEST(simulated(models));  // one half is enough
}

BOOST_AUTO_TEST_CASE(the_formula_is_for_any_batch_size) {
  const CostModels formula = load_shipped_models("torchrec").value().models;
  BOOST_TEST(check_batch_size(formula, 1).ok());
  BOOST_TEST(check_batch_size(formula, std::int64_t{1} << 40).ok());
}

BOOST_AUTO_TEST_CASE(the_formula_is_known_by_its_constants) {
  const NamedCostModels own = load_shipped_models("torchrec").value();
  BOOST_TEST(own.sha256 ==
             io::sha256_hex("torchrec 1.9, outputs as tables: 897, 600 and 12.5 GB/s, hosts of 8"));
  NamedCostModels other = own;
  set_bandwidths({2000, 450, 0.1}, other);
  BOOST_TEST(other.sha256 ==
             io::sha256_hex("torchrec 1.9, outputs as tables: 2000, 450 and 0.1 GB/s, hosts of 8"));
  BOOST_TEST(describe(other) ==
             "torchrec: SIMULATED hardware TorchRec 1.9's estimator with 2000, 450 and 0.1 GB/s");
  // Plans of other hosts have another formula.
  const auto planned = [&](std::int32_t devices_per_host) {
    return provenance_of(other, devices_per_host, "", "refine", 0).cost_model_sha256;
  };
  BOOST_TEST(planned(4) ==
             io::sha256_hex("torchrec 1.9, outputs as tables: 2000, 450 and 0.1 GB/s, hosts of 4"));
  BOOST_TEST(planned(8) == other.sha256);
  BOOST_TEST(planned(0) == other.sha256);
  set_bandwidths({2000, 450, 0.1, 64}, other);
  BOOST_TEST(other.sha256 == io::sha256_hex("torchrec 1.9, outputs as tables: 2000, 450 and 0.1 "
                                            "GB/s, to host memory 64 GB/s, hosts of 8"));
  BOOST_TEST(describe(other) ==
             "torchrec: SIMULATED hardware TorchRec 1.9's estimator with 2000, 450 and 0.1 GB/s, "
             "to host memory 64 GB/s");
  set_bandwidths({}, other);
  BOOST_TEST(other.sha256 == own.sha256);
  NamedCostModels older = load_cost_models("torchrec-1.4").value();
  set_bandwidths({}, older);
  BOOST_TEST(older.sha256 ==
             io::sha256_hex("torchrec 1.4, outputs as tables: 897, 600 and 12.5 GB/s, hosts of 8"));
  BOOST_TEST(describe(older) ==
             "torchrec-1.4: SIMULATED hardware TorchRec 1.4's estimator, default bandwidths");
  BOOST_TEST(describe(other) == describe(own));

  NamedCostModels networks = load_shipped_models("h200_sim").value();
  const std::string hash = networks.sha256;
  set_bandwidths({2000, 450, 0.1}, networks);
  BOOST_TEST(networks.sha256 == hash);
}

BOOST_AUTO_TEST_CASE(a_file_called_like_a_shipped_model_does_not_look_like_it) {
  const std::string bytes(shipped_model_bytes("h200_sim"));
  const std::string shipped = describe(load_shipped_models("h200_sim").value());
  const std::string origin = shipped.substr(shipped.find(": "));
  BOOST_TEST(shipped == "h200_sim" + origin);
  for (const std::string name : {"h200_sim", "a100_sim", "torchrec"}) {
    const NamedCostModels own = parse_named_models("some/folder/" + name, bytes).value();
    BOOST_TEST(own.name == name);
    BOOST_TEST(describe(own) == name + " (your file)" + origin);
  }
  const std::string other = describe(parse_named_models("mine.safetensors", bytes).value());
  BOOST_TEST(other == "mine.safetensors" + origin);
}

BOOST_AUTO_TEST_CASE(numbers_of_devices_beyond_the_training_data_are_said_to_be_guesses) {
  const NamedCostModels named = load_shipped_models("h200_sim").value();
  BOOST_TEST(device_guess(named, 1).empty());  // exchanges nothing: no network is asked
  BOOST_TEST(device_guess(named, 2).empty());
  BOOST_TEST(device_guess(named, 1024).empty());
  BOOST_TEST(device_guess(named, 1025) ==
             "h200_sim: trained on 2 to 1024 devices, what it says of 1025 is a guess");
  const std::vector<std::int32_t> several{1, 8, 1025, 2048};
  BOOST_TEST(device_guess(named, several) ==
             "h200_sim: trained on 2 to 1024 devices, what it says of 1025, 2048 is a guess");
  BOOST_TEST(device_guess(load_shipped_models("torchrec").value(), 1025).empty());
  NamedCostModels one = named;
  one.models.comm->min_devices = one.models.comm->max_devices = 4;
  BOOST_TEST(device_guess(one, 8) ==
             "h200_sim: trained on 4 devices, what it says of 8 is a guess");
}

BOOST_AUTO_TEST_CASE(costs_of_data_types_that_the_models_never_saw_are_said_to_be_guesses) {
  const NamedCostModels named = load_shipped_models("h200_sim").value();
  std::vector<Table> tables(3);
  BOOST_TEST(table_guess(named, tables).empty());
  tables[1].data_type = DataType::kFp16;
  BOOST_TEST(table_guess(named, tables) ==
             "h200_sim: trained on fp32 tables, what it says of the compute of 1 other is a guess");
  BOOST_TEST(table_guess(load_shipped_models("torchrec").value(), tables).empty());
  tables[2].weighted = true;
  BOOST_TEST(table_guess(named, tables) ==
             "h200_sim: trained on fp32 tables without weights, what it says of the compute of 2 "
             "others is a guess");
  tables[2].features = 3;
  BOOST_TEST(table_guess(named, tables) ==
             "h200_sim: trained on fp32 tables without weights, what it says of the compute of 2 "
             "others is a guess");
}

BOOST_AUTO_TEST_CASE(samples_that_the_formula_does_not_count_are_told) {
  const NamedCostModels named = load_shipped_models("torchrec").value();
  BOOST_TEST(dropped_samples(named, 8, 4096).empty());
  BOOST_TEST(dropped_samples(named, 8, 4099) ==
             "torchrec: batch 4099 is no multiple of 8 devices, the formula counts 4096, 512 on "
             "each");
  BOOST_TEST(dropped_samples(named, 8, 4) ==
             "torchrec: batch 4 is less than 8 devices, the formula counts no samples: every plan "
             "costs nothing");
  BOOST_TEST(dropped_samples(load_shipped_models("h200_sim").value(), 8, 4099).empty());
}

BOOST_AUTO_TEST_CASE(times_below_0_are_named) {
  const NamedCostModels named{"own", {}, {}};
  std::vector<DeviceCost> costs(2);
  BOOST_TEST(negative_times(named, costs).empty());
  costs[1].forward_comm_ms = -0.1;
  BOOST_TEST(negative_times(named, costs) ==
             "own: times below 0 (forward), it needs more data to be trained on: `evaluate` tells "
             "how good it is");
  costs[0] = {-1, 2, -3};
  BOOST_TEST(negative_times(named, costs)
                 .starts_with("own: times below 0 (compute, forward, backward), "));
}

BOOST_AUTO_TEST_CASE(one_simulated_half_makes_the_costs_simulated_and_is_named) {
  Rng rng(1);
  CostModels models = test::random_models(4, rng);
  models.compute_origin = {"H200", Provenance::kMeasured};
  models.comm_origin = models.compute_origin;
  BOOST_TEST(origin_of(models).hardware == "H200");
  BOOST_TEST((origin_of(models).provenance == Provenance::kMeasured));
  models.comm_origin.provenance = Provenance::kSimulated;
  BOOST_TEST(origin_of(models).hardware ==
             "compute measured on H200, communication SIMULATED hardware H200");
  BOOST_TEST((origin_of(models).provenance == Provenance::kSimulated));
  models.comm.reset();  // not trained yet: says nothing
  BOOST_TEST((origin_of(models).provenance == Provenance::kMeasured));
}

BOOST_AUTO_TEST_CASE(a_path_is_read_and_hashed) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "neuroshard_shipped_models_test.safetensors")
          .string();
  Rng rng(1);
  const std::string bytes = format_cost_models(test::random_models(4, rng));
  std::ofstream(path, std::ios::binary) << bytes;
  const auto named = load_cost_models(path);
  std::filesystem::remove(path);
  BOOST_REQUIRE_MESSAGE(named.ok(), named.status().message());
  BOOST_TEST(named->name == "neuroshard_shipped_models_test.safetensors");
  BOOST_TEST(named->models.source == path);
  BOOST_TEST(named->sha256 == io::sha256_hex(bytes));
}

BOOST_AUTO_TEST_CASE(neither_name_nor_file_lists_the_names) {
  const auto named = load_cost_models("no_such_model");
  BOOST_REQUIRE(!named.ok());
  BOOST_TEST((named.status().code() == StatusCode::kInvalidInput));
  BOOST_TEST(named.status().message().starts_with(
      "cost model 'no_such_model': neither a file nor a shipped model ("));
  for (std::size_t index = 0; index < shipped_model_count(); ++index) {
    BOOST_TEST(named.status().message().find(shipped_model_name(index)) != std::string::npos);
  }
  BOOST_TEST(shipped_model_bytes("no_such_model").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
