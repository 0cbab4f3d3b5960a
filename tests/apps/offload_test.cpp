// Tables beyond the devices' memory: from --host-memory to the trainer's file and back.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/apps/json_output.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

namespace {

using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

/// MLPerf's DLRM-DCNv2, 97.4 GiB, on eight devices that hold 64 GiB of it.
const std::string kOffloadTables = source_file("examples/dlrm_dcnv2.json");

/// Of every search here; what clusters are told does not depend on how good their plans are.
const std::string kOffloadEvaluations = neuroshard::test::unless_sanitized("2000", "300");

using Flags = std::map<std::string, std::string>;

/// With `changed` flags; those that are empty are left out.
std::vector<std::string> offload_arguments(const Flags& changed) {
  Flags flags{{"devices", "8"},
              {"device-memory", "8GiB"},
              {"host-memory", "100GiB"},
              {"cost-model", "torchrec"},
              {"evaluations", kOffloadEvaluations}};
  for (const auto& [name, value] : changed) flags[name] = value;
  std::vector<std::string> arguments{"plan", "--tables", kOffloadTables};
  for (const auto& [name, value] : flags) {
    if (value.empty()) continue;
    arguments.push_back("--" + name);
    arguments.push_back(value);
  }
  return arguments;
}

Outcome planned_beyond(const Flags& changed) { return run_command(offload_arguments(changed)); }

std::int64_t host_bytes_in(const boost::json::object& plan) {
  std::int64_t bytes = 0;
  for (const boost::json::value& device : plan.at("per_device").as_array()) {
    const boost::json::value* own = device.as_object().if_contains("host_bytes");
    if (own != nullptr) bytes += own->as_int64();
    BOOST_TEST(device.at("memory_bytes").as_int64() <= std::int64_t{8} << 30);
  }
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(offload)

BOOST_AUTO_TEST_CASE(what_devices_have_no_room_for_goes_to_the_host) {
  const TemporaryFolder folder;
  const std::string file = folder.file("plan.json");
  const Outcome made = planned_beyond({{"output", file}});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  BOOST_TEST(made.out.find("  on host") != std::string::npos, made.out);
  BOOST_TEST(made.out.find(" in host memory, ") != std::string::npos, made.out);
  BOOST_TEST(made.out.find("with caches of 1 to 99 % of the rows (a lower bound of") !=
             std::string::npos);

  const boost::json::object plan = parsed(slurp(file));
  const std::int64_t on_host = host_bytes_in(plan);
  BOOST_TEST(on_host >= std::int64_t{34} << 30);  // what eight devices leave of 97.4 GiB
  BOOST_TEST(on_host <= std::int64_t{100} << 30);
  for (const boost::json::value& table : plan.at("offloaded").as_array()) {
    const auto& kernel = table.at("compute_kernel").as_string();
    const bool cached = kernel == "fused_uvm_caching";
    BOOST_TEST((cached || kernel == "fused_uvm"));
    BOOST_TEST(table.as_object().contains("cache_load_factor") == cached);
  }
  const Outcome again = run_command({"simulate", "--tables", kOffloadTables, "--plan", file,
                                     "--device-memory", "8GiB", "--cost-model", "torchrec"});
  BOOST_TEST(again.exit_code == 0, again.err);
  const std::size_t cost = made.out.find("plan cost ");
  BOOST_TEST(again.out.find(made.out.substr(cost, 18)) != std::string::npos, again.out);
  expect_one_line(run_command({"simulate", "--tables", kOffloadTables, "--plan", file,
                               "--cost-model", "h200_sim"}),
                  2, "the cost model torchrec alone knows host memory");
}

BOOST_AUTO_TEST_CASE(the_trainers_file_says_it_too) {
  const TemporaryFolder folder;
  const std::string file = folder.file("torchrec.json");
  const Outcome made = planned_beyond({{"format", "torchrec"}, {"output", file}});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  BOOST_TEST(slurp(file).find("\"compute_kernel\": \"fused_uvm") != std::string::npos);
  const Outcome checked = run_command({"check", "--tables", kOffloadTables, "--plan", file,
                                       "--device-memory", "8GiB", "--target", "torchrec"});
  BOOST_TEST(checked.out.find("no fault") != std::string::npos, checked.out);
}

BOOST_AUTO_TEST_CASE(a_model_that_fits_is_planned_as_without_hosts) {
  const Flags fits{{"device-memory", "80GB"}, {"output", "-"}};
  Flags without = fits;
  without["host-memory"] = "";
  const Outcome with = planned_beyond(fits);
  BOOST_REQUIRE(with.exit_code == 0);
  BOOST_TEST((parsed(with.out).at("shards") == parsed(planned_beyond(without).out).at("shards")));
  BOOST_TEST(!parsed(with.out).contains("offloaded"));
}

BOOST_AUTO_TEST_CASE(what_fits_nowhere_is_refused_with_what_would_do) {
  expect_one_line(planned_beyond({{"host-memory", ""}}), 3,
                  "; with --host-memory, what does not fit goes there");
  // One that does not know it would not let it help.
  BOOST_TEST(
      planned_beyond({{"host-memory", ""}, {"cost-model", ""}, {"robust", "torchrec,h200_sim"}})
          .err.find("host-memory") == std::string::npos);
  expect_one_line(planned_beyond({{"host-memory", "20GiB"}}), 3, "of memory per host for tables");
  expect_one_line(planned_beyond({{"host-memory", "much"}}), 2, "host-memory");
}

BOOST_AUTO_TEST_CASE(where_host_memory_changes_nothing_a_note_says_so) {
  const TemporaryFolder folder;
  const Flags fits{{"device-memory", "80GB"}, {"output", folder.file("plan.json")}};
  const auto note = [&](const std::string& name, const std::string& value) {
    Flags flags = fits;
    flags[name] = value;
    const Outcome made = planned_beyond(flags);
    BOOST_TEST(made.exit_code == 0, made.err);
    return made.err;
  };
  const std::string begin = "--host-memory: changes nothing, ";
  BOOST_TEST(
      note("cost-model", "h200_sim").find(begin + "h200_sim knows no tables in host memory") !=
      std::string::npos);
  BOOST_TEST(note("format", "hugectr").find(begin + "hugectr has no place") != std::string::npos);
  const Outcome swept =
      run_command({"sweep", "--tables", kOffloadTables, "--devices", "8", "--device-memory", "80GB",
                   "--host-memory", "1TB", "--cost-model", "torchrec", "--target", "hugectr",
                   "--evaluations", "300"});
  BOOST_TEST(swept.err.find(begin + "hugectr has no place") != std::string::npos, swept.err);
  BOOST_TEST(note("output", folder.file("other.json")).find("--host-memory") == std::string::npos);
  Flags cpu = fits;
  cpu["format"] = "torchrec";
  cpu["trainer-device"] = "cpu";
  BOOST_TEST(planned_beyond(cpu).err.find(begin + "TorchRec has no such kernels on CPU") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_sweep_tells_which_clusters_need_the_hosts_memory) {
  const std::vector<std::string> arguments{
      "sweep",           "--tables",      kOffloadTables,     "--devices", "8",
      "--device-memory", "8GiB,80GB",     "--host-memory",    "100GiB",    "--cost-model",
      "torchrec",        "--evaluations", kOffloadEvaluations};
  const Outcome shown = run_command(arguments);
  BOOST_TEST(shown.exit_code == 0, shown.err);
  BOOST_TEST(shown.out.find("of limit  on hosts  shards") != std::string::npos, shown.out);
  std::vector<std::string> to_stdout = arguments;
  to_stdout.insert(to_stdout.end(), {"--output", "-"});
  const boost::json::object report = parsed(run_command(to_stdout).out);
  BOOST_TEST(report.at("host_memory_bytes").as_int64() == std::int64_t{100} << 30);
  const boost::json::array& clusters = report.at("clusters").as_array();
  BOOST_TEST_REQUIRE(clusters.size() == 2U);
  const boost::json::object plan = parsed(planned_beyond({{"output", "-"}}).out);
  BOOST_TEST((clusters[0].at("cost_ms") == plan.at("cost_ms")));
  BOOST_TEST(clusters[0].at("host_bytes").as_int64() == host_bytes_in(plan));
  BOOST_TEST(clusters[0].at("offloaded").to_number<std::size_t>() ==
             plan.at("offloaded").as_array().size());
  BOOST_TEST(clusters[1].at("host_bytes").as_int64() == 0);
  BOOST_TEST(clusters[1].at("offloaded").as_int64() == 0);
}

BOOST_AUTO_TEST_CASE(algorithms_are_compared_with_tables_in_host_memory) {
  const TemporaryFolder folder;
  std::string ids;
  std::string dims;
  for (int table = 0; table < 26; ++table) {
    ids += (table == 0 ? "" : ",") + std::to_string(table);
    dims += table == 0 ? "128" : ",128";
  }
  const std::string tasks = folder.file("tasks.txt");
  std::ofstream(tasks) << ids << " " << dims << "\n";
  std::vector<std::string> arguments{"compare",
                                     "--tables",
                                     kOffloadTables,
                                     "--tasks",
                                     tasks,
                                     "--devices",
                                     "8",
                                     "--device-memory",
                                     "8GiB",
                                     "--cost-model",
                                     "torchrec",
                                     "--evaluations",
                                     kOffloadEvaluations,
                                     "--output",
                                     "-",
                                     "--algorithms",
                                     "size-greedy,refine"};
  const auto results = [&] {
    return parsed(run_command(arguments).out).at("tasks").as_array()[0].at("results").as_object();
  };
  BOOST_TEST(!results().at("refine").at("feasible").as_bool());
  arguments.insert(arguments.end(), {"--host-memory", "100GiB"});
  const boost::json::object with = results();
  for (const char* algorithm : {"size-greedy", "refine"}) {
    BOOST_TEST(with.at(algorithm).at("feasible").as_bool(), algorithm);
    BOOST_TEST(host_bytes_in(with.at(algorithm).as_object()) >= std::int64_t{34} << 30);
    BOOST_TEST(!with.at(algorithm).at("offloaded").as_array().empty(), algorithm);
  }
  BOOST_TEST(with.at("refine").at("cost_ms").to_number<double>() <
             with.at("size-greedy").at("cost_ms").to_number<double>());
}

BOOST_AUTO_TEST_CASE(replanning_watches_the_memory_of_hosts_where_it_is_told) {
  const TemporaryFolder folder;
  const std::string file = folder.file("plan.json");
  const Outcome made = planned_beyond(
      {{"devices", "16"}, {"device-memory", "2GiB"}, {"host-memory", "50GB"}, {"output", file}});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  const auto replanned = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"replan", "--tables", kOffloadTables, "--plan", file,
                               "--device-memory", "2GiB", "--move-limit", "10GB", "--cost-model",
                               "torchrec", "--evaluations", kOffloadEvaluations});
    return run_command(more);
  };
  const Outcome kept = replanned({"--host-memory", "50GB", "--output", folder.file("next.json")});
  BOOST_TEST(kept.exit_code == 0, kept.err);
  BOOST_TEST(kept.err == "");
  expect_one_line(replanned({"--host-memory", "30GB"}), 3, ": host ");
  BOOST_TEST(replanned({}).err == "");  // the plan knows it
  std::string text = slurp(file);
  const std::string memory = "  \"host_memory_bytes\": 50000000000,\n";
  text.erase(text.find(memory), memory.size());
  folder.write("plan.json", text);
  BOOST_TEST(replanned({}).err.find("tables in host memory may go to other hosts") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
