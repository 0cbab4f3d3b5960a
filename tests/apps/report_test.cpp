// What an html report says of where it comes from, and that it is the same for the same plan.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {

using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

using Environment = std::vector<std::pair<std::string, std::string>>;

const std::string kReportTables =
    R"({"format": "neuroshard-tables", "version": 1, "batch_size": 4096, "tables": [
 {"name": "user", "rows": 4000, "dim": 64, "pooling_factor": 30},
 {"name": "ad", "rows": 700, "dim": 16, "pooling_factor": 2}]})";

class Report {
 public:
  Report() : tables_(folder_.write("my tables.json", kReportTables)) {
    plan_ = folder_.file("plan.json");
    const Outcome made =
        run_command({"plan", "--tables", tables_, "--devices", "2", "--device-memory", "1GB",
                     "--evaluations", "200", "--cost-model", "torchrec", "--output", plan_});
    BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  }
  [[nodiscard]] Outcome page(const std::vector<std::string>& flags = {},
                             const Environment& environment = {}) const {
    std::vector<std::string> arguments{"export", "--tables", tables_, "--plan",
                                       plan_,    "--format", "html"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return run_command(arguments, {.environment = environment});
  }
  [[nodiscard]] std::string tables() const { return tables_; }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  TemporaryFolder folder_;
  std::string tables_;
  std::string plan_;
};

void expect_holds(const std::string& page, const std::string& words) {
  BOOST_TEST(page.find(words) != std::string::npos, words);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report)

BOOST_AUTO_TEST_CASE(a_report_says_what_its_costs_are_worth) {
  const Report report;
  const std::string page = report.page().out;
  expect_holds(page, ">FORMULA<");
  expect_holds(page, "no plan costs less than ");
  expect_holds(page, "Why the dearest tables are where they are");
  expect_holds(page, "By TorchRec's sharding types: ");
  expect_holds(page, "id=\"by-cost\"");
  const std::string other = report.page({"--cost-model", "h200_sim"}).out;
  expect_holds(other, ">SIMULATED<");
  BOOST_TEST(other.find("no plan costs less than ") == std::string::npos);  // of networks
}

BOOST_AUTO_TEST_CASE(a_report_names_its_command_without_folders) {
  const Report report;
  const std::string page = report.page({"--devices-per-host", "2"}).out;
  expect_holds(page,
               "<code>neuroshard export --tables 'my tables.json' --plan plan.json --format html "
               "--devices-per-host 2</code>");
  const std::string path = report.file("page.html");
  const Outcome made =
      run_command({"plan", "--tables", report.tables(), "--devices", "2", "--device-memory", "1GB",
                   "--evaluations", "200", "--format", "html", "--output", path});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  expect_holds(slurp(path),
               "<code>neuroshard plan --tables 'my tables.json' --devices 2 --device-memory 1GB "
               "--evaluations 200 --format html --output page.html</code>");
  BOOST_TEST(slurp(path).find(report.file("")) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_report_has_the_date_that_it_is_told) {
  const Report report;
  const std::string undated = report.page().out;
  BOOST_TEST(undated.find("made on") == std::string::npos);
  BOOST_TEST(report.page().out == undated);
  expect_holds(report.page({"--date", "2026-02-28"}).out, "made on 2026-02-28<");
  expect_holds(report.page({"--date", "today"}).out, "made on 20");
  const Environment epoch{{"SOURCE_DATE_EPOCH", "1700000000"}};
  expect_holds(report.page({}, epoch).out, "made on 2023-11-14<");
  expect_holds(report.page({"--date", "2026-02-28"}, epoch).out, "made on 2026-02-28<");
  for (const char* day : {"2026-02-29", "26-02-28", "2026-2-28", "yesterday", "2026-02-28T00:00"}) {
    expect_one_line(report.page({"--date", day}), 2, "--date: found");
  }
  for (const char* seconds : {"soon", "-1", "1e9", "99999999999999999999"}) {
    expect_one_line(report.page({}, {{"SOURCE_DATE_EPOCH", seconds}}), 2,
                    "SOURCE_DATE_EPOCH: found");
  }
}

BOOST_AUTO_TEST_SUITE_END()
