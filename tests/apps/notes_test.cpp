// What the command says beside its results: costs that are guesses, flags that change nothing.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/cost_model/cost_model_file.h"
#include "tests/apps/process.h"
#include "tests/apps/unknown_hardware.h"
#include "tests/cost_model/random_models.h"

namespace {

namespace nn = neuroshard::nn;
using neuroshard::test::lines_of;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

/// A file of two tables, for notes that do not go by the tables.
std::string two_tables(const TemporaryFolder& folder) {
  return folder.write("two.csv", "name,rows,dim,pooling_factor\nuser,1000,8,2\nitem,1000,8,2\n");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(notes)

BOOST_AUTO_TEST_CASE(compute_of_fp16_tables_is_called_a_guess_unless_a_formula_knows_it) {
  const TemporaryFolder folder;
  const std::string tables =
      folder.write("half.csv",
                   "name,rows,dim,pooling_factor,data_type\nuser,1000,8,2,fp16\n"
                   "item,1000,8,2,fp32\n");
  const std::string tasks = folder.write("tasks.txt", "0,1 8,8\n");
  const std::string other = folder.write("other.txt", "1 8\n");
  const std::string plan = folder.file("plan.json");
  const auto notes = [&](std::vector<std::string> arguments, const std::string& model) {
    arguments.insert(arguments.end(), {"--tables", tables, "--device-memory", "1GB"});
    arguments.insert(arguments.end(), {"--cost-model", model});
    const Outcome outcome = run_command(arguments);
    BOOST_TEST(outcome.exit_code == 0);
    return outcome.err;
  };
  const std::vector<std::string> planned{"plan",        "--devices", "2", "--algorithm",
                                         "size-greedy", "--output",  plan};
  const std::vector<std::string> simulated{"simulate", "--plan", plan};
  const auto compared = [](const std::string& file) {
    return std::vector<std::string>{"compare", "--devices",    "2",          "--tasks",
                                    file,      "--algorithms", "size-greedy"};
  };
  const std::string note =
      "h200_sim: trained on fp32 tables, what it says of the compute of 1 other is a guess\n";
  const std::vector<std::string> swept{"sweep", "--devices", "2", "--algorithm", "size-greedy"};
  for (const auto& arguments : {planned, simulated, swept, compared(tasks)}) {
    BOOST_TEST(notes(arguments, "h200_sim") == note);
    BOOST_TEST(notes(arguments, "torchrec").empty());
  }
  BOOST_TEST(notes(compared(other), "h200_sim").empty());
}

BOOST_AUTO_TEST_CASE(compute_under_optimizers_without_ground_truth_is_called_a_guess) {
  const TemporaryFolder folder;
  const auto notes = [&](const std::string& rows) {
    const std::string tables =
        folder.write("tables.csv", "name,rows,dim,pooling_factor,data_type,optimizer\n" + rows);
    const Outcome outcome =
        run_command({"plan", "--tables", tables, "--devices", "2", "--device-memory", "1GB",
                     "--algorithm", "size-greedy", "--output", folder.file("plan.json")});
    BOOST_TEST(outcome.exit_code == 0);
    return outcome.err;
  };
  BOOST_TEST(notes("a,9,8,2,fp32,sgd\nb,9,8,2,fp32,rowwise_adagrad\n").empty());
  BOOST_TEST(notes("a,9,8,2,fp32,adam\nb,9,8,2,fp32,lamb\nc,9,8,2,fp32,sgd\n") ==
             "h200_sim: trained on tables with sgd or rowwise_adagrad, what it says of the compute "
             "of 2 others is a guess\n");
  BOOST_TEST(notes("a,9,8,2,fp16,adam\nb,9,8,2,fp16,sgd\n") ==
             "h200_sim: trained on fp32 tables with sgd or rowwise_adagrad, what it says of the "
             "compute of 2 others is a guess\n");
}

BOOST_AUTO_TEST_CASE(recorded_histograms_taken_for_other_batches_are_told_of) {
  const TemporaryFolder folder;
  const std::string tables = folder.file("tables.json");
  BOOST_REQUIRE(
      run_command({"tables", "generate", "--count", "3", "--dims", "8", "--output", tables})
          .exit_code == 0);
  const std::string plan = folder.file("plan.json");
  const std::vector<std::vector<std::string>> commands{
      {"plan", "--devices", "2", "--device-memory", "80GB", "--algorithm", "size-greedy",
       "--output", plan},
      {"simulate", "--plan", plan, "--device-memory", "80GB"},
      {"tables", "summarize"}};
  for (std::vector<std::string> arguments : commands) {
    arguments.insert(arguments.end(), {"--tables", tables, "--batch-size", "8192"});
    const Outcome other = run_command(arguments);
    BOOST_TEST(other.exit_code == 0);
    BOOST_TEST(other.err == tables +
                                ": reuse histograms of 3 of its tables are of batches of "
                                "65536, they are taken for batches of 8192 as they are\n");
    arguments.back() = "65536";
    BOOST_TEST(run_command(arguments).err.empty());
  }
}

BOOST_AUTO_TEST_CASE(costs_of_more_devices_than_the_cost_model_has_seen_are_called_a_guess) {
  const std::string note =
      "h200_sim: trained on 2 to 1024 devices, what it says of 1025 is a guess\n";
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  const std::vector<std::string> tables{"--tables", two_tables(folder), "--device-memory", "80GB"};
  std::vector<std::string> search{"plan",        "--devices", "1025", "--algorithm",
                                  "size-greedy", "--output",  plan};
  std::vector<std::string> costs{"simulate", "--plan", plan};
  search.insert(search.end(), tables.begin(), tables.end());
  costs.insert(costs.end(), tables.begin(), tables.end());
  BOOST_TEST(run_command(search).err == note);
  BOOST_TEST(run_command(costs).err == note);
  search.insert(search.end(), {"--format", "html"});
  BOOST_TEST(run_command(search).exit_code == 0);
  BOOST_TEST(slurp(plan).find("what it says of 1025 is a guess") != std::string::npos);
  search[2] = "1024";
  BOOST_TEST(run_command(search).err.empty());
}

BOOST_AUTO_TEST_CASE(the_list_of_cost_models_tells_both_halves) {
  const std::string list = run_command({"plan", "--cost-model", "list"}).out;
  for (const std::string words :
       {"compute of", "exchanges of", "H200-141G, nvswitch", "H200-141G, cluster",
        "A100-80G, nvswitch", "A100-80G, cluster", "default bandwidths  the same"}) {
    BOOST_TEST(list.find(words) != std::string::npos, words << " in\n" << list);
  }
  for (const std::string& line : lines_of(list)) BOOST_TEST(line.size() <= 120U, line);
}

BOOST_AUTO_TEST_CASE(samples_that_torchrecs_formula_drops_are_told) {
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  const auto tables = [&](const std::string& batch) {
    return folder.write("tables.json", R"({"format": "neuroshard-tables", "version": 1,
      "batch_size": )" + batch + R"(, "tables": [
      {"name": "user", "rows": 1000, "dim": 8, "pooling_factor": 2}]})");
  };
  const std::vector<std::vector<std::string>> commands{
      {"plan", "--devices", "8", "--algorithm", "size-greedy", "--output", plan},
      {"simulate", "--plan", plan},
      {"export", "--plan", plan, "--format", "html"},
      {"sweep", "--devices", "8", "--algorithm", "size-greedy"},
      {"compare", "--devices", "8", "--tasks", folder.write("tasks.txt", "0 8\n"), "--algorithms",
       "size-greedy"}};
  const auto notes = [&](const std::vector<std::string>& command, const std::string& batch) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--tables", tables(batch), "--device-memory", "1GB",
                                       "--cost-model", "torchrec"});
    const Outcome outcome = run_command(arguments);
    BOOST_TEST(outcome.exit_code == 0);
    return outcome.err;
  };
  for (const std::string batch : {"4099", "4", "4096"}) {
    for (const std::vector<std::string>& command : commands) {
      const std::string expected =
          batch == "4099" ? "no multiple of 8 devices, the formula counts 4096, 512 on each\n"
                          : "less than 8 devices, the formula counts no samples: every plan costs "
                            "nothing\n";
      BOOST_TEST(notes(command, batch) ==
                 (batch == "4096" ? "" : "torchrec: batch " + batch + " is " + expected));
    }
  }
}

