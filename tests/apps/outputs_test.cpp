// What the commands write: JSON of the documented shape, equal bytes for equal input and seed, and
// nothing half-written when the disk says no.
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/apps/json_output.h"
#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

namespace {

namespace json = boost::json;
using neuroshard::test::example_plan_arguments;
using neuroshard::test::generated_pool;
using neuroshard::test::Keys;
using neuroshard::test::keys_of;
using neuroshard::test::lines_of;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::split_words;
using neuroshard::test::TemporaryFolder;

/// Lines of the table for devices, of a plan for so many.
std::vector<std::string> device_lines(const Outcome& outcome) {
  std::vector<std::string> lines = lines_of(outcome.out);
  const auto heading = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("device  shards");
  });
  BOOST_TEST_REQUIRE((heading != lines.end()), outcome.err);
  return {heading + 1, std::find(heading, lines.end(), "")};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(outputs)

BOOST_AUTO_TEST_CASE(of_many_devices_people_see_the_slowest) {
  const TemporaryFolder folder;
  const std::string tables = generated_pool(folder);
  const std::string plan = folder.file("plan.json");
  const auto planned = [&](const std::string& devices) {
    return run_command({"plan", "--tables", tables, "--devices", devices, "--device-memory", "80GB",
                        "--algorithm", "size-greedy", "--output", plan});
  };
  BOOST_TEST(device_lines(planned("64")).size() == 64U);
  const std::vector<std::string> lines = device_lines(planned("65"));
  BOOST_TEST_REQUIRE(lines.size() == 17U);
  BOOST_TEST(lines[0].ends_with("slowest"), lines[0]);
  for (std::size_t k = 1; k < 16; ++k) {
    BOOST_TEST(std::stod(split_words(lines[k])[5]) <= std::stod(split_words(lines[k - 1])[5]));
  }
  BOOST_TEST(lines[16].starts_with("49 other devices: "), lines[16]);
  BOOST_TEST(parsed(slurp(plan)).at("per_device").as_array().size() == 65U);
  const Outcome simulated =
      run_command({"simulate", "--tables", tables, "--plan", plan, "--device-memory", "80GB"});
  BOOST_TEST((device_lines(simulated) == lines));
}

