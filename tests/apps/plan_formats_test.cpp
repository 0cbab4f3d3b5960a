// Plans in the formats of other trainers, out and in, through the real command.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "io/formats/plan_export.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"
#include "tests/apps/unknown_hardware.h"

namespace {

using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;
using neuroshard::test::unknown_hardware;

const std::string kTables = source_file("examples/dlrm_dcnv2.json");

/// The example's plan on 8 devices, in `folder`.
std::string plan_in(const TemporaryFolder& folder) {
  const std::string plan = folder.file("plan.json");
  const Outcome made =
      run_command({"plan", "--tables", kTables, "--devices", "8", "--device-memory", "80GB",
                   "--algorithm", "size-lookup-greedy", "--output", plan});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  return plan;
}

Outcome export_as(const std::string& plan, const std::vector<std::string>& flags) {
  std::vector<std::string> arguments{"export", "--tables", kTables, "--plan", plan};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return run_command(arguments);
}

Outcome simulated(const std::string& plan) {
  return run_command({"simulate", "--tables", kTables, "--plan", plan, "--device-memory", "80GB"});
}

/// From the table of devices to the plan's cost.
std::string costs_in(const std::string& report) {
  const std::size_t begin = report.find("\ndevice ");
  return report.substr(begin, report.find(" (", begin) - begin);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plan_formats)

BOOST_AUTO_TEST_CASE(foreign_plans_cost_what_the_plan_costs) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  const Outcome native = simulated(plan);
  BOOST_TEST(native.exit_code == 0);
  for (const std::string format : {"torchrec", "hugectr", "json"}) {
    const std::string file = folder.file(format + ".json");
    const Outcome exported = export_as(plan, {"--format", format, "--output", file});
    BOOST_TEST(exported.exit_code == 0);
    BOOST_TEST(exported.out.empty());
    BOOST_TEST(exported.err.empty());
    BOOST_TEST(simulated(file).out == native.out, format);
    const Outcome checked = run_command({"check", "--tables", kTables, "--plan", file,
                                         "--device-memory", "80GB", "--target", "torchrec"});
    BOOST_TEST(checked.exit_code == 0);
    BOOST_TEST(checked.out.find("no fault") != std::string::npos, checked.out);
  }
}

BOOST_AUTO_TEST_CASE(a_torchrec_plan_keeps_its_module_and_placements) {
  const TemporaryFolder folder;
  const std::string first = folder.file("torchrec.json");
  const Outcome made =
      export_as(plan_in(folder), {"--format", "torchrec", "--torchrec-module", "sparse.ebc",
                                  "--devices-per-host", "2", "--output", first});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  const Outcome again = export_as(first, {"--format", "torchrec"});
  BOOST_TEST(again.out == slurp(first));
  BOOST_TEST(again.err.empty());
  const Outcome moved = export_as(
      first, {"--format", "torchrec", "--torchrec-module", "m", "--trainer-device", "cpu"});
  BOOST_TEST(moved.out.find("\"m\": {") != std::string::npos);
  BOOST_TEST(moved.out.find("sparse") == std::string::npos);
  BOOST_TEST(moved.out.find("cuda") == std::string::npos);
  const Outcome native = export_as(first, {"--format", "json"});
  BOOST_TEST(native.exit_code == 0);
  BOOST_TEST(native.err.find("json has no place for its modules, they") != std::string::npos,
             native.err);
  std::string far = slurp(first);
  far.replace(far.find("/cuda:1"), 7, "/cuda:7");
  expect_one_line(export_as(folder.write("far.json", far), {"--format", "torchrec"}), 2,
                  "--devices-per-host");
  for (const std::string name : {"a..b", "a b"}) {
    expect_one_line(export_as(first, {"--format", "torchrec", "--torchrec-module", name}), 2,
                    "module: found '" + name + "'");
  }
}

