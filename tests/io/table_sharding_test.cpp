// In which ways searches may put a table on devices, as table files say it.
#include "io/tables/table_sharding.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "io/tables/tables.h"
#include "support.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(table_sharding)

namespace {

using test::check_refused;
using test::value_of;

Result<TableFile> parse(const std::string& text) { return parse_tables(text, "f"); }

/// A file of ours whose only table has these members, too.
std::string own_file(const std::string& members) {
  return R"({"format": "neuroshard-tables", "version": 1, "tables": [
    {"name": "t", "rows": 10, "dim": 64, "pooling_factor": 1)" +
         members + "}]}";
}

/// The same in TorchRec's words, of 64 columns.
std::string torchrec_file(const std::string& members) {
  return R"([{"name": "t", "num_embeddings": 10, "embedding_dim": 64, "pooling_factors": [1])" +
         members + "}]";
}

AllowedSharding sharding_of(const std::string& file) {
  return value_of(parse(file)).tables[0].sharding;
}

BOOST_AUTO_TEST_CASE(a_table_that_says_nothing_may_have_all_kinds) {
  BOOST_TEST((sharding_of(own_file("")) == AllowedSharding{}));
}

BOOST_AUTO_TEST_CASE(kinds_that_are_listed_are_allowed_and_no_others) {
  const AllowedSharding two =
      sharding_of(own_file(R"(, "sharding": ["rows", "whole"], "min_columns": 32)"));
  BOOST_TEST(describe(two) == "whole, rows");
  BOOST_TEST(two.min_columns == 32);
  BOOST_TEST(describe(sharding_of(own_file(R"(, "sharding": ["data_parallel"])"))) ==
             "data_parallel");
  const AllowedSharding wide = sharding_of(own_file(R"(, "min_columns": 1048576)"));
  BOOST_TEST(wide.allows_all_kinds());
  BOOST_TEST(wide.min_columns == 1048576);
}

BOOST_AUTO_TEST_CASE(lists_that_make_no_sense_are_refused_with_their_path) {
  const auto refused = [](const std::string& members, const std::string& message) {
    check_refused(parse(own_file(members)).status(), {"f: $.tables[0]." + message});
  };
  const std::string kinds = "'whole', 'columns', 'rows' or 'data_parallel'";
  refused(R"(, "sharding": [])", "sharding: found an empty array, expected some of " + kinds);
  refused(R"(, "sharding": ["whole", "row_wise"])",
          "sharding[1]: found 'row_wise', expected " + kinds);
  refused(R"(, "sharding": ["rows", "whole", "rows"])",
          "sharding[2]: found 'rows' a second time, expected it once");
  refused(R"(, "sharding": "whole")", "sharding: found 'whole', expected an array");
  refused(R"(, "sharding": [1])", "sharding[0]: found 1, expected a string");
  refused(R"(, "min_columns": 0)", "min_columns: found 0, expected an integer from 4 to 1048576");
  refused(R"(, "min_columns": 6)", "min_columns: found 6, expected a multiple of 4");
  refused(R"(, "min_columns": 4294967300)", "min_columns: found 4294967300");
  refused(R"(, "min_columns": 8.0)", "min_columns: found 8.0, expected an integer");
}

BOOST_AUTO_TEST_CASE(what_is_not_the_default_is_written_and_read_back) {
  const auto again = [](const std::string& file) {
    return format_tables(value_of(make_workload(value_of(parse(file)), "f")));
  };
  const std::string plain = again(own_file(""));
  BOOST_TEST(plain.find("sharding") == std::string::npos);
  BOOST_TEST(plain.find("min_columns") == std::string::npos);
  const std::string limits = R"(, "sharding": ["columns", "data_parallel"], "min_columns": 8)";
  const std::string text = again(own_file(limits));
  BOOST_TEST(text.find(R"("sharding": ["columns", "data_parallel"],)") != std::string::npos, text);
  BOOST_TEST((sharding_of(text) == sharding_of(own_file(limits))));
  BOOST_TEST(again(text) == text);
}

BOOST_AUTO_TEST_CASE(devices_of_a_table_are_read_in_any_order_and_written_in_theirs) {
  const auto devices_of = [](const std::string& file) {
    return describe(value_of(parse(file)).tables[0].devices);
  };
  BOOST_TEST(devices_of(own_file("")) == "any device");
  BOOST_TEST(devices_of(own_file(R"(, "devices": [5, 0])")) == "devices 0 and 5");
  BOOST_TEST(devices_of(torchrec_file(R"(, "devices": [65535])")) == "device 65535");
  const auto again = [](const std::string& file) {
    return format_tables(value_of(make_workload(value_of(parse(file)), "f")));
  };
  BOOST_TEST(again(own_file("")).find("devices") == std::string::npos);
  const std::string text = again(own_file(R"(, "devices": [5, 0])"));
  BOOST_TEST(text.find(R"("devices": [0, 5],)") != std::string::npos, text);
  BOOST_TEST(again(text) == text);
}

BOOST_AUTO_TEST_CASE(devices_that_are_none_are_refused_with_their_path) {
  const auto refused = [](const std::string& members, const std::string& message) {
    check_refused(parse(own_file(members)).status(), {"f: $.tables[0]." + message});
    check_refused(parse(torchrec_file(members)).status(), {"f: $[0]." + message});
  };
  refused(R"(, "devices": [])", "devices: found an empty array, expected some devices");
  refused(R"(, "devices": 0)", "devices: found 0, expected an array");
  refused(R"(, "devices": [0, -1])", "devices[1]: found -1, expected an integer from 0 to 65535");
  refused(R"(, "devices": [65536])",
          "devices[0]: found 65536, expected an integer from 0 to 65535");
  refused(R"(, "devices": [1, 2, 1])", "devices[2]: found 1 a second time, expected it once");
  refused(R"(, "devices": ["cuda:0"])", "devices[0]: found 'cuda:0', expected an integer");
}

BOOST_AUTO_TEST_CASE(kernels_of_a_table_are_read_in_either_format_and_written_back) {
  const auto kernels_of = [](const std::string& file) {
    return value_of(parse(file)).tables[0].kernels;
  };
  const auto again = [](const std::string& file) {
    return format_tables(value_of(make_workload(value_of(parse(file)), "f")));
  };
  for (const auto file : {own_file, torchrec_file}) {
    BOOST_TEST((kernels_of(file("")) == AllowedKernels{}));
    const AllowedKernels cached = kernels_of(
        file(R"(, "compute_kernels": ["fused_uvm_caching", "fused"], "cache_load_factor": 0.15)"));
    BOOST_TEST(describe(cached) == "fused, fused_uvm_caching");
    BOOST_TEST(cached.load_factor == 0.15);
    BOOST_TEST(describe(kernels_of(file(R"(, "compute_kernels": ["fused_uvm"])"))) == "fused_uvm");
    BOOST_TEST(kernels_of(file(R"(, "cache_load_factor": 1)")).all());
    BOOST_TEST(kernels_of(file(R"(, "cache_load_factor": 1)")).load_factor == 1);
    for (const std::string key : {"compute_kernels", "cache_load_factor"}) {
      BOOST_TEST(again(file("")).find(key) == std::string::npos);
    }
    const std::string text = again(
        file(R"(, "compute_kernels": ["fused_uvm_caching", "fused"], "cache_load_factor": 0.15)"));
    BOOST_TEST(
        text.find(R"("compute_kernels": ["fused", "fused_uvm_caching"],)") != std::string::npos,
        text);
    BOOST_TEST((kernels_of(text) == cached));
    BOOST_TEST(again(text) == text);
  }
}

BOOST_AUTO_TEST_CASE(kernels_that_are_none_are_refused_with_their_path) {
  const auto refused = [](const std::string& members, const std::string& message) {
    check_refused(parse(own_file(members)).status(), {"f: $.tables[0]." + message});
    check_refused(parse(torchrec_file(members)).status(), {"f: $[0]." + message});
  };
  const std::string words = "'fused', 'fused_uvm_caching' or 'fused_uvm'";
  refused(R"(, "compute_kernels": [])",
          "compute_kernels: found an empty array, expected some of " + words);
  refused(R"(, "compute_kernels": "fused")", "compute_kernels: found 'fused', expected an array");
  refused(R"(, "compute_kernels": ["fused", "dense"])",
          "compute_kernels[1]: found 'dense', expected " + words);
  refused(R"(, "compute_kernels": ["fused_uvm", "fused_uvm"])",
          "compute_kernels[1]: found 'fused_uvm' a second time, expected it once");
  refused(R"(, "compute_kernels": [null])", "compute_kernels[0]: found null, expected a string");
  for (const std::string factor : {"0", "-1", "1.5"}) {
    refused(", \"cache_load_factor\": " + factor,
            "cache_load_factor: found " + factor + ", expected above 0 and at most 1");
  }
  refused(R"(, "cache_load_factor": "0.2")", "cache_load_factor: found '0.2', expected a number");
}

std::string kinds_of_types(const std::string& types, const std::string& members = "") {
  return describe(sharding_of(torchrec_file(", \"sharding_types\": [" + types + "]" + members)));
}

BOOST_AUTO_TEST_CASE(torchrecs_types_are_kinds_of_ours) {
  const std::string room = ", \"min_partition\": 32";
  BOOST_TEST(kinds_of_types(R"("table_wise")", room) == "whole");
  BOOST_TEST(kinds_of_types(R"("column_wise")", room) == "columns");
  BOOST_TEST(kinds_of_types(R"("table_column_wise")", room) == "columns");
  BOOST_TEST(kinds_of_types(R"("row_wise")", room) == "rows");
  BOOST_TEST(kinds_of_types(R"("table_row_wise")", room) == "rows");
  BOOST_TEST(kinds_of_types(R"("grid_shard")", room) == "columns, rows");
  BOOST_TEST(kinds_of_types(R"("data_parallel")", room) == "data_parallel");
  BOOST_TEST(kinds_of_types(R"("row_wise", "table_row_wise", "table_wise")") == "whole, rows");
  BOOST_TEST((sharding_of(torchrec_file(", \"pooling\": \"SUM\"")) == AllowedSharding{}));
}

BOOST_AUTO_TEST_CASE(tables_without_room_for_two_blocks_may_be_whole_as_in_torchrec) {
  for (const std::string type : {R"("column_wise")", R"("table_column_wise")"}) {
    BOOST_TEST(kinds_of_types(type, ", \"min_partition\": 36") == "whole, columns");
    BOOST_TEST(kinds_of_types(type) == "whole, columns");  // 128, if nobody says so
  }
  BOOST_TEST(kinds_of_types(R"("grid_shard")", ", \"min_partition\": 64") == "columns, rows");
}

BOOST_AUTO_TEST_CASE(a_least_partition_is_the_least_width_in_fours) {
  const auto width = [](const std::string& partition) {
    return sharding_of(torchrec_file(", \"min_partition\": " + partition)).min_columns;
  };
  BOOST_TEST(width("32") == 32);
  BOOST_TEST(width("1") == 4);
  BOOST_TEST(width("33") == 36);
  BOOST_TEST(width("1048576") == 1048576);
  BOOST_TEST(kinds_of_types(R"("column_wise")", ", \"min_partition\": 29") == "columns");
}

BOOST_AUTO_TEST_CASE(words_that_are_not_torchrecs_are_refused_with_their_path) {
  const auto refused = [](const std::string& members, const std::string& message) {
    check_refused(parse(torchrec_file(members)).status(), {"f: $[0]." + message});
  };
  refused(R"(, "sharding_types": ["whole"])",
          "sharding_types[0]: found 'whole', expected 'data_parallel', 'table_wise', ");
  refused(R"(, "sharding_types": ["ROW_WISE"])", "sharding_types[0]: found 'ROW_WISE'");
  refused(R"(, "sharding_types": ["row_wise", "row_wise"])",
          "sharding_types[1]: found 'row_wise' a second time");
  refused(R"(, "sharding_types": [])", "sharding_types: found an empty array");
  refused(R"(, "sharding_types": null)", "sharding_types: found null");
  refused(R"(, "min_partition": 0)", "min_partition: found 0, expected an integer from 1");
  refused(R"(, "min_partition": 1048577)", "min_partition: found 1048577");
  refused(R"(, "sharding": ["whole"])", "sharding: found an unknown key");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