BOOST_AUTO_TEST_CASE(a_plan_file_holds_what_the_documents_say) {
  const Outcome outcome = run_command(example_plan_arguments({"--output", "-"}));
  BOOST_TEST(outcome.exit_code == 0);
  const json::object plan = parsed(outcome.out);
  BOOST_TEST((keys_of(plan) == Keys{"format", "version", "devices", "batch_size", "cost_ms",
                                    "cost_error", "shards", "per_device", "provenance",
                                    "device_memory_bytes", "table_names"}));
  BOOST_TEST(plan.at("format").as_string() == "neuroshard-plan");
  BOOST_TEST(plan.at("version").as_int64() == 1);
  BOOST_TEST(plan.at("batch_size").as_int64() == 65536);
  BOOST_TEST(
      (keys_of(plan.at("shards").as_array()[0]) == Keys{"table", "rows", "columns", "device"}));
  BOOST_TEST((keys_of(plan.at("provenance")) ==
              Keys{"engine_version", "cost_model", "cost_model_sha256", "hardware",
                   "cost_provenance", "input_sha256", "algorithm", "seed"}));
  BOOST_TEST(plan.at("provenance").at("cost_provenance").as_string() == "simulated");
  BOOST_TEST(!plan.at("provenance").at("hardware").as_string().empty());
  const json::array& devices = plan.at("per_device").as_array();
  BOOST_TEST(devices.size() == 8U);
  double slowest = 0;
  for (const json::value& device : devices) {
    BOOST_TEST(
        (keys_of(device) == Keys{"device", "compute_ms", "forward_comm_ms", "backward_comm_ms",
                                 "total_ms", "memory_bytes", "dim_sum"}));
    BOOST_TEST(device.at("memory_bytes").to_number<std::int64_t>() <= 80'000'000'000);
    slowest = std::max(slowest, device.at("total_ms").to_number<double>());
  }
  BOOST_TEST(plan.at("cost_ms").to_number<double>() == slowest);
}

BOOST_AUTO_TEST_CASE(a_plan_is_the_same_bytes_each_time_and_on_any_number_of_threads) {
  const std::string once = run_command(example_plan_arguments({"--output", "-"})).out;
  BOOST_TEST(!once.empty());
  for (const std::string threads : {"1", "2"}) {
    BOOST_TEST(
        (run_command(example_plan_arguments({"--output", "-", "--threads", threads})).out == once));
  }
  const Outcome timed =
      run_command({"plan", "--tables", source_file("examples/dlrm_dcnv2.json"), "--devices", "8",
                   "--device-memory", "80GB", "--time-limit", "0.05"});
  BOOST_TEST(timed.out.find("time ended the search") != std::string::npos);
  const std::string random =
      run_command(example_plan_arguments({"--output", "-", "--algorithm", "random", "--seed", "1"}))
          .out;
  BOOST_TEST((
      run_command(example_plan_arguments({"--output", "-", "--algorithm", "random", "--seed", "1"}))
          .out == random));
  BOOST_TEST((
      run_command(example_plan_arguments({"--output", "-", "--algorithm", "random", "--seed", "2"}))
          .out != random));
}

BOOST_AUTO_TEST_CASE(simulate_agrees_with_plan) {
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  const Outcome planned = run_command(example_plan_arguments({"--output", plan}));
  const Outcome simulated =
      run_command({"simulate", "--tables", source_file("examples/dlrm_dcnv2.json"), "--plan", plan,
                   "--device-memory", "80GB"});
  BOOST_TEST(simulated.exit_code == 0, simulated.err);
  // The table of devices is the same, line by line.
  const auto table_of = [](const std::string& text) {
    const std::size_t begin = text.find("device  ");
    return text.substr(begin, text.find("\n\n", begin) - begin);
  };
  BOOST_TEST(table_of(simulated.out) == table_of(planned.out));
  BOOST_TEST(lines_of(table_of(planned.out)).size() == 9U);
}

BOOST_AUTO_TEST_CASE(simulate_writes_the_plan_with_the_costs_of_its_cost_model) {
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  BOOST_TEST(run_command(example_plan_arguments({"--output", plan})).exit_code == 0);
  const auto simulated_under = [&](const std::string& model,
                                   const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"simulate",
                                       "--tables",
                                       source_file("examples/dlrm_dcnv2.json"),
                                       "--plan",
                                       plan,
                                       "--device-memory",
                                       "80GB",
                                       "--cost-model",
                                       model,
                                       "--output",
                                       "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments).out;
  };
  BOOST_TEST(simulated_under("h200_sim") == slurp(plan));
  const json::object before = parsed(slurp(plan));
  const json::object other = parsed(simulated_under("a100_sim"));
  BOOST_TEST(other.at("shards") == before.at("shards"));
  BOOST_TEST(other.at("cost_ms").as_double() > before.at("cost_ms").as_double());
  BOOST_TEST(other.at("provenance").at("cost_model").as_string() == "a100_sim");
  const json::object half = parsed(simulated_under("h200_sim", {"--batch-size", "32768"}));
  BOOST_TEST(half.at("batch_size").as_int64() == 32768);
  BOOST_TEST(half.at("cost_ms").as_double() < before.at("cost_ms").as_double());
}

BOOST_AUTO_TEST_CASE(a_plan_made_of_another_table_file_is_noticed) {
  const TemporaryFolder folder;
  const std::string own = source_file("examples/dlrm_dcnv2.json");
  const std::string plan = folder.file("plan.json");
  const std::string other = folder.file("tables.json");
  std::string text = slurp(own);
  const std::string batch = "\"batch_size\": 65536";
  BOOST_TEST_REQUIRE(text.find(batch) != std::string::npos);
  std::ofstream(other) << text.replace(text.find(batch), batch.size(), "\"batch_size\": 32768");
  BOOST_TEST(run_command(example_plan_arguments({"--output", plan})).exit_code == 0);
  const auto simulated = [&](const std::string& tables) {
    return run_command({"simulate", "--tables", tables, "--plan", plan, "--device-memory", "80GB"});
  };
  BOOST_TEST(simulated(own).err.empty());
  BOOST_TEST(simulated(other).exit_code == 0);
  const std::string note = plan + ": was made of another table file (its sha256 differs)\n";
  BOOST_TEST(simulated(other).err == note);
  const auto checked = [&](const std::string& tables) {
    return run_command({"check", "--tables", tables, "--plan", plan});
  };
  BOOST_TEST(checked(own).err.empty());
  BOOST_TEST(checked(other).exit_code == 0);
  BOOST_TEST(checked(other).err == note);
}

BOOST_AUTO_TEST_CASE(plans_that_cost_nothing_are_equally_good) {
  const TemporaryFolder folder;
  // TorchRec's formula drops the samples that are not as many on each device: here all of them.
  const std::string tables = folder.write(
      "small.json", R"({"format": "neuroshard-tables", "version": 1, "batch_size": 4, "tables": [
          {"name": "user", "rows": 1000, "dim": 8, "pooling_factor": 2}]})");
  const std::string tasks = folder.write("tasks.txt", "0 8\n");
  const std::vector<std::string> cluster{"--tables",        tables, "--devices",    "8",
                                         "--device-memory", "80GB", "--cost-model", "torchrec"};
  std::vector<std::string> planned{"plan", "--evaluations", "100"};
  planned.insert(planned.end(), cluster.begin(), cluster.end());
  std::vector<std::string> compared{"compare", "--tasks", tasks, "--algorithms",
                                    "exact,size-greedy"};
  compared.insert(compared.end(), cluster.begin(), cluster.end());
  const std::string plan = run_command(planned).out;
  BOOST_TEST(plan.find("this plan is equally good\n") != std::string::npos, plan);
  planned.insert(planned.end(), {"--format", "html", "--output", "-"});
  const std::string page = run_command(planned).out;
  BOOST_TEST(page.find("this saves 0.0 %") != std::string::npos);
  const std::string comparison = run_command(compared).out;
  BOOST_TEST(comparison.find("size-greedy") != std::string::npos, comparison);
  for (const std::string& text : {plan, page, comparison}) {
    BOOST_TEST(text.find("nan") == std::string::npos, text);
  }
}

