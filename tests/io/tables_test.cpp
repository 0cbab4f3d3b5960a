#include "io/tables/tables.h"

#include <boost/test/unit_test.hpp>
#include <numeric>

#include "io/file.h"
#include "io/tables/reference_tables.h"
#include "tests/io/support.h"
#include "tests/io/table_texts.h"
#include "tests/support/paths.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(tables)

namespace {

using test::check_refused;
using test::kOurTables;
using test::reference_table;
using test::value_of;
using test::with_members;
using test::with_table;

Result<TableFile> parse(std::string_view bytes) { return parse_tables(bytes, "f"); }

BOOST_AUTO_TEST_CASE(our_format_is_read) {
  const TableFile file = value_of(parse(kOurTables));
  BOOST_REQUIRE(file.tables.size() == 3U);
  BOOST_TEST(file.batch_size.value() == 1024);
  BOOST_TEST(file.has_dims);
  BOOST_TEST(file.sha256.size() == 64U);
  const Table& user = file.tables[0];
  BOOST_TEST(user.name == "user");
  BOOST_TEST(user.rows == 40000000);
  BOOST_TEST(user.dim == 128);
  BOOST_TEST(user.pooling_factor == 3);
  BOOST_TEST((user.data_type == DataType::kFp32));
  BOOST_TEST((user.optimizer == Optimizer::kSgd));
  BOOST_TEST((file.tables[1].data_type == DataType::kFp16));
  BOOST_TEST((file.tables[1].optimizer == Optimizer::kRowwiseAdagrad));
  BOOST_TEST(file.tables[1].reuse_histogram[2] == 0.25);
}

BOOST_AUTO_TEST_CASE(a_missing_histogram_is_the_expected_one) {
  const TableFile file = value_of(parse(kOurTables));
  BOOST_TEST((file.tables[0].reuse_histogram == expected_reuse(40000000, 1024 * 3.0, 0).histogram));
  BOOST_TEST(
      (file.tables[2].reuse_histogram == expected_reuse(1000000, 1024 * 20.0, 1.1).histogram));
  const TableFile defaults = value_of(parse(with_members(", \"zipf_alpha\": 0.5")));
  BOOST_TEST(!defaults.batch_size.has_value());
  BOOST_TEST((defaults.tables[0].reuse_histogram == expected_reuse(10, 65536.0, 0.5).histogram));
}

BOOST_AUTO_TEST_CASE(equal_tables_of_a_file_are_derived_once_and_no_others) {
  // Tables alike in all but one of rows, pooling factor and exponent, in turn.
  std::string tables;
  for (int i = 0; i < 24; ++i) {
    tables += (i == 0 ? "" : ", ") + std::string(R"({"name": "t)") + std::to_string(i) +
              R"(", "dim": 4, "rows": )" + (i % 2 == 0 ? "1000" : "1001") +
              R"(, "pooling_factor": )" + (i % 3 == 0 ? "2" : "3") + R"(, "zipf_alpha": )" +
              (i % 4 < 2 ? "0.5" : "0.75") + "}";
  }
  const TableFile file = value_of(parse(with_table(tables)));
  for (int i = 0; i < 24; ++i) {
    const ReuseExpectation alone = expected_reuse(
        i % 2 == 0 ? 1000 : 1001, 65536.0 * (i % 3 == 0 ? 2 : 3), i % 4 < 2 ? 0.5 : 0.75);
    BOOST_TEST((file.tables[static_cast<std::size_t>(i)].reuse_histogram == alone.histogram));
  }
  BOOST_TEST(file.derived.size() == 0U);  // a file that was read keeps none

  DerivedReuse derived;
  const ReuseHistogram first = derived.of(10, 100, {{}, 1, 0});
  for (int round = 0; round < 3; ++round) {
    BOOST_TEST((derived.of(10, 100, {{}, 1, 0}) == first));
    derived.of(10, 100, {{0.5}, 1, 0});
    derived.of(10, 100, {{}, 2, 0});
    BOOST_TEST(derived.size() == 3U);
  }
  for (std::size_t i = 0; i < 2 * DerivedReuse::kMost; ++i) {
    derived.of(static_cast<std::int64_t>(i) + 1, 1, {{}, 1, 0});
    BOOST_TEST_REQUIRE(derived.size() <= DerivedReuse::kMost);
  }
}