BOOST_AUTO_TEST_CASE(plan_writes_every_format_that_export_does) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  for (const std::string format : {"torchrec", "hugectr", "hugectr-python", "csv", "json"}) {
    const Outcome direct =
        run_command({"plan", "--tables", kTables, "--devices", "8", "--device-memory", "80GB",
                     "--algorithm", "size-lookup-greedy", "--format", format, "--output", "-"});
    BOOST_TEST(direct.exit_code == 0);
    BOOST_TEST(direct.out == export_as(plan, {"--format", format}).out, format);
  }
  const Outcome module = export_as(plan, {"--format", "torchrec", "--torchrec-module", "sparse.ebc",
                                          "--trainer-device", "cpu", "--devices-per-host", "4"});
  BOOST_TEST(module.out.find("\"sparse.ebc\": {") != std::string::npos);
  BOOST_TEST(module.out.find("/cpu\"") != std::string::npos);
  expect_one_line(export_as(plan, {"--format", "torchrec", "--devices-per-host", "3"}), 2,
                  "--devices-per-host: found 3, expected a divisor of 8 devices");
}

BOOST_AUTO_TEST_CASE(costs_are_those_of_the_plan_that_the_format_holds) {
  const TemporaryFolder folder;
  const auto planned = [&](const std::string& format, const std::string& evaluations) {
    const std::string file = folder.file(format);
    const Outcome made = run_command(
        {"plan", "--tables", kTables, "--devices", "3", "--device-memory", "80GB", "--evaluations",
         evaluations, "--seed", "1", "--row-splits", "off", "--format", format, "--output", file});
    BOOST_TEST(made.exit_code == 0, made.err);
    return costs_in(made.out);
  };
  // The first half of a search for equal columns is for any, and those here are equal.
  const std::string native = planned("json", "1000");
  const std::string written = planned("hugectr", "2000");
  BOOST_TEST(written != native);  // a table's blocks on one device have become one
  BOOST_TEST(written == costs_in(simulated(folder.file("hugectr")).out));
  const Outcome exported = export_as(folder.file("json"), {"--format", "hugectr"});
  BOOST_TEST(exported.out == slurp(folder.file("hugectr")));
  BOOST_TEST(exported.err.find("hugectr has blocks of a table that are on one device joined") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_plan_is_exported_for_its_own_batch_size) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  for (const std::string format : {"json", "torchrec", "html"}) {
    const Outcome other = export_as(plan, {"--format", format, "--batch-size", "4096"});
    expect_one_line(other, 2, "--batch-size: found 4096, expected the plan's 65536 (simulate");
    BOOST_TEST(other.out.empty());
    BOOST_TEST(export_as(plan, {"--format", format, "--batch-size", "65536"}).exit_code == 0);
  }
}

BOOST_AUTO_TEST_CASE(formats_can_be_listed) {
  const Outcome outcome = run_command({"export", "--format", "list"});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  for (const std::string name : {"torchrec", "hugectr", "hugectr-python", "csv", "json", "html"}) {
    BOOST_TEST(outcome.out.find("\n" + name + " ") != std::string::npos, name);
  }
}

BOOST_AUTO_TEST_CASE(flags_that_a_format_has_no_place_for_are_told) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  const auto notes = [&](std::vector<std::string> flags) { return export_as(plan, flags).err; };
  BOOST_TEST(notes({"--format", "csv", "--trainer-device", "cpu", "--devices-per-host", "2"}) ==
             "--trainer-device: csv has no place for it\n"
             "--devices-per-host: csv has no place for it\n");
  BOOST_TEST(notes({"--format", "hugectr", "--devices-per-host", "2"}).empty());
  const std::vector<std::string> page{"--format", "html", "--devices-per-host", "2"};
  BOOST_TEST(notes(page) ==
             "--devices-per-host: changes nothing, h200_sim has the hosts it was trained on\n");
  BOOST_TEST(notes({"--torchrec-module", "m", "--device-memory", "80GB"}) ==
             "--torchrec-module: json has no place for it\n");
  BOOST_TEST(run_command({"plan", "--tables", kTables, "--devices", "8", "--device-memory", "80GB",
                          "--algorithm", "size-greedy", "--trainer-device", "cpu"})
                 .err == "--trainer-device: json has no place for it\n");
}