BOOST_AUTO_TEST_CASE(times_below_0_are_told_of_the_costs_that_are_shown) {
  neuroshard::Rng rng(1);
  neuroshard::CostModels models = neuroshard::test::random_models(2, rng);
  models.min_batch_size = 1;
  models.batch_size = 65536;
  for (nn::Mlp* mlp : {&models.comm->forward.mlp, &models.comm->backward.mlp}) {
    const std::span<float> bias = mlp->bias(mlp->depth() - 1);
    std::fill(bias.begin(), bias.end(), mlp == &models.comm->forward.mlp ? -1e3f : 1e3f);
  }
  const TemporaryFolder folder;
  const std::string file = folder.write("own.safetensors", neuroshard::format_cost_models(models));
  const std::string plan = folder.file("plan.json");
  const std::vector<std::vector<std::string>> commands{
      {"plan", "--devices", "2", "--algorithm", "size-greedy", "--output", plan},
      {"simulate", "--plan", plan},
      {"sweep", "--devices", "2", "--algorithm", "size-greedy"},
      {"compare", "--devices", "2", "--tasks", folder.write("tasks.txt", "0,1 8,8\n"),
       "--algorithms", "size-greedy"}};
  const std::string tables =
      folder.write("tables.csv", "name,rows,dim,pooling_factor\nuser,1000,8,2\nitem,900,8,2\n");
  for (std::vector<std::string> arguments : commands) {
    arguments.insert(arguments.end(),
                     {"--tables", tables, "--device-memory", "1GB", "--cost-model", file});
    const Outcome outcome = run_command(arguments);
    BOOST_TEST(outcome.exit_code == 0);
    BOOST_TEST(outcome.err ==
               "own.safetensors: times below 0 (forward), it needs more data to be trained "
               "on: `evaluate` tells how good it is\n");
  }
}