BOOST_AUTO_TEST_CASE(a_batch_size_given_replaces_the_files_and_its_histograms) {
  const TableFile file = value_of(parse_tables(kOurTables, "f", 64));
  BOOST_TEST(file.batch_size.value() == 64);
  BOOST_TEST((file.tables[2].reuse_histogram == expected_reuse(1000000, 64 * 20.0, 1.1).histogram));
  BOOST_TEST(file.tables[1].reuse_histogram[0] == 0.5);
  check_refused(parse_tables(kOurTables, "f", 0).status(), {"batch size is 0"});
}

BOOST_AUTO_TEST_CASE(what_is_written_reads_back_and_is_stable) {
  const Workload workload = value_of(make_workload(value_of(parse(kOurTables)), "f"));
  const std::string text = format_tables(workload);
  const Workload again = value_of(make_workload(value_of(parse(text)), "f"));
  BOOST_TEST((again.tables == workload.tables));
  BOOST_TEST(again.batch_size == 1024);
  BOOST_TEST(format_tables(again) == text);
}

BOOST_AUTO_TEST_CASE(what_was_counted_of_hot_rows_is_read_and_written) {
  const std::string zeros = ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]";
  const std::string text =
      with_members(R"(, "reuse_histogram": [0.75, 0.25)" + zeros + R"(, "hot_lookups": [1, 0.5)" +
                   zeros + R"(, "hot_bags": [1, 0.375)" + zeros + R"(, "bag_lengths": "poisson")");
  const Workload workload = value_of(make_workload(value_of(parse(text)), "f"));
  const Table& table = workload.tables[0];
  BOOST_TEST(table.hot_coverage.lookups[1] == 0.5);
  BOOST_TEST(table.hot_coverage.bags[1] == 0.375);
  BOOST_TEST((table.bag_lengths == BagLengths::kPoisson));
  const Workload again = value_of(make_workload(value_of(parse(format_tables(workload))), "f"));
  BOOST_TEST((again.tables == workload.tables));
}

BOOST_AUTO_TEST_CASE(the_reference_form_is_read_with_and_without_dims) {
  const std::string without = reference_table(R"("row": 100, "pooling_factor": 2.5)");
  const TableFile plain = value_of(parse("[" + without + ", " + without + "]"));
  BOOST_TEST(plain.tables.size() == 2U);
  BOOST_TEST(!plain.has_dims);
  BOOST_TEST(!plain.batch_size.has_value());
  BOOST_TEST(plain.tables[1].name == "table_1");
  BOOST_TEST(plain.tables[1].dim == 0);
  BOOST_TEST(plain.tables[1].pooling_factor == 2.5);
  check_refused(make_workload(plain, "f").status(), {"f: $[0]: ", "'dim'"});

  const std::string with = reference_table(R"("row": 100, "pooling_factor": 2, "dim": 64)");
  const TableFile dims = value_of(parse("[" + with + "]"));
  BOOST_TEST(dims.has_dims);
  BOOST_TEST(value_of(make_workload(dims, "f")).tables[0].dim == 64);
  BOOST_TEST(value_of(make_workload(dims, "f")).batch_size == 65536);
  check_refused(parse("[" + with + ", " + without + "]").status(), {"f: $[1]: ", "'dim'"});
  check_refused(parse("[" + without + ", " + with + "]").status(), {"f: $[1].dim: "});
}

