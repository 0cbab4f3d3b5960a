// A plan file says what it was made for: commands that read it need no flag again.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/json_output.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {

using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

using Words = std::vector<std::string>;

const std::string kSmallTables =
    R"({"format": "neuroshard-tables", "version": 1, "batch_size": 4096, "tables": [
 {"name": "user", "rows": 400000, "dim": 64, "pooling_factor": 30},
 {"name": "item", "rows": 100000, "dim": 128, "pooling_factor": 10},
 {"name": "ad", "rows": 7000, "dim": 16, "pooling_factor": 2}]})";

/// Plans of kSmallTables on four devices, and what is done with them.
class Standalone {
 public:
  explicit Standalone(const Words& flags, const std::string& memory = "1GB")
      : tables_(folder_.write("tables.json", kSmallTables)), plan_(folder_.file("plan.json")) {
    Words arguments{"plan", "--tables", tables_, "--devices",     "4",  "--device-memory",
                    memory, "--output", plan_,   "--evaluations", "500"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Outcome made = run_command(arguments);
    BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  }
  [[nodiscard]] Outcome run(const std::string& command, const Words& more = {}) const {
    Words arguments{command, "--tables", tables_, "--plan", plan_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  }
  [[nodiscard]] boost::json::object plan() const { return parsed(slurp(plan_)); }
  void edit(const std::string& from, const std::string& to) const {
    std::string text = slurp(plan_);
    const std::size_t place = text.find(from);
    BOOST_REQUIRE_MESSAGE(place != std::string::npos, from << " is not in " << text);
    folder_.write("plan.json", text.replace(place, from.size(), to));
  }
  void write_tables(const std::string& text) const { folder_.write("tables.json", text); }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  TemporaryFolder folder_;
  std::string tables_;
  std::string plan_;
};

void expect_quiet(const Outcome& outcome, const std::string& what) {
  BOOST_TEST(outcome.exit_code == 0, what << ": " << outcome.err);
  BOOST_TEST(outcome.err.empty(), what << ": " << outcome.err);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(standalone_plan)

BOOST_AUTO_TEST_CASE(no_command_needs_a_flag_again) {
  const Words kinds[] = {{"--target", "torchrec"},
                         {"--cost-model", "torchrec", "--bandwidths", "2000,300,25,64",
                          "--devices-per-host", "2", "--buffers", "train_sparse_dist"},
                         {"--cost-model", "a100_sim", "--target", "torchrec"}};
  for (const Words& flags : kinds) {
    const Standalone made(flags);
    const boost::json::object plan = made.plan();
    BOOST_TEST(plan.at("device_memory_bytes").as_int64() == 1'000'000'000);
    BOOST_TEST(plan.at("table_names").as_array().size() == 3U);
    const std::string again = made.file("again.json");
    expect_quiet(made.run("simulate", {"--output", again}), "simulate");
    const boost::json::object costed = parsed(slurp(again));
    for (const char* key :
         {"cost_ms", "per_device", "shards", "device_memory_bytes", "provenance", "table_names"}) {
      BOOST_TEST((costed.at(key) == plan.at(key)), key);
    }
    BOOST_TEST(costed.contains("devices_per_host") == plan.contains("devices_per_host"));
    const Outcome explained = made.run("explain", {"--output", "-"});
    expect_quiet(explained, "explain");
    BOOST_TEST(parsed(explained.out).at("cost_ms").as_double() == plan.at("cost_ms").as_double());
    expect_quiet(made.run("check"), "check");
    const std::string next = made.file("next.json");
    expect_quiet(
        made.run("replan", {"--move-limit", "1MB", "--evaluations", "100", "--output", next}),
        "replan");
    BOOST_TEST(parsed(slurp(next)).at("cost_ms").as_double() <= plan.at("cost_ms").as_double());
    const Outcome page = made.run("export", {"--format", "html"});
    expect_quiet(page, "export");
    BOOST_TEST(page.out.find("of 954 MiB") != std::string::npos);
    expect_quiet(made.run("export", {"--format", "torchrec"}), "export");
  }
}

BOOST_AUTO_TEST_CASE(hosts_and_their_memory_are_kept) {
  const Standalone made(
      {"--cost-model", "torchrec", "--devices-per-host", "2", "--host-memory", "2GB"}, "20MB");
  const boost::json::object plan = made.plan();
  BOOST_TEST(plan.at("devices_per_host").as_int64() == 2);
  BOOST_TEST(plan.at("host_memory_bytes").as_int64() == 2'000'000'000);
  expect_quiet(made.run("check"), "check");
  expect_quiet(made.run("simulate"), "simulate");
  expect_quiet(made.run("replan", {"--move-limit", "1MB", "--evaluations", "100"}), "replan");
  const Outcome written = made.run("export", {"--format", "torchrec"});
  BOOST_TEST(written.out.find("rank:3/cuda:1") != std::string::npos);
  made.edit("\"host_memory_bytes\": 2000000000", "\"host_memory_bytes\": 1000");
  BOOST_TEST(made.run("check").exit_code == 3);
}

BOOST_AUTO_TEST_CASE(cache_hits_are_kept_and_a_flag_wins) {
  const Standalone made(
      {"--cost-model", "torchrec", "--cache-hits", "curve", "--host-memory", "2GB"}, "20MB");
  const double cost = made.plan().at("cost_ms").as_double();
  BOOST_TEST(made.plan().at("provenance").at("cache_hits").as_string() == "curve");
  const auto costed = [&](const Words& flags) {
    const std::string file = made.file("costed.json");
    Words all{"--output", file};
    all.insert(all.end(), flags.begin(), flags.end());
    const Outcome outcome = made.run("simulate", all);
    BOOST_TEST(outcome.exit_code == 0, outcome.err);
    return std::pair(parsed(slurp(file)).at("cost_ms").as_double(), outcome.err);
  };
  BOOST_TEST(costed({}).first == cost);
  BOOST_TEST(costed({}).second.empty());
  // Bandwidths alone leave it as it is.
  BOOST_TEST(costed({"--bandwidths", "897,600,12.5,32"}).first == cost);
  const auto [by_load_factor, note] = costed({"--cache-hits", "load-factor"});
  BOOST_TEST(by_load_factor > cost);
  BOOST_TEST(note.find("was made with cache hits by curve, --cache-hits says load-factor\n") !=
                 std::string::npos,
             note);
  const Outcome refused = made.run("simulate", {"--cache-hits", "all"});
  BOOST_TEST(refused.exit_code == 2);
  BOOST_TEST(refused.err.find("--cache-hits: found 'all', expected ") != std::string::npos,
             refused.err);
}

BOOST_AUTO_TEST_CASE(memory_that_is_too_small_is_told_without_a_flag) {
  const Standalone made({});
  made.edit("\"device_memory_bytes\": 1000000000", "\"device_memory_bytes\": 1000000");
  BOOST_TEST(made.run("check").exit_code == 3);
  BOOST_TEST(made.run("simulate").exit_code == 3);
  BOOST_TEST(made.run("explain").exit_code == 3);
}

BOOST_AUTO_TEST_CASE(a_flag_wins_and_a_contradiction_is_said) {
  const Standalone made(
      {"--cost-model", "torchrec", "--bandwidths", "2000,300,25", "--devices-per-host", "2"});
  const auto noted = [&](const Words& flags, const std::string& words) {
    const Outcome outcome = made.run("simulate", flags);
    BOOST_TEST(outcome.exit_code == 0, outcome.err);
    BOOST_TEST(outcome.err.find("plan.json: " + words) != std::string::npos, outcome.err);
  };
  noted({"--device-memory", "2GB"},
        "was made for 954 MiB of device memory, --device-memory says 1.86 GiB\n");
  noted({"--bandwidths", "900,600,12.5"}, "was made for other bandwidths than --bandwidths says\n");
  const Outcome other = made.run("simulate", {"--cost-model", "a100_sim"});
  BOOST_TEST(other.err.empty(), other.err);
  BOOST_TEST(other.out.find(", the plan was made by torchrec\n") != std::string::npos, other.out);
  const std::string costed = made.file("costed.json");
  expect_quiet(made.run("simulate", {"--cost-model", "a100_sim", "--output", costed}), "simulate");
  BOOST_TEST(made.plan().contains("lower_bound_ms"));
  BOOST_TEST(!parsed(slurp(costed)).contains("lower_bound_ms"));
  const Outcome hosts = made.run("export", {"--devices-per-host", "4"});
  BOOST_TEST(hosts.err.find("was made for hosts of 2 devices, --devices-per-host says 4\n") !=
                 std::string::npos,
             hosts.err);
  BOOST_TEST(parsed(hosts.out).at("devices_per_host").as_int64() == 4);
  expect_quiet(made.run("simulate", {"--device-memory", "1GB", "--cost-model", "torchrec",
                                     "--bandwidths", "2000,300,25", "--devices-per-host", "2"}),
               "the same flags");
  BOOST_TEST(made.run("check", {"--device-memory", "2GB"}).err.find("was made for") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(cost_models_of_a_file_have_to_be_named_again) {
  const TemporaryFolder folder;
  const std::string models =
      folder.write("mine.safetensors", slurp(source_file("models/a100_sim.safetensors")));
  const Standalone made({"--cost-model", models});
  const Outcome outcome = made.run("simulate");
  BOOST_TEST(outcome.exit_code == 0);
  BOOST_TEST(outcome.err.find("was made by the cost model mine.safetensors, here it is h200_sim") !=
                 std::string::npos,
             outcome.err);
  expect_quiet(made.run("simulate", {"--cost-model", models}), "named again");
}

BOOST_AUTO_TEST_CASE(older_plans_need_the_memory_and_say_so) {
  const Standalone made({});
  made.edit("  \"device_memory_bytes\": 1000000000,\n", "");
  for (const char* command : {"simulate", "explain"}) {
    expect_one_line(made.run(command), 2, "found no --device-memory, and ");
  }
  expect_one_line(made.run("replan", {"--move-limit", "1MB"}), 2,
                  "does not say it, expected memory");
  expect_quiet(made.run("simulate", {"--device-memory", "1GB"}), "simulate");
  expect_quiet(made.run("check"), "check");
}

BOOST_AUTO_TEST_CASE(tables_in_another_order_are_found_by_name) {
  const Standalone made({});
  const double before = made.plan().at("cost_ms").as_double();
  made.write_tables(R"({"format": "neuroshard-tables", "version": 1, "batch_size": 4096, "tables": [
 {"name": "ad", "rows": 7000, "dim": 16, "pooling_factor": 2},
 {"name": "user", "rows": 400000, "dim": 64, "pooling_factor": 30},
 {"name": "item", "rows": 100000, "dim": 128, "pooling_factor": 10}]})");
  const std::string again = made.file("again.json");
  const Outcome outcome = made.run("simulate", {"--output", again});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.err.find("was made of another table file") != std::string::npos);
  const boost::json::object plan = parsed(slurp(again));
  BOOST_TEST(plan.at("table_names").as_array()[0].as_string() == "ad");
  BOOST_TEST(plan.at("cost_ms").as_double() == before, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_SUITE_END()
