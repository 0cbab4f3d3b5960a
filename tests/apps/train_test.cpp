// Cost models made by the real command: every setting reaches the training, both halves come
// together, and the model knows what its data covered.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

namespace {

namespace json = boost::json;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::split_words;
using neuroshard::test::TemporaryFolder;

/// Runs `words` with the folder as working directory; they have to succeed.
Outcome run_in(const TemporaryFolder& folder, const std::string& words) {
  const Outcome outcome = run_command(split_words(words), {.directory = folder.path()});
  BOOST_TEST(outcome.exit_code == 0, words << ": " << outcome.err);
  return outcome;
}

void collect(const TemporaryFolder& folder, const std::string& kind, int batch_size,
             const std::string& more) {
  run_in(folder, "collect " + kind + " --backend sim --profile H200-141G --samples 40 --output " +
                     kind + std::to_string(batch_size) + " --batch-size " +
                     std::to_string(batch_size) + " " + more);
}

json::object options_of(const TemporaryFolder& folder, const std::string& report,
                        const std::string& network) {
  const json::value value = json::parse(slurp(folder.file(report)));
  BOOST_TEST(value.at("format").as_string() == "neuroshard-training");
  return value.at("networks").at(network).at("options").as_object();
}

void check_options(const json::object& found,
                   const std::vector<std::pair<std::string, std::string>>& expected) {
  for (const auto& [name, value] : expected) {
    BOOST_TEST_CONTEXT(name) { BOOST_TEST(found.at(name).as_string() == value); }
  }
}

Outcome plan_with(const TemporaryFolder& folder, const std::string& model, int devices,
                  int batch_size) {
  return run_command({"plan", "--tables", source_file("examples/dlrm_dcnv2.json"), "--devices",
                      std::to_string(devices), "--batch-size", std::to_string(batch_size),
                      "--device-memory", "80GB", "--algorithm", "size-greedy", "--cost-model",
                      folder.file(model)});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(train)

BOOST_AUTO_TEST_CASE(every_setting_reaches_the_training) {
  const TemporaryFolder folder;
  collect(folder, "compute", 4096, "--max-tables 4");
  run_in(folder,
         "train compute --data compute4096 --output m.safetensors --report r.json --epochs 2 "
         "--features dim,log_rows,pooling_factor --target log_ms --table-widths 8,4 "
         "--head-widths 6 --loss huber --loss-delta 0.3 --patience 2 --batch-size 16 "
         "--learning-rate 0.01 --schedule constant --weight-decay 0.01 --average 0.9 --members 2 "
         "--target-scale 2 --seed 7");
  check_options(options_of(folder, "r.json", "compute"),
                {{"features", "dim,log_rows,pooling_factor"},
                 {"target", "log_ms"},
                 {"table_widths", "8-4"},
                 {"head_widths", "6"},
                 {"loss", "huber"},
                 {"loss_delta", "0.3"},
                 {"epochs", "2"},
                 {"patience", "2"},
                 {"batch_size", "16"},
                 {"learning_rate", "0.01"},
                 {"schedule", "constant"},
                 {"weight_decay", "0.01"},
                 {"average", "0.9"},
                 {"members", "2"},
                 {"target_scale", "2"},
                 {"seed", "7"}});
}

/// NeuroShard (arXiv 2305.01868), section 4.1 and appendix: networks, Adam at 1e-3, batches of 512,
/// mean squared error, 80/10/10.
BOOST_AUTO_TEST_CASE(the_recipe_of_the_paper_is_the_papers) {
  const TemporaryFolder folder;
  collect(folder, "compute", 4096, "--max-tables 4");
  collect(folder, "comm", 4096, "--devices 4");
  run_in(folder,
         "train compute --data compute4096 --recipe paper --epochs 1 --report c.json "
         "--output m.safetensors");
  run_in(folder,
         "train comm --data comm4096 --recipe paper --epochs 1 --report e.json --base "
         "m.safetensors --output m.safetensors");
  const std::vector<std::pair<std::string, std::string>> common{
      {"loss", "mse"},        {"batch_size", "512"},      {"learning_rate", "0.001"},
      {"members", "1"},       {"weight_decay", "0"},      {"average", "0"},
      {"train_share", "0.8"}, {"validation_share", "0.1"}};
  const json::object compute = options_of(folder, "c.json", "compute");
  check_options(compute, common);
  check_options(compute, {{"table_widths", "128-32"}, {"head_widths", "64"}, {"target", "ms"}});
  const std::string features(compute.at("features").as_string());
  BOOST_TEST(features.starts_with("dim,rows,pooling_factor,reuse_bin_0,"));
  BOOST_TEST(features.ends_with(",reuse_bin_16"));
  for (const char* network : {"forward_comm", "backward_comm"}) {
    const json::object comm = options_of(folder, "e.json", network);
    check_options(comm, common);
    check_options(comm, {{"architecture", "fixed-devices-mlp"}, {"hidden_widths", "128-64-32-16"}});
  }
  // A network for a fixed number of devices serves that one.
  BOOST_TEST(plan_with(folder, "m.safetensors", 4, 4096).exit_code == 0);
  const Outcome other = plan_with(folder, "m.safetensors", 8, 4096);
  BOOST_TEST(other.exit_code == 2);
  BOOST_TEST(other.err.find("4 devices") != std::string::npos, other.err);
}

BOOST_AUTO_TEST_CASE(a_model_knows_the_batch_sizes_that_both_halves_have_seen) {
  const TemporaryFolder folder;
  for (const int batch_size : {2048, 4096, 8192}) {
    collect(folder, "compute", batch_size, "--max-tables 4");
  }
  collect(folder, "comm", 4096, "--devices 4");
  collect(folder, "comm", 16384, "--devices 4");
  const std::string few = " --epochs 1 --members 1 ";
  run_in(folder, "train compute --data compute8192 --data compute2048 --data compute4096" + few +
                     "--output half.safetensors");
  run_in(folder, "train comm --data comm4096 --data comm16384 --base half.safetensors" + few +
                     "--output both.safetensors");
  for (const int known : {4096, 8192}) {
    BOOST_TEST(plan_with(folder, "both.safetensors", 4, known).exit_code == 0);
  }
  for (const int unknown : {2048, 16384}) {
    const Outcome refused = plan_with(folder, "both.safetensors", 4, unknown);
    BOOST_TEST(refused.exit_code == 2);
    BOOST_TEST(refused.err.find("4096 to 8192") != std::string::npos, refused.err);
  }
  // The other way round, and with what has nothing in common.
  run_in(folder, "train comm --data comm16384" + few + "--output late.safetensors");
  const Outcome apart = run_command(
      split_words(
          "train compute --data compute2048 --base late.safetensors --output x.safetensors" + few),
      {.directory = folder.path()});
  BOOST_TEST(apart.exit_code == 2);
  BOOST_TEST(apart.err.find("found batch size 2048, expected 16384 as in late.safetensors") !=
                 std::string::npos,
             apart.err);
  BOOST_TEST(!std::filesystem::exists(folder.file("x.safetensors")));
}

BOOST_AUTO_TEST_CASE(nothing_is_learned_from_and_judged_by_because_it_is_named_twice) {
  const TemporaryFolder folder;
  collect(folder, "compute", 4096, "--max-tables 4");
  collect(folder, "compute", 8192, "--max-tables 4");
  const Outcome twice = run_command(
      split_words("train compute --data compute4096 --data compute8192 --data ./compute4096/ "
                  "--output x.safetensors"),
      {.directory = folder.path()});
  BOOST_TEST(twice.exit_code == 2);
  BOOST_TEST(twice.err.find("--data: found './compute4096/' twice") != std::string::npos,
             twice.err);
  BOOST_TEST(!std::filesystem::exists(folder.file("x.safetensors")));
}

BOOST_AUTO_TEST_CASE(a_collection_has_the_batch_size_of_its_tables) {
  const TemporaryFolder folder;
  run_in(folder, "tables generate --count 20 --batch-size 8192 --output pool.json");
  const std::string collecting =
      "collect compute --backend sim --profile H200-141G --samples 3 --tables pool.json --output ";
  const auto batch_size_in = [&](const std::string& directory) {
    return json::parse(slurp(folder.file(directory + "/collection.json")))
        .at("batch_size")
        .as_int64();
  };
  run_in(folder, collecting + "own");
  BOOST_TEST(batch_size_in("own") == 8192);
  run_in(folder, collecting + "other --batch-size 4096");
  BOOST_TEST(batch_size_in("other") == 4096);
}

BOOST_AUTO_TEST_CASE(a_terminal_is_shown_the_learning_curve) {
  const TemporaryFolder folder;
  collect(folder, "compute", 4096, "--max-tables 4");
  const std::size_t epochs = neuroshard::test::unless_sanitized(20U, 6U);
  const std::string words =
      "train compute --data compute4096 --output m.safetensors --members 1 --epochs " +
      std::to_string(epochs);
  const Outcome shown = neuroshard::test::on_terminal(
      split_words(words), {.directory = folder.path(), .environment = {{"LC_ALL", "C.UTF-8"}}});
  BOOST_TEST(shown.exit_code == 0);
  const std::size_t line = shown.out.find("validation loss \u2588");  // worst first
  BOOST_REQUIRE(line != std::string::npos);
  // One of eight heights an epoch, of three bytes each.
  const std::string curve = shown.out.substr(line + 16, shown.out.find('\r', line) - line - 16);
  BOOST_TEST(curve.size() == epochs * 3U, curve);
  BOOST_TEST(curve.find("\u2581") != std::string::npos);
  BOOST_TEST(run_in(folder, words).out.find("\u2581") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(hardware_that_no_reader_of_the_model_takes_is_refused) {
  const TemporaryFolder folder;
  collect(folder, "compute", 4096, "");
  for (const std::string hardware : {"A\x1b[2K", "\xff"}) {
    const Outcome outcome =
        run_command({"train", "compute", "--data", folder.file("compute4096"), "--epochs", "1",
                     "--hardware", hardware, "--output", folder.file("model.safetensors")});
    BOOST_TEST(outcome.exit_code == 2);
    BOOST_TEST(outcome.err.find("--hardware: found") != std::string::npos, outcome.err);
    BOOST_TEST(!std::filesystem::exists(folder.file("model.safetensors")));
  }
}

BOOST_AUTO_TEST_CASE(a_network_that_is_trained_on_keeps_its_inputs_and_says_where_it_is_from) {
  const TemporaryFolder folder;
  collect(folder, "compute", 4096, "");
  const std::string words = "train compute --data compute4096 --epochs 1 --start h100_sim";
  run_in(folder, words + " --report report.json --output model.safetensors");
  const json::object options = options_of(folder, "report.json", "compute");
  check_options(options, {{"members", "1"}});
  const Outcome poorer =
      run_command(split_words(words + " --features paper --output poorer.safetensors"),
                  {.directory = folder.path()});
  BOOST_TEST(poorer.exit_code == 2);
  BOOST_TEST(poorer.err.find("features: found ") != std::string::npos, poorer.err);
  const Outcome alike = run_command(split_words(words + " --members 3 --output alike.safetensors"),
                                    {.directory = folder.path()});
  BOOST_TEST(alike.exit_code == 2);
  BOOST_TEST(alike.err ==
             "neuroshard train compute: --members: found 3 with --start, expected 1: all would "
             "begin alike\n");
  const std::string model = slurp(folder.file("model.safetensors"));
  BOOST_TEST(model.find("trained on from SIMULATED hardware H100-80G") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(lookups_that_kernels_do_not_know_are_drawn_for_simulations_alone) {
  const TemporaryFolder folder;
  for (const std::string flag : {"--max-features 4", "--not-pooled 0.5"}) {
    const Outcome outcome =
        run_command(split_words("collect compute --backend cpu --samples 1 --output data " + flag),
                    {.directory = folder.path()});
    BOOST_TEST(outcome.exit_code == 2);
    BOOST_TEST(outcome.err.find("found with --backend cpu, expected with sim") != std::string::npos,
               outcome.err);
    BOOST_TEST(!std::filesystem::exists(folder.file("data")));
  }
}

BOOST_AUTO_TEST_SUITE_END()
