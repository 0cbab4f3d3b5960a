// How sure costs are: beside every cost, in every file, and no saving where a gap is within the
// error.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

namespace {

namespace json = boost::json;
using neuroshard::test::lines_of;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Outcome checked(const std::vector<std::string>& words) {
  Outcome outcome = run_command(words);
  BOOST_TEST(outcome.exit_code == 0, words.front() << ": " << outcome.err);
  return outcome;
}

/// A plan of generated tables under a cost model, and what people are told.
struct PlannedBy {
  explicit PlannedBy(const std::string& cost_model) : model(cost_model) {
    checked({"tables", "generate", "--count", "20", "--seed", "1", "--output", tables});
    told = checked(with({"plan", "--tables", tables, "--devices", "4", "--algorithm", "dim-greedy",
                         "--output", plan}));
  }
  [[nodiscard]] std::vector<std::string> with(std::vector<std::string> words) const {
    words.insert(words.end(), {"--device-memory", "80GB", "--cost-model", model});
    return words;
  }
  [[nodiscard]] json::object document() const { return json::parse(slurp(plan)).as_object(); }

  TemporaryFolder folder;
  std::string model;
  std::string tables = folder.file("tables.json");
  std::string plan = folder.file("plan.json");
  Outcome told;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cost_error)

BOOST_AUTO_TEST_CASE(every_cost_carries_its_error) {
  const PlannedBy own("h200_sim");
  const json::object error = own.document().at("cost_error").as_object();
  BOOST_TEST(error.at("share").to_number<double>() > 0);
  const std::string basis(error.at("basis").as_string());
  BOOST_TEST(has(basis, "90 % of held-out costs within"), basis);
  BOOST_TEST(has(own.told.out, " ms +- "), own.told.out);
  BOOST_TEST(has(own.told.out, "\nerror: " + basis + "\n"), own.told.out);

  const std::vector<std::string> of_plan{"--tables", own.tables, "--plan", own.plan};
  for (const char* command : {"simulate", "explain"}) {
    std::vector<std::string> words{command};
    words.insert(words.end(), of_plan.begin(), of_plan.end());
    BOOST_TEST(has(checked(own.with(words)).out, " ms +- "), command);
    words.insert(words.end(), {"--output", "-"});
    const json::value written = json::parse(checked(own.with(words)).out);
    BOOST_TEST((written.at("cost_error").as_object() == error), command);
  }

  const std::string tasks = own.folder.write("tasks.txt", "0,1,2 64,64,64\n");
  const std::vector<std::string> compare{"compare", "--tables",     own.tables,
                                         "--tasks", tasks,          "--devices",
                                         "2",       "--algorithms", "dim-greedy,random"};
  BOOST_TEST(has(checked(own.with(compare)).out, "costs +- "));
  std::vector<std::string> to_file = own.with(compare);
  to_file.insert(to_file.end(), {"--output", "-"});
  const json::value compared = json::parse(checked(to_file).out);
  BOOST_TEST(compared.at_pointer("/tasks/0/results/random/cost_error/share").to_number<double>() >
             0);

  const std::string page = own.folder.file("plan.html");
  checked(own.with({"export", "--tables", own.tables, "--plan", own.plan, "--format", "html",
                    "--output", page}));
  BOOST_TEST(has(slurp(page), "&plusmn;"));
}

BOOST_AUTO_TEST_CASE(the_formula_says_that_its_error_is_not_known) {
  const PlannedBy own("torchrec");
  const json::object error = own.document().at("cost_error").as_object();
  BOOST_TEST(error.at("share").is_null());
  BOOST_TEST(has(own.told.out, "error not known: TorchRec's formula"), own.told.out);
  BOOST_TEST(!has(own.told.out, "+-"), own.told.out);
}

/// A network that has hardly learned is so far off that no greedy rule's plan is surely better.
BOOST_AUTO_TEST_CASE(gaps_within_the_error_are_no_savings) {
  const TemporaryFolder folder;
  const std::string data = folder.file("data");
  const std::string model = folder.file("m.safetensors");
  checked({"collect", "compute", "--backend", "sim", "--profile", "V100-32G", "--samples", "300",
           "--batch-size", "65536", "--output", data});
  checked({"collect", "comm", "--backend", "sim", "--profile", "V100-32G", "--devices", "4",
           "--samples", "300", "--output", folder.file("comm")});
  checked({"train", "compute", "--data", data, "--target", "log_ms", "--epochs", "3", "--members",
           "1", "--output", model});
  checked({"train", "comm", "--data", folder.file("comm"), "--epochs",
           neuroshard::test::unless_sanitized("60", "10"), "--base", model, "--output", model});
  const PlannedBy own(model);
  const double share = own.document().at("cost_error").at("share").to_number<double>();
  BOOST_TEST(share > 0.1);
  BOOST_TEST(has(own.told.out, "within the model's error ("), own.told.out);
}

/// Costs that belong to other samples have no order to learn.
BOOST_AUTO_TEST_CASE(a_model_without_an_order_is_not_called_good) {
  const TemporaryFolder folder;
  const std::string model = folder.file("m.safetensors");
  checked({"collect", "compute", "--backend", "sim", "--profile", "V100-32G", "--samples", "200",
           "--batch-size", "4096", "--output", folder.file("data")});
  const std::vector<std::string> train{"train",    "compute", "--data",    folder.file("data"),
                                       "--epochs", "100",     "--members", "1",
                                       "--output", model};
  const Outcome good = checked(train);
  BOOST_TEST(!has(good.out, "NOT GOOD"), good.out);
  std::string mixed;
  std::string cost = "1";
  for (const std::string& line : lines_of(slurp(folder.file("data/data.txt")))) {
    mixed += line.substr(0, line.find(' ') + 1) + cost + "\n";
    cost = line.substr(line.find(' ') + 1);
  }
  folder.write("data/data.txt", mixed);
  const Outcome poor = checked(train);
  BOOST_TEST(has(poor.out, "NOT GOOD: "), poor.out);
  BOOST_TEST(has(poor.out, "expected above 0.8; collect more samples"), poor.out);
  BOOST_TEST(has(poor.out, "model written to " + model + " all the same"), poor.out);
}

BOOST_AUTO_TEST_CASE(evaluate_finds_an_error_out_and_a_file_keeps_it) {
  const TemporaryFolder folder;
  const std::string marked = folder.file("marked.safetensors");
  const std::string metrics = folder.file("metrics.json");
  const auto collect = [&](const std::string& profile, const std::string& name) {
    checked({"collect", "compute", "--backend", "sim", "--profile", profile, "--samples", "60",
             "--seed", "9", "--batch-size", "65536", "--output", folder.file(name)});
  };
  collect("H200-141G", "own");
  checked({"evaluate", "compute", "--cost-model", "h200_sim", "--data", folder.file("own"),
           "--model-output", marked, "--output", metrics});
  const json::value own = json::parse(slurp(metrics)).at("networks").at("compute");
  BOOST_TEST(own.at("interval_coverage").to_number<double>() >= 0.5);
  const double found = own.at("error_90").to_number<double>();
  checked({"evaluate", "compute", "--cost-model", marked, "--data", folder.file("own"), "--output",
           metrics});
  const json::value again = json::parse(slurp(metrics)).at("networks").at("compute");
  BOOST_TEST(again.at("interval_share").to_number<double>() == found);
  BOOST_TEST(again.at("interval_coverage").to_number<double>() >= 0.9);

  collect("V100-32G", "other");
  const Outcome other =
      run_command({"evaluate", "compute", "--cost-model", "h200_sim", "--data",
                   folder.file("other"), "--model-output", folder.file("never.safetensors")});
  BOOST_TEST(other.exit_code == 2);
  BOOST_TEST(has(other.err, "--model-output: found data SIMULATED hardware V100-32G"), other.err);
  BOOST_TEST(!std::filesystem::exists(folder.file("never.safetensors")));
}

const std::string kCalibrationEpochs = neuroshard::test::unless_sanitized("30", "3");

/// Both halves of a shipped model, with a few samples of other hardware.
BOOST_AUTO_TEST_CASE(calibrate_tells_the_error_before_and_after) {
  const TemporaryFolder folder;
  const std::string model = folder.file("m.safetensors");
  checked({"collect", "compute", "--backend", "sim", "--profile", "V100-32G", "--samples", "60",
           "--output", folder.file("few")});
  checked({"collect", "comm", "--backend", "sim", "--profile", "V100-32G", "--devices", "4",
           "--samples", "40", "--output", folder.file("few_comm")});
  const Outcome compute =
      checked({"calibrate", "compute", "--base", "h200_sim", "--data", folder.file("few"),
               "--epochs", kCalibrationEpochs, "--output", model});
  BOOST_TEST(has(compute.out, "data SIMULATED hardware V100-32G, nvswitch, 60 samples"),
             compute.out);
  BOOST_TEST(has(compute.out, "compute  before"), compute.out);
  BOOST_TEST(has(compute.out, "compute  after"), compute.out);
  const Outcome comm =
      checked({"calibrate", "comm", "--base", model, "--data", folder.file("few_comm"), "--epochs",
               kCalibrationEpochs, "--output", model});
  BOOST_TEST(has(comm.out, "backward_comm  after"), comm.out);
  const PlannedBy own(model);
  BOOST_TEST(own.document().at("cost_error").at("share").to_number<double>() > 0);
  BOOST_TEST(
      has(std::string(own.document().at("provenance").at("hardware").as_string()), "V100-32G"));

  const Outcome formula =
      run_command({"calibrate", "compute", "--base", "torchrec", "--data", folder.file("few"),
                   "--output", folder.file("never.safetensors")});
  BOOST_TEST(formula.exit_code == 2);
  BOOST_TEST(has(formula.err, "--base: found 'torchrec'"), formula.err);
}

BOOST_AUTO_TEST_SUITE_END()