BOOST_AUTO_TEST_CASE(under_additive_costs_plans_are_held_against_a_lower_bound) {
  const auto planned = [](const std::string& row_splits) {
    const Outcome outcome = run_command(
        example_plan_arguments({"--cost-model", "torchrec", "--row-splits", row_splits}));
    BOOST_TEST(outcome.exit_code == 0, outcome.err);
    return outcome.out;
  };
  const std::string whole_rows = planned("off");
  BOOST_TEST(
      whole_rows.find(
          "at most 0.00 % above the best plan of tables whole or in columns by multiples of 4") !=
          std::string::npos,
      whole_rows);
  const std::string by_rows = planned("even");
  BOOST_TEST(by_rows.find(" % above the best plan of tables whole or in columns by multiples of 4, "
                          "and row-wise ones "
                          "with rows for every device") != std::string::npos,
             by_rows);
  BOOST_TEST(run_command(example_plan_arguments()).out.find("above the best plan") ==
             std::string::npos);
  const TemporaryFolder folder;
  const Outcome compared =
      run_command({"compare", "--tables", generated_pool(folder), "--tasks",
                   source_file("examples/tasks.txt"), "--devices", "4", "--device-memory", "20GiB",
                   "--algorithms", "size-greedy,refine", "--evaluations",
                   neuroshard::test::unless_sanitized("5000", "1000"), "--cost-model", "torchrec"});
  BOOST_TEST(compared.exit_code == 0, compared.err);
  const auto above_bound = [&](const std::string& algorithm) {
    const std::size_t line = compared.out.find("\n" + algorithm);
    BOOST_TEST_REQUIRE(line != std::string::npos);
    const std::vector<std::string> words =
        split_words(compared.out.substr(line, compared.out.find('\n', line + 1) - line));
    BOOST_TEST(words.back() == "%");
    return std::stod(words.at(words.size() - 2));
  };
  BOOST_TEST(above_bound("refine") >= 0);
  BOOST_TEST(above_bound("refine") < 5);
  BOOST_TEST(above_bound("size-greedy") > 5);
}