BOOST_AUTO_TEST_CASE(the_reference_form_is_written_with_dims) {
  const TableFile ours = value_of(parse(kOurTables));
  const TableFile again = value_of(parse(format_reference_tables(ours.tables)));
  BOOST_TEST(again.has_dims);
  BOOST_REQUIRE(again.tables.size() == ours.tables.size());
  for (std::size_t index = 0; index < again.tables.size(); ++index) {
    BOOST_TEST(again.tables[index].rows == ours.tables[index].rows);
    BOOST_TEST(again.tables[index].dim == ours.tables[index].dim);
    BOOST_TEST(again.tables[index].pooling_factor == ours.tables[index].pooling_factor);
    BOOST_TEST((again.tables[index].reuse_histogram == ours.tables[index].reuse_histogram));
  }
}

BOOST_AUTO_TEST_CASE(the_reference_form_has_the_outputs_of_tables_that_need_it) {
  std::vector<Table> tables = value_of(parse(kOurTables)).tables;
  BOOST_TEST(format_reference_tables(tables).find("features") == std::string::npos);
  tables[0].features = 5;
  tables[2].pooled = false;
  const std::string text = format_reference_tables(tables);
  const TableFile again = value_of(parse(text));
  for (std::size_t index = 0; index < tables.size(); ++index) {
    BOOST_TEST(again.tables[index].features == tables[index].features);
    BOOST_TEST(again.tables[index].pooled == tables[index].pooled);
  }
  std::string none = text;
  none.replace(none.find("\"features\": 5"), 13, "\"features\": 0");
  check_refused(parse(none).status(), {"f: $[0].features: "});
}

BOOST_AUTO_TEST_CASE(the_856_dlrm_tables_are_read) {
  const std::optional<std::string> path = test::data_file("tables/dlrm856_table_configs.json");
  if (!path) {
    BOOST_TEST_MESSAGE("skipped: the data folder is not there");
    return;
  }
  const TableFile file = value_of(read_tables(*path));
  BOOST_REQUIRE(file.tables.size() == 856U);
  double lookups = 0;
  int without_lookups = 0;
  for (const Table& table : file.tables) {
    lookups += table.pooling_factor * 65536;
    const ReuseHistogram& bins = table.reuse_histogram;
    without_lookups += std::accumulate(bins.begin(), bins.end(), 0.0) == 0 ? 1 : 0;
  }
  BOOST_TEST(lookups == 887017990.0);
  BOOST_TEST(without_lookups == 36);
  BOOST_TEST(file.tables[0].rows == 8015938);
  BOOST_TEST(file.tables[0].reuse_histogram[0] == 0.5939161264968928);
}

BOOST_AUTO_TEST_CASE(the_largest_tables_are_read_at_once) {
  const std::string rows = R"("rows": 2305843009213693951, "dim": 1, "pooling_factor": 1e9)";
  for (const char* alpha : {"0", "1", "100"}) {
    const std::string text =
        with_table("{\"name\": \"t\", " + rows + ", \"zipf_alpha\": " + alpha + "}");
    const TableFile file = value_of(parse(text));
    const ReuseHistogram& bins = file.tables[0].reuse_histogram;
    BOOST_TEST(std::accumulate(bins.begin(), bins.end(), 0.0) == 1,
               boost::test_tools::tolerance(1e-9));
  }
}

BOOST_AUTO_TEST_CASE(histograms_of_batches_of_another_size_are_told) {
  const std::string shares = "[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]";
  const auto note = [&](const std::string& reuse, std::optional<std::int64_t> batch_size) {
    const std::string text =
        R"({"format": "neuroshard-tables", "version": 1, "batch_size": 64, "tables": [
          {"name": "user", "rows": 100, "dim": 8, "pooling_factor": 1, )" +
        reuse + "}]}";
    return other_batch_note(value_of(parse_tables(text, "f", batch_size)), "f");
  };
  BOOST_TEST(note("\"reuse_histogram\": " + shares, 32) ==
             "f: reuse histograms of 1 of its tables are of batches of 64, they are taken for "
             "batches of 32 as they are");
  BOOST_TEST(note("\"reuse_histogram\": " + shares, 64).empty());
  BOOST_TEST(note("\"reuse_histogram\": " + shares, {}).empty());
  BOOST_TEST(note("\"zipf_alpha\": 1", 32).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
