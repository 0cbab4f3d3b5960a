// Table files with something wrong, which the message names with its place.
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/tables/tables.h"
#include "tests/io/support.h"
#include "tests/io/table_texts.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(bad_tables)

namespace {

using test::check_prefixes_refused;
using test::check_refused;
using test::kOurTables;
using test::reference_table;
using test::value_of;
using test::with_members;
using test::with_table;

Result<TableFile> parse(std::string_view bytes) { return parse_tables(bytes, "f"); }

BOOST_AUTO_TEST_CASE(every_field_out_of_range_names_its_path) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"rows": 1, "dim": 4, "pooling_factor": 1})", "f: $.tables[0]: found no key 'name'"},
      {R"({"name": "t", "dim": 4, "pooling_factor": 1})", "$.tables[0]: found no key 'rows'"},
      {R"({"name": "t", "rows": 1, "pooling_factor": 1})", "$.tables[0]: found no key 'dim'"},
      {R"({"name": "t", "rows": 1, "dim": 4})", "$.tables[0]: found no key 'pooling_factor'"},
      {R"({"name": 3, "rows": 1, "dim": 4, "pooling_factor": 1})", "$.tables[0].name: found 3"},
      {R"({"name": "t", "rows": 0, "dim": 4, "pooling_factor": 1})", "$.tables[0].rows: found 0"},
      {R"({"name": "t", "rows": -5, "dim": 4, "pooling_factor": 1})",
       "$.tables[0].rows: found -5, expected an integer of at least 1"},
      {R"({"name": "t", "rows": 1e6, "dim": 4, "pooling_factor": 1})",
       "$.tables[0].rows: found 1e6, expected an integer"},
      {R"({"name": "t", "rows": 9223372036854775808, "dim": 4, "pooling_factor": 1})",
       "$.tables[0].rows: found 9223372036854775808"},
      {R"({"name": "t", "rows": 1, "dim": 0, "pooling_factor": 1})", "$.tables[0].dim: found 0"},
      {R"({"name": "t", "rows": 1, "dim": 1048577, "pooling_factor": 1})",
       "$.tables[0].dim: found 1048577, expected an integer from 1 to 1048576"},
      {R"({"name": "t", "rows": 1, "dim": 4, "pooling_factor": -0.5})",
       "$.tables[0].pooling_factor: found -0.5, expected a number from 0"},
      {R"({"name": "t", "rows": 1, "dim": 4, "pooling_factor": 1e300})",
       "$.tables[0].pooling_factor: found 1e300"},
      {R"({"name": "t", "rows": 1, "dim": 4, "pooling_factor": "1"})",
       "$.tables[0].pooling_factor: found '1', expected a number"},
      {R"({"name": "t", "rows": 2305843009213693951, "dim": 4, "pooling_factor": 1})",
       "f: $.tables[0]: rows x dim is 2305843009213693951 x 4, expected below 2^63 bytes"},
      {"[]", "f: $.tables[0]: found an array of 0, expected an object"},
      {"null", "f: $.tables[0]: found null, expected an object"},
  };
  for (const auto& [table, message] : cases) {
    check_refused(parse(with_table(table)).status(), {message});
  }
}

BOOST_AUTO_TEST_CASE(optional_fields_are_checked_too) {
  const std::string zeros = ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]";
  const std::pair<std::string, std::string> cases[] = {
      {R"(, "data_type": "fp64")",
       "f: $.tables[0].data_type: found 'fp64', expected 'fp32', 'fp16', 'bf16' or 'int8'"},
      {R"(, "data_type": 32)", "$.tables[0].data_type: found 32, expected a string"},
      {R"(, "optimizer": "ftrl")",
       "$.tables[0].optimizer: found 'ftrl', expected sgd, rowwise_adagrad, adagrad, adam,"},
      {R"(, "zipf_alpha": -1)", "$.tables[0].zipf_alpha: found -1"},
      {R"(, "zipf_alpha": 101)", "$.tables[0].zipf_alpha: found 101"},
      {R"(, "colour": 1)", "$.tables[0].colour: found an unknown key"},
      {R"(, "rows": 1)", "found the key 'rows' twice in $.tables[0]"},
      {R"(, "reuse_histogram": [1])", "$.tables[0].reuse_histogram: found an array of 1"},
      {R"(, "reuse_histogram": [0.5, 0.4)" + zeros,
       "f: $.tables[0]: reuse_histogram adds up to 0.9"},
      {R"(, "reuse_histogram": [1.5, -0.5)" + zeros, "$.tables[0].reuse_histogram[0]: found 1.5"},
      {R"(, "reuse_histogram": [0.5, -0.5)" + zeros, "$.tables[0].reuse_histogram[1]: found -0.5"},
      {R"(, "reuse_histogram": [1, null)" + zeros, "$.tables[0].reuse_histogram[1]: found null"},
      {R"(, "zipf_alpha": 1, "reuse_histogram": [1, 0)" + zeros,
       "found both reuse_histogram and zipf_alpha"},
      {R"(, "bag_lengths": "odd")",
       "$.tables[0].bag_lengths: found 'odd', expected 'even' or 'poisson'"},
      {R"(, "hot_lookups": [1, 0)" + zeros + R"(, "hot_bags": [1, 0)" + zeros,
       "$.tables[0].hot_lookups: expected hot_lookups, hot_bags and reuse_histogram of one batch"},
      {R"(, "reuse_histogram": [1, 0)" + zeros + R"(, "hot_bags": [1, 0)" + zeros,
       "$.tables[0].hot_bags: expected hot_lookups, hot_bags"},
      {R"(, "reuse_histogram": [1, 0)" + zeros + R"(, "hot_lookups": [0.5, 0.75)" + zeros +
           R"(, "hot_bags": [1, 0)" + zeros,
       "$.tables[0]: hot_lookups[1] is 0.75, expected 0 to 0.5, the share before it"},
  };
  for (const auto& [members, message] : cases) {
    check_refused(parse(with_members(members)).status(), {message});
  }
}