BOOST_AUTO_TEST_CASE(no_plan_tells_the_folder_of_its_cost_model) {
  const TemporaryFolder folder;
  const std::string model = folder.file("mine.safetensors");
  std::filesystem::copy_file(source_file("models/h200_sim.safetensors"), model);
  for (const std::string format : {"json", "torchrec", "html"}) {
    const Outcome outcome = run_command(
        {"plan", "--tables", kTables, "--devices", "8", "--device-memory", "80GB", "--algorithm",
         "size-greedy", "--cost-model", model, "--format", format, "--output", "-"});
    BOOST_TEST(outcome.exit_code == 0, outcome.err);
    BOOST_TEST(outcome.out.find("mine.safetensors") != std::string::npos, format);
    BOOST_TEST(outcome.out.find(folder.path().string()) == std::string::npos, format);
  }
}

BOOST_AUTO_TEST_CASE(flags_that_change_nothing_have_to_be_right_all_the_same) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  // Nobody needs one for a format without costs, so nothing is opened that is called so.
  const Outcome unused = export_as(plan, {"--format", "csv", "--cost-model", "no-such"});
  BOOST_TEST(unused.exit_code == 0);
  BOOST_TEST(unused.err.find("--cost-model: csv has no place for it") != std::string::npos);
  const std::string message = "--torchrec-module: found 'a..b', expected a dotted name";
  expect_one_line(export_as(plan, {"--format", "csv", "--torchrec-module", "a..b"}), 2, message);
  expect_one_line(run_command({"plan", "--tables", kTables, "--devices", "8", "--device-memory",
                               "80GB", "--torchrec-module", "a..b"}),
                  2, message);
}