BOOST_AUTO_TEST_CASE(what_tables_on_every_device_could_save_is_told_where_it_is_something) {
  const auto told = [](const std::string& devices, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "plan",      "--tables",      source_file("examples/dlrm_dcnv2.json"),
        "--devices", devices,         "--device-memory",
        "80GB",      "--evaluations", "500"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_command(arguments);
    BOOST_TEST(outcome.exit_code == 0, outcome.err);
    return outcome.out.find("with --data-parallel on, tables may be whole on every device") !=
           std::string::npos;
  };
  const std::vector<std::string> formula{"--cost-model", "torchrec"};
  // Between hosts, exchanges are what costs; on one host such tables gain nothing.
  BOOST_TEST(told("16", formula));
  BOOST_TEST(!told("8", formula));
  BOOST_TEST(!told("16", {}));
  BOOST_TEST(!told("16", {"--cost-model", "torchrec", "--data-parallel", "on"}));
  BOOST_TEST(!told("16", {"--cost-model", "torchrec", "--algorithm", "dim-greedy"}));
}

BOOST_AUTO_TEST_CASE(generated_tables_are_the_same_for_a_seed_and_can_be_summarised) {
  const std::vector<std::string> generate{"tables", "generate", "--count", "50", "--seed"};
  const auto with_seed = [&generate](const std::string& seed) {
    std::vector<std::string> arguments = generate;
    arguments.push_back(seed);
    return run_command(arguments).out;
  };
  const std::string tables = with_seed("3");
  BOOST_TEST((with_seed("3") == tables));
  BOOST_TEST((with_seed("4") != tables));
  const Outcome outcome =
      run_command({"tables", "summarize", "--tables", "-", "--output", "-"}, {.input = tables});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  const json::object summary = parsed(outcome.out);
  BOOST_TEST(summary.at("tables").as_int64() == 50);
  BOOST_TEST(summary.at("heaviest_by_bytes").as_array().size() == 10U);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_is_exit_code_1_and_leaves_nothing) {
  for (const std::string path : {"/proc/plan.json", "/no/such/folder/plan.json", "/"}) {
    const Outcome outcome = run_command(example_plan_arguments({"--output", path}));
    BOOST_TEST(outcome.exit_code == 1);
    BOOST_TEST(outcome.out.empty());
    BOOST_TEST(lines_of(outcome.err).size() == 1U);
    BOOST_TEST(outcome.err.find(path) != std::string::npos, outcome.err);
  }
  const Outcome full = run_command(example_plan_arguments(), {.output_path = "/dev/full"});
  BOOST_TEST(full.exit_code == 1);
  BOOST_TEST(full.err.find("standard output") != std::string::npos, full.err);
}

BOOST_AUTO_TEST_CASE(a_full_disk_keeps_the_old_file) {
  const TemporaryFolder folder;
  if (mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    BOOST_TEST_MESSAGE("skipped: no right to mount a small tmpfs");
    return;
  }
  const std::string plan = folder.write("plan.json", "the old plan");
  std::ofstream(folder.file("filler")) << std::string(100'000, 'x');  // takes all that is left
  const Outcome outcome = run_command(example_plan_arguments({"--output", plan}));
  const std::string kept = slurp(plan);
  const auto files = std::distance(std::filesystem::directory_iterator(folder.path()),
                                   std::filesystem::directory_iterator());
  umount(folder.path().c_str());
  BOOST_TEST(outcome.exit_code == 1);
  BOOST_TEST(lines_of(outcome.err).size() == 1U);
  BOOST_TEST(outcome.err.find(plan) != std::string::npos, outcome.err);
  BOOST_TEST(kept == "the old plan");
  BOOST_TEST(files == 2);
}

BOOST_AUTO_TEST_SUITE_END()
