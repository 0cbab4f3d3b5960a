// The sets that a cost model is least sure of as a folder: which they are, what is in it, and what
// is refused. The script in it is run by scripts/test-torchrec.sh.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "tests/apps/one_line.h"
#include "tests/apps/process.h"
#include "tests/apps/unsure_example.h"

namespace {

namespace json = boost::json;
using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::UnsureExample;

}  // namespace

BOOST_AUTO_TEST_SUITE(least_sure)

BOOST_AUTO_TEST_CASE(the_sets_chosen_are_those_that_members_disagree_about_most) {
  const UnsureExample example;
  const Outcome outcome = example.exported("made", {"--for", "least-sure", "24"});
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.err.empty(), outcome.err);
  BOOST_TEST(outcome.out.starts_with("24 sets of "), outcome.out);
  const json::value made = example.benchmark("made");
  const json::value& predicted = made.at("predicted");
  const json::array& spreads = predicted.at("sets").as_array();
  BOOST_TEST(made.at("sets").as_array().size() == 24U);
  BOOST_TEST_REQUIRE(spreads.size() == 24U);
  BOOST_TEST(predicted.at("candidates").as_int64() > 300);
  double before = spreads.front().at("spread_ms").as_double();
  for (const json::value& set : spreads) {
    BOOST_TEST(set.at("spread_ms").as_double() <= before);
    before = set.at("spread_ms").as_double();
  }
  BOOST_TEST(before > predicted.at("median_spread_ms").as_double());
  BOOST_TEST(predicted.at("median_spread_ms").as_double() > 0);
}

BOOST_AUTO_TEST_CASE(the_folder_has_what_the_script_needs_and_the_same_bytes_twice) {
  const UnsureExample example;
  for (const std::string output : {"a", "b", "other"}) {
    const Outcome outcome = example.exported(
        output, {"--for", "least-sure 5", "--seed", output == "other" ? "2" : "1"});
    BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  }
  std::size_t files = 0;
  for (const std::string name :
       {"benchmark.json", "table_configs.json", "indices/indices.npy", "indices/offsets.npy",
        "indices/lengths.npy", "run_sets.py", "plan_data.py", "fused_lookup.py"}) {
    BOOST_TEST_CONTEXT(name) {
      const std::string bytes = slurp(example.folder.file("a/" + name));
      BOOST_TEST(!bytes.empty());
      BOOST_TEST((bytes == slurp(example.folder.file("b/" + name))));
      if (name.ends_with(".py")) BOOST_TEST((bytes == slurp(source_file("io/benchmark/" + name))));
    }
    ++files;
  }
  const auto entries = std::filesystem::recursive_directory_iterator(example.folder.path() / "a");
  BOOST_TEST(static_cast<std::size_t>(std::distance(begin(entries), end(entries))) ==
             files + 1);  // and the folder of the indices
  BOOST_TEST((slurp(example.folder.file("a/benchmark.json")) !=
              slurp(example.folder.file("other/benchmark.json"))));
}

BOOST_AUTO_TEST_CASE(flags_of_plans_are_told_to_have_no_place) {
  const UnsureExample example;
  const Outcome outcome = example.exported("made", {"--for", "least-sure 3", "--devices", "2",
                                                    "--dense-ms", "1", "--cache-hits", "curve"});
  BOOST_TEST(outcome.exit_code == 0);
  BOOST_TEST(outcome.err ==
             "--dense-ms: a benchmark of sets has no place for it\n"
             "--devices: a benchmark of sets has no place for it\n"
             "--cache-hits: a benchmark of sets has no place for it\n");
}

BOOST_AUTO_TEST_CASE(what_has_no_least_sure_sets_is_refused) {
  const UnsureExample example;
  const auto refused = [&](const std::string& choice, const std::string& model,
                           const std::string& message) {
    std::vector<std::string> all = example.words("x");
    all.back() = model;
    all.insert(all.end(), {"--for", choice});
    expect_one_line(example.run(std::move(all)), 2, message);
  };
  const std::string four = example.trained.file("four.safetensors");
  refused("least-sure 3", "torchrec", "--cost-model: found 'torchrec', expected trained");
  refused("least-sure 3", example.trained.file("one.safetensors"),
          "one.safetensors: found a compute model of one network, expected several members");
  refused("least-sure 0", four, "--for: found 'least-sure 0', expected least-sure K");
  refused("most-sure 3", four, "--for: found 'most-sure 3', expected least-sure K");
  expect_one_line(example.exported("x", {"--for", "least-sure 3", "--plan", "plan.json"}), 2,
                  "--plan: found with --for, expected without");
  expect_one_line(example.exported("x", {"--for", "least-sure 3", "--device-memory", "1KB"}), 2,
                  "found no sets of 1 to 15 shards of these tables within 1000 B, expected more");
  expect_one_line(example.exported("x", {"--for", "least-sure", "--seed", "1"}), 2,
                  "--for: found 'least-sure', expected least-sure K");
  expect_one_line(example.exported("x", {}), 2, "found no --plan, expected --plan FILE");
  std::vector<std::string> chakra = example.words("x");
  chakra[4] = "chakra";
  chakra.insert(chakra.end(), {"--for", "least-sure 3"});
  expect_one_line(example.run(std::move(chakra)), 2, "--for: found with --format chakra");
  BOOST_TEST(!std::filesystem::exists(example.folder.file("x")));
}

BOOST_AUTO_TEST_SUITE_END()