BOOST_AUTO_TEST_CASE(the_file_around_the_tables_is_checked) {
  const std::pair<std::string, std::string> cases[] = {
      {"{}", "f: $: found no key 'format'"},
      {R"({"format": "neuroshard-plan", "version": 1, "tables": []})", "$.format: found"},
      {R"({"format": "neuroshard-tables", "version": 7, "tables": []})", "$.version: found 7"},
      {R"({"format": "neuroshard-tables", "version": 1})", "f: $: found no key 'tables'"},
      {R"({"format": "neuroshard-tables", "version": 1, "tables": []})", "found no tables"},
      {R"({"format": "neuroshard-tables", "version": 1, "tables": {}})", "$.tables: found an obj"},
      {R"({"format": "neuroshard-tables", "version": 1, "batch_size": 0, "tables": []})",
       "$.batch_size: found 0"},
      {R"({"format": "neuroshard-tables", "version": 1, "batches": 2, "tables": []})",
       "$.batches: found an unknown key, expected one of batch_size, format, tables, version"},
      {"[]", "f: $: found no tables"},
      {"7", "f: $: found 7, expected a neuroshard-tables object or an array"},
      {"[{\"row\": NaN}]", "f:1:10: found 'NaN'"},
      {"[" + reference_table(R"("row": 5, "pooling_factor": 1, "hotness": 3)") + "]",
       "f: $[0].hotness: found an unknown key"},
      {"[" + reference_table(R"("row": 5, "pooling_factor": -1)") + "]", "$[0].pooling_factor: "},
      {"[" + reference_table(R"("row": 5, "pooling_factor": 1)", 0.5) + "]", "f: $[0]: reuse_his"},
      {"[" + reference_table(R"("row": 5, "pooling_factor": 1)", 0) + "]",
       "f: $[0]: bin_0 to bin_16: found zeros alone for a pooling factor of 1"},
      {R"([{"row": 5, "pooling_factor": 1}])", "f: $[0]: found no key 'bin_0'"},
  };
  for (const auto& [text, message] : cases) check_refused(parse(text).status(), {message});
}

BOOST_AUTO_TEST_CASE(names_are_unique) {
  const std::string table = R"({"name": "t", "rows": 10, "dim": 4, "pooling_factor": 1})";
  check_refused(parse(with_table(table + ", " + table)).status(),
                {"f: $.tables[1]: found the name 't' a second time"});
}

BOOST_AUTO_TEST_CASE(tables_too_large_together_are_no_workload) {
  const auto table = [](const std::string& name) {
    return R"({"name": ")" + name + R"(", "rows": 2305843009213693951, "dim": 1, )" +
           R"("pooling_factor": 1})";
  };
  const TableFile file = value_of(parse(with_table(table("a") + ", " + table("b"))));
  check_refused(make_workload(file, "f").status(), {"f: tables[0..1] together"});
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  check_prefixes_refused(kOurTables, "f", parse);
  check_prefixes_refused("[" + reference_table(R"("row": 5, "pooling_factor": 1)") + "]", "f",
                         parse);
}

BOOST_AUTO_TEST_CASE(a_missing_file_is_named) {
  check_refused(read_tables("/no/such/tables.json").status(), {"/no/such/tables.json"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