BOOST_AUTO_TEST_CASE(the_tables_say_which_module_they_are_in) {
  const TemporaryFolder folder;
  const std::string text = R"({"batch_size": 4096, "tables": [
    {"name": "user", "num_embeddings": 100, "embedding_dim": 8, "pooling_factors": [2],
     "module": "towers.user.bags"},
    {"name": "item", "num_embeddings": 90, "embedding_dim": 8, "pooling_factors": [3],
     "module": "towers.item.bags"}]})";
  const std::string tables = folder.write("tables.json", text);
  const auto planned = [&](const std::string& file, std::vector<std::string> more) {
    std::vector<std::string> arguments{"plan", "--tables",    file,          "--devices",
                                       "2",    "--algorithm", "size-greedy", "--device-memory",
                                       "1GB",  "--format",    "torchrec",    "--output",
                                       "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  };
  const Outcome both = planned(tables, {});
  BOOST_REQUIRE_MESSAGE(both.exit_code == 0, both.err);
  BOOST_TEST(both.out.find("\"towers.user.bags\": {\n      \"user\": {") != std::string::npos);
  BOOST_TEST(both.out.find("\"towers.item.bags\": {\n      \"item\": {") != std::string::npos);
  // The way over a plan of ours, with the tables beside it.
  const std::string native = folder.file("native.json");
  BOOST_TEST(run_command({"plan", "--tables", tables, "--devices", "2", "--device-memory", "1GB",
                          "--algorithm", "size-greedy", "--output", native})
                 .exit_code == 0);
  BOOST_TEST(
      run_command({"export", "--tables", tables, "--plan", native, "--format", "torchrec"}).out ==
      both.out);
  const std::string torchrec = folder.write("torchrec.json", both.out);
  const Outcome checked = run_command({"check", "--tables", tables, "--plan", torchrec});
  BOOST_TEST(checked.exit_code == 0);
  const Outcome one = planned(tables, {"--torchrec-module", "all"});
  BOOST_TEST(one.out.find("\"all\": {") != std::string::npos);
  BOOST_TEST(one.out.find("towers") == std::string::npos);
  const std::string first = ",\n     \"module\": \"towers.user.bags\"";
  std::string half = text;
  half.erase(half.find(first), first.size());
  expect_one_line(planned(folder.write("half.json", half), {}), 2,
                  "table 0 'user': found no module, expected one as for the other tables");
}

/// A report without the command that it names.
std::string without_command(std::string page) {
  const std::size_t from = page.find("<code>");
  const std::size_t to = page.find("</code>");
  BOOST_REQUIRE(to != std::string::npos);
  return page.erase(from, to - from);
}

BOOST_AUTO_TEST_CASE(the_report_shows_the_limit_and_the_baselines) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  const std::string direct = folder.file("report.html");
  BOOST_TEST(
      run_command({"plan", "--tables", kTables, "--devices", "8", "--device-memory", "80GB",
                   "--algorithm", "size-lookup-greedy", "--format", "html", "--output", direct})
          .exit_code == 0);
  const std::string page = export_as(plan, {"--format", "html", "--device-memory", "80GB"}).out;
  BOOST_TEST(without_command(page) == without_command(slurp(direct)));
  BOOST_TEST(slurp(direct).find("dim-greedy") != std::string::npos);
  BOOST_TEST(slurp(direct).find("SIMULATED") != std::string::npos);
  BOOST_TEST(slurp(direct).find("limit 74.5 GiB") != std::string::npos);
  // The plan knows its memory; an older one does not.
  BOOST_TEST(without_command(export_as(plan, {"--format", "html"}).out) == without_command(page));
  std::string text = slurp(plan);
  const std::string memory = "  \"device_memory_bytes\": 80000000000,\n";
  text.erase(text.find(memory), memory.size());
  const Outcome without = export_as(folder.write("older.json", text), {"--format", "html"});
  BOOST_TEST(without.exit_code == 0);
  BOOST_TEST(without.out.find("dim-greedy") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(check_tells_of_devices_and_tables_that_there_are_none_of) {
  const TemporaryFolder folder;
  std::string text = slurp(plan_in(folder));
  const auto change = [&](const std::string& from, const std::string& to) {
    BOOST_REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  };
  change("{\"table\": 3,", "{\"table\": 99,");
  const std::string table = "{\"table\": 7,";
  const std::size_t device = text.find("\"device\": ", text.find(table)) + 10;
  text.replace(device, 1, "8");
  const std::string bad = folder.write("bad.json", text);
  const Outcome outcome =
      run_command({"check", "--tables", kTables, "--plan", bad, "--output", "-"});
  expect_one_line(outcome, 2, "3 faults, expected none");
  for (const std::string fault :
       {"shards[7]: device 8, expected 0 to 7, or 'all'", "shards[3]: table 99, expected 0 to 25",
        "table 3 'cat_3': shards cover 0 of its"}) {
    BOOST_TEST(outcome.out.find("\"text\": \"" + fault) != std::string::npos, outcome.out);
  }
}

BOOST_AUTO_TEST_CASE(check_tells_faults_on_stdout_and_by_its_exit_code) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  const Outcome full =
      run_command({"check", "--tables", kTables, "--plan", plan, "--device-memory", "20GB"});
  expect_one_line(full, 3, "faults, expected none");
  BOOST_TEST(full.out.find("devices have 18.6 GiB") != std::string::npos);

  std::string torn = export_as(plan, {"--format", "torchrec"}).out;
  torn.replace(torn.find("\"cat_1\""), 7, "\"dog_1\"");
  const std::string bad = folder.write("bad.json", torn);
  const Outcome outcome =
      run_command({"check", "--tables", kTables, "--plan", bad, "--output", "-"});
  expect_one_line(outcome, 2, "2 faults, expected none");
  BOOST_TEST(outcome.out.find("\"kind\": \"plan\", \"text\": \"table 'dog_1' is not among") !=
             std::string::npos);
  expect_one_line(simulated(bad), 2, bad + ": table 'dog_1' is not among the tables given");
}

BOOST_AUTO_TEST_CASE(a_plan_that_no_cost_model_describes_is_named) {
  const TemporaryFolder folder;
  const std::string everywhere = folder.write("everywhere.json", R"({
    "format": "neuroshard-plan", "version": 1, "devices": 2, "batch_size": 65536, "shards": [
      {"table": 0, "rows": [0, 10], "columns": [0, 8], "device": "all"}]})");
  const std::string tables =
      folder.write("tables.json",
                   R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "user", "rows": 10, "dim": 8, "pooling_factor": 1}]})");
  const std::vector<std::string> files{"--tables", tables, "--plan", everywhere};
  const auto with = [&files](std::vector<std::string> arguments, std::vector<std::string> more) {
    arguments.insert(arguments.end(), files.begin(), files.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  };
  const std::string expected =
      everywhere +
      ": shards[0]: table 0 is on every device: networks have a cost of data-parallel "
      "tables where ";
  const std::string model = folder.write("own.safetensors", unknown_hardware(2));
  expect_one_line(with({"simulate"}, {"--device-memory", "80GB", "--cost-model", model}), 2,
                  expected);
  expect_one_line(with({"export"}, {"--format", "html", "--cost-model", model}), 2, expected);
  BOOST_TEST(with({"export"}, {"--format", "torchrec"}).exit_code == 0);
  for (const std::string known : {"torchrec", "h200_sim"}) {
    const Outcome costed = with({"simulate"}, {"--device-memory", "80GB", "--cost-model", known});
    BOOST_TEST(costed.exit_code == 0, costed.err);
  }
}