BOOST_AUTO_TEST_CASE(flags_that_change_nothing_are_told) {
  const auto notes = [](const std::vector<std::string>& flags) {
    std::vector<std::string> arguments{
        "plan",      "--tables", source_file("examples/dlrm_dcnv2.json"),
        "--devices", "8",        "--device-memory",
        "80GB"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Outcome outcome = run_command(arguments);
    BOOST_TEST(outcome.exit_code == 0);
    return outcome.err;
  };
  for (const std::string name : {"random", "size-greedy", "neuroshard"}) {
    BOOST_TEST(notes({"--algorithm", name, "--row-splits", "any", "--evaluations", "100"}) ==
               "--evaluations: changes nothing, only refine, anneal, exact, surco go by it\n"
               "--row-splits any: changes nothing, only refine, anneal, hugectr make row shards\n");
    BOOST_TEST(notes({"--algorithm", name, "--row-splits", "off"}).empty());
  }
  BOOST_TEST(notes({"--row-splits", "even", "--evaluations", "100"}).empty());
  BOOST_TEST(notes({"--row-splits", "any", "--evaluations", "100", "--cost-model", "torchrec"}) ==
             "--row-splits any: torchrec knows no such row shards, as with --row-splits even\n");
  const std::string copies = "--data-parallel on: changes nothing, ";
  BOOST_TEST(notes({"--data-parallel", "on", "--algorithm", "size-greedy"}) ==
             copies + "only refine, anneal, hugectr go by it\n");
  BOOST_TEST(notes({"--data-parallel", "on", "--evaluations", "100"}).empty());
  const TemporaryFolder folder;
  const std::string model = folder.write("own.safetensors", neuroshard::test::unknown_hardware(8));
  const std::string told = notes({"--data-parallel", "on", "--evaluations", "100", "--row-splits",
                                  "off", "--cost-model", model});
  BOOST_TEST(
      told.find(copies + "own.safetensors knows no data-parallel tables\n") != std::string::npos,
      told);
  const Outcome help = run_command({"compare", "--help"});
  BOOST_TEST(help.out.find("the format of the plan") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_hosts_change_is_told_where_the_cost_models_know_none) {
  const TemporaryFolder folder;
  const auto notes = [&](const std::string& format, const std::string& model) {
    std::vector<std::string> arguments{
        "plan", "--tables",    two_tables(folder), "--devices",          "8", "--device-memory",
        "80GB", "--algorithm", "size-greedy",      "--devices-per-host", "4", "--cost-model",
        model};
    if (!format.empty()) {
      arguments.insert(arguments.end(), {"--format", format, "--output", folder.file("plan")});
    }
    const Outcome outcome = run_command(arguments);
    BOOST_TEST(outcome.exit_code == 0);
    return outcome.err;
  };
  const std::vector<std::pair<std::string, std::string>> changed{
      {"", "nothing"},
      {"json", "placements of later exports only"},
      {"csv", "nothing"},
      {"html", "nothing"},
      {"torchrec", "placements only"},
      {"hugectr", "comm_strategy only"},
      {"hugectr-python", "comm_strategy only"}};
  for (const auto& [format, what] : changed) {
    BOOST_TEST(notes(format, "h200_sim") == "--devices-per-host: changes " + what +
                                                ", h200_sim has the hosts it was trained on\n");
    BOOST_TEST(notes(format, "torchrec").empty());
  }
}

BOOST_AUTO_TEST_CASE(tables_whose_rows_are_in_host_memory_are_not_held_against_the_devices) {
  const TemporaryFolder folder;
  const std::string tables = source_file("examples/dlrm_dcnv2.json");
  const std::string plan = folder.file("plan.json");
  BOOST_TEST(run_command({"plan", "--tables", tables, "--devices", "4", "--device-memory", "80GB",
                          "--algorithm", "size-greedy", "--format", "torchrec", "--output", plan})
                 .exit_code == 0);
  std::string text = slurp(plan);
  const auto checked = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"check", "--tables", tables, "--plan",
                                       folder.write("uvm.json", text)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  };
  const std::vector<std::string> limit{"--device-memory", "10GB"};
  BOOST_TEST(checked(limit).exit_code == 3);
  const auto rewrite = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  };
  rewrite("\"fused\"", "\"fused_uvm\"");
  const Outcome counted = checked(limit);
  BOOST_TEST(counted.exit_code == 0, counted.out);
  BOOST_TEST(counted.err.empty(), counted.err);
  rewrite("\"fused_uvm\"", "\"key_value\"");
  const Outcome elsewhere = checked(limit);
  BOOST_TEST(elsewhere.exit_code == 0);
  BOOST_TEST(elsewhere.out.find("no fault") != std::string::npos, elsewhere.out);
  BOOST_TEST(elsewhere.err ==
             folder.file("uvm.json") +
                 ": 26 of 26 tables are not counted in any memory: with key_value, rows are in "
                 "host memory or on SSD, and the plan does not say how large a cache of them the "
                 "device has, if any\n");
  BOOST_TEST(checked({}).err.empty());
}

BOOST_AUTO_TEST_SUITE_END()