BOOST_AUTO_TEST_CASE(data_parallel_tables_are_planned_when_asked_for) {
  const TemporaryFolder folder;
  const std::string file = folder.file("torchrec.json");
  const auto planned = [&](const std::string& data_parallel) {
    return run_command({"plan", "--tables", kTables, "--devices", "16", "--device-memory", "80GB",
                        "--cost-model", "torchrec", "--evaluations", "1000", "--data-parallel",
                        data_parallel, "--format", "torchrec", "--output", file});
  };
  BOOST_TEST(planned("off").exit_code == 0);
  BOOST_TEST(slurp(file).find("data_parallel") == std::string::npos);
  const Outcome made = planned("on");
  BOOST_TEST(made.exit_code == 0);
  BOOST_TEST(made.out.find("data-parallel ones") != std::string::npos, made.out);  // of the bound
  BOOST_TEST(slurp(file).find("data_parallel") != std::string::npos);
  const Outcome checked =
      run_command({"check", "--tables", kTables, "--plan", file, "--target", "torchrec"});
  BOOST_TEST(checked.out.find("no fault") != std::string::npos, checked.out);
  const Outcome costed = run_command({"simulate", "--tables", kTables, "--plan", file,
                                      "--device-memory", "80GB", "--cost-model", "torchrec"});
  const auto cost_in = [](const std::string& text) {
    const std::size_t begin = text.find("plan cost ");
    return text.substr(begin, text.find(" ms", begin) - begin);
  };
  BOOST_TEST(cost_in(costed.out) == cost_in(made.out));
}

BOOST_AUTO_TEST_CASE(bad_requests_end_in_one_line) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  expect_one_line(run_command({"plan", "--tables", kTables, "--devices", "8", "--device-memory",
                               "80GB", "--format", "torchrec"}),
                  2, "--format: found 'torchrec' without --output");
  const std::string narrow =
      folder.write("narrow.json",
                   R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "user", "rows": 10, "dim": 6, "pooling_factor": 1}]})");
  // One byte of memory: with a search first, this would be exit code 3.
  expect_one_line(run_command({"plan", "--tables", narrow, "--devices", "2", "--device-memory",
                               "1B", "--format", "torchrec", "--output", "-"}),
                  2, "6 columns, TorchRec's kernels need a multiple of 4");
  expect_one_line(export_as(plan, {"--format", "torch"}), 2, "did you mean 'torchrec'?");
  const std::string uneven = folder.write("uneven.json", R"({
    "format": "neuroshard-plan", "version": 1, "devices": 2, "batch_size": 64, "shards": [
      {"table": 0, "rows": [0, 10], "columns": [0, 6], "device": 0},
      {"table": 0, "rows": [0, 10], "columns": [6, 8], "device": 1}]})");
  const std::string tables =
      folder.write("tables.json",
                   R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "user", "rows": 10, "dim": 8, "pooling_factor": 1}]})");
  for (const std::string format : {"torchrec", "hugectr"}) {
    const std::string output = folder.file("refused");
    expect_one_line(run_command({"export", "--tables", tables, "--plan", uneven, "--format", format,
                                 "--output", output}),
                    2, "table 0 'user': ");
    BOOST_TEST(!std::filesystem::exists(output));
  }
}

BOOST_AUTO_TEST_SUITE_END()
