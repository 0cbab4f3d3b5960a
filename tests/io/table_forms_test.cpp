// Foreign forms of table files: TorchRec-like, FBGEMM's benchmark configurations, CSV.
#include "io/tables/table_forms.h"

#include <boost/test/unit_test.hpp>

#include "io/tables/tables.h"
#include "support.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(table_forms)

namespace {

using test::check_prefixes_refused;
using test::check_refused;
using test::value_of;

constexpr std::string_view kTorchRec = R"([
  {"name": "user", "num_embeddings": 1000, "embedding_dim": 64, "feature_names": ["u", "v"],
   "pooling_factors": [1.5, 20], "data_type": "FP16", "pooling": "SUM", "zipf_alpha": 1.1,
   "is_weighted": true},
  {"name": "ad", "num_embeddings": 7, "embedding_dim": 4, "pooling_factors": [1]}])";

constexpr std::string_view kTbe = R"({
  "T": 3, "E": 1000, "D": 64, "mixed_dim": false, "weighted": false,
  "batch_params": {"B": 512, "sigma_B": null, "vbe_distribution": "normal", "vbe_num_ranks": null,
                   "Bs": [512, 512, 512]},
  "indices_params": {"heavy_hitters": [0.3, 0.1], "zipf_q": 2.5, "zipf_s": 1.2,
                     "index_dtype": "torch.int64", "offset_dtype": "torch.int64"},
  "pooling_params": {"L": 20, "sigma_L": 3, "length_distribution": "normal"},
  "use_cpu": true, "Es": [1000, 1000, 50], "Ds": [64, 32, 4], "max_indices": null})";

constexpr std::string_view kCsv =
    "name,rows,dim,pooling_factor,zipf_alpha,data_type\n"
    "\"a \"\"b\"\", c\",1000,64,1.5,1.1,fp16\r\n"
    "plain,7,4,0,,\n";

Result<TableFile> parse(std::string_view bytes) { return parse_tables(bytes, "f"); }

std::string changed(std::string_view text, std::string_view from, std::string_view to) {
  std::string copy(text);
  const std::size_t place = copy.find(from);
  BOOST_REQUIRE_MESSAGE(place != std::string::npos, from);
  return copy.replace(place, from.size(), to);
}

using Cases = std::vector<std::tuple<std::string_view, std::string_view, std::string_view>>;

void check_all_refused(std::string_view good, const Cases& cases) {
  BOOST_TEST(parse(good).ok());
  for (const auto& [from, to, message] : cases) {
    check_refused(parse(changed(good, from, to)).status(), {"f:", message});
  }
}

BOOST_AUTO_TEST_CASE(modules_are_read_and_written) {
  BOOST_TEST(value_of(parse(kTorchRec)).modules.empty());
  const std::string one = changed(kTorchRec, "\"name\": \"user\"",
                                  "\"name\": \"user\", \"module\": \"towers.user.ebc\"");
  const TableFile file = value_of(parse(one));
  const std::vector<std::string> expected{"towers.user.ebc", ""};
  BOOST_TEST(file.modules == expected, boost::test_tools::per_element());
  const Workload workload = value_of(make_workload(file, "f"));
  const std::string text = format_tables(workload, file.modules);
  BOOST_TEST(value_of(parse(text)).modules == expected, boost::test_tools::per_element());
  BOOST_TEST(format_tables(workload).find("module") == std::string::npos);
  for (const std::string bad : {"a..b", "a b", "", ".a", "b."}) {
    check_refused(parse(changed(one, "towers.user.ebc", bad)).status(),
                  {"module: found '" + bad + "', expected a dotted name"});
  }
}

BOOST_AUTO_TEST_CASE(torchrec_configs_are_read) {
  const TableFile file = value_of(parse(kTorchRec));
  BOOST_REQUIRE(file.tables.size() == 2U);
  BOOST_TEST(!file.batch_size.has_value());
  const Table& user = file.tables[0];
  BOOST_TEST(user.name == "user");
  BOOST_TEST(user.rows == 1000);
  BOOST_TEST(user.dim == 64);
  BOOST_TEST(user.pooling_factor == 21.5);  // both features look rows up
  BOOST_TEST(user.features == 2);
  BOOST_TEST(user.weighted);
  BOOST_TEST(file.tables[1].features == 1);
  BOOST_TEST(!file.tables[1].weighted);
  BOOST_TEST((user.data_type == DataType::kFp16));
  BOOST_TEST((user.reuse_histogram == expected_reuse(1000, 65536 * 21.5, 1.1).histogram));
  const std::string with_batch = R"({"batch_size": 64, "tables": )" + std::string(kTorchRec) + "}";
  BOOST_TEST(value_of(parse(with_batch)).batch_size.value() == 64);
  BOOST_TEST(value_of(parse_tables(with_batch, "f", 32)).batch_size.value() == 32);
}

BOOST_AUTO_TEST_CASE(features_and_weights_are_written_where_they_are_not_the_default) {
  const TableFile file = value_of(parse(kTorchRec));
  const std::string text = format_tables(value_of(make_workload(file, "f")));
  BOOST_TEST((value_of(parse(text)).tables == file.tables));
  const std::string plain = text.substr(text.find("\"ad\""));
  BOOST_TEST(plain.find("features") == std::string::npos);
  BOOST_TEST(plain.find("weighted") == std::string::npos);
  check_all_refused(text, {{"\"features\": 2", "\"features\": 0", "tables[0].features: found 0"},
                           {"\"features\": 2", "\"features\": 2.5", "features: found 2.5"},
                           {"\"weighted\": true", "\"weighted\": 1", "weighted: found 1"}});
}

BOOST_AUTO_TEST_CASE(tables_that_are_not_pooled_say_so) {
  std::string config(kTorchRec);
  config.replace(config.find("\"is_weighted\": true"), 19, "\"is_pooled\": false");
  const TableFile file = value_of(parse(config));
  BOOST_TEST(!file.tables[0].pooled);
  BOOST_TEST(file.tables[1].pooled);
  const std::string text = format_tables(value_of(make_workload(file, "f")));
  BOOST_TEST((value_of(parse(text)).tables == file.tables));
  BOOST_TEST(text.find("\"pooled\": false") == text.rfind("\"pooled\""));
  check_all_refused(text, {{"\"pooled\": false", "\"pooled\": 0", "tables[0].pooled: found 0"}});
}

BOOST_AUTO_TEST_CASE(bad_torchrec_configs_are_named_with_their_path) {
  check_all_refused(
      kTorchRec,
      {{"\"pooling_factors\": [1]", "\"pooling\": \"SUM\"", "$[1]: found no key 'pooling_factors'"},
       {"[1.5, 20]", "[1.5]", "$[0].pooling_factors: found 1 factors, expected one for each of"},
       {"[1]", "[]", "$[1].pooling_factors: found 0 factors"},
       {"[1.5, 20]", "[1.5, -1]", "$[0].pooling_factors[1]: found -1"},
       {"1000", "0", "$[0].num_embeddings: found 0"},
       {"64", "2000000", "$[0].embedding_dim: found 2000000"},
       {"FP16", "INT4", "$[0].data_type: found 'INT4', expected 'FP32', 'FP16', 'BF16' or"},
       {"SUM", "MAX", "$[0].pooling: found 'MAX'"},
       {"true", "1", "$[0].is_weighted: found 1"},
       {"\"ad\"", "\"user\"", "$[1]: found the name 'user' a second time"},
       {"\"zipf_alpha\"", "\"alpha\"", "$[0].alpha: found an unknown key"},
       {"\"u\"", "1", "$[0].feature_names[0]: found 1"}});
}

BOOST_AUTO_TEST_CASE(fbgemm_configs_are_read) {
  const TableFile file = value_of(parse(kTbe));
  BOOST_REQUIRE(file.tables.size() == 3U);
  BOOST_TEST(file.batch_size.value() == 512);
  BOOST_TEST(file.tables[2].name == "table_2");
  BOOST_TEST(file.tables[2].rows == 50);
  BOOST_TEST(file.tables[1].dim == 32);
  BOOST_TEST(file.tables[0].pooling_factor == 20);
  const IndexLaw law{{0.3, 0.1}, 2.5, 1.2};
  for (const Table& table : file.tables) {
    BOOST_TEST((table.reuse_histogram == expected_reuse(table.rows, 512 * 20.0, law).histogram));
  }
  const std::string uniform =
      changed(changed(kTbe, "[1000, 1000, 50]", "null"), "[64, 32, 4]", "null");
  BOOST_TEST(value_of(parse(uniform)).tables[2].rows == 1000);
  BOOST_TEST(value_of(parse_tables(kTbe, "f", 64)).batch_size.value() == 64);
}

BOOST_AUTO_TEST_CASE(fbgemm_configs_have_a_law_for_each_table) {
  constexpr std::string_view kEnd = "\"max_indices\": null}";
  constexpr std::string_view kLaws =
      R"("max_indices": null, "embedding_specs": null, "feature_table_map": null,
         "indices_params_list": [{"heavy_hitters": [], "zipf_q": 1, "zipf_s": 0.5},
           {"heavy_hitters": [0.5], "zipf_q": 3, "zipf_s": 0.1},
           {"heavy_hitters": [], "zipf_q": 1, "zipf_s": 2}]})";
  const std::vector<IndexLaw> laws{{{}, 1, 0.5}, {{0.5}, 3, 0.1}, {{}, 1, 2}};
  const std::string listed = changed(kTbe, kEnd, kLaws);
  const TableFile file = value_of(parse(listed));
  for (std::size_t k = 0; k < laws.size(); ++k) {
    const ReuseHistogram expected =
        expected_reuse(file.tables[k].rows, 512 * 20.0, laws[k]).histogram;
    BOOST_TEST((file.tables[k].reuse_histogram == expected));
  }
  // What is written is read as it was.
  const TableFile again = value_of(parse(format_tbe_config(file.tables, laws, 512)));
  BOOST_TEST((again.tables == file.tables));
  BOOST_TEST(again.batch_size.value() == 512);
  check_all_refused(listed, {{"\"feature_table_map\": null", "\"feature_table_map\": [0]",
                              "$.feature_table_map: found"},
                             {"0.5}", "-1}", "$.indices_params_list[0].zipf_s: found -1"},
                             {R"({"heavy_hitters": [], "zipf_q": 1, "zipf_s": 0.5},)", "",
                              "$.indices_params_list: found an array of 2"}});
}

BOOST_AUTO_TEST_CASE(fbgemm_configs_that_say_too_little_or_too_much_are_refused) {
  check_all_refused(
      kTbe,
      {{"\"weighted\": false", "\"weighted\": 1", "$.weighted: found 1"},
       {"\"sigma_B\": null", "\"sigma_B\": 3", "$.batch_params.sigma_B: found 3"},
       {"[512, 512, 512]", "[512, 256, 512]", "$.batch_params.Bs[1]: found 256"},
       {"[64, 32, 4]", "[64, 32]", "$.Ds: found an array of 2"},
       {"[0.3, 0.1]", "[0.3, 1.1]", "$.indices_params.heavy_hitters[1]: found 1.1"},
       {"[0.3, 0.1]", "[0.3, 0.9]", "$.indices_params.heavy_hitters: found probabilities"},
       {"2.5", "0", "$.indices_params.zipf_q: found 0"},
       {"1.2", "-1", "$.indices_params.zipf_s: found -1"},
       {"[1000, 1000, 50]", "[1000, 1000, 2]", "table 2 has 2 rows, expected more than the 2"},
       {"\"T\": 3", "\"T\": 100001", "$.T: found 100001"},
       {"\"L\": 20", "\"L\": -1", "$.pooling_params.L: found -1"},
       {"\"use_cpu\"", "\"use_gpu\"", "$.use_gpu: found an unknown key"}});
  check_refused(parse(changed(changed(kTbe, "[64, 32, 4]", "null"), "\"mixed_dim\": false",
                              "\"mixed_dim\": true"))
                    .status(),
                {"$.mixed_dim: found true", "at random"});
}

BOOST_AUTO_TEST_CASE(csv_is_read) {
  const TableFile file = value_of(parse(kCsv));
  BOOST_REQUIRE(file.tables.size() == 2U);
  BOOST_TEST(file.tables[0].name == "a \"b\", c");
  BOOST_TEST((file.tables[0].data_type == DataType::kFp16));
  BOOST_TEST((file.tables[0].reuse_histogram == expected_reuse(1000, 65536 * 1.5, 1.1).histogram));
  BOOST_TEST(file.tables[1].pooling_factor == 0);
  BOOST_TEST((file.tables[1].data_type == DataType::kFp32));
  BOOST_TEST(!file.batch_size.has_value());
}

BOOST_AUTO_TEST_CASE(csv_is_read_as_spreadsheets_write_it) {
  const std::string text =
      "\xEF\xBB\xBFname,rows,dim,pooling_factor\r\n\"two\r\nlines\",7,4,0\r\n"
      "\"a \"\"b\"\",\",8,4,0\r\n\r\n\n";
  const TableFile file = value_of(parse(text));
  BOOST_REQUIRE(file.tables.size() == 2U);
  BOOST_TEST(file.tables[0].name == "two\r\nlines");
  BOOST_TEST(file.tables[1].name == "a \"b\",");
  const std::string late = changed(text, "8,4,0", "8,4,x");
  check_refused(parse(late).status(), {"f:4: pooling_factor: found 'x'"});
  for (const std::string separator : {";", "\t"}) {
    const std::string heading = "name" + separator + "rows" + separator + "dim";
    check_refused(parse(heading + "\n").status(),
                  {"f:1: found the heading 'name", "expected commas between the columns"});
  }
}

BOOST_AUTO_TEST_CASE(bad_csv_is_named_with_its_line) {
  check_all_refused(
      kCsv, {{"rows,", "", "f:1: found no column 'rows'"},
             {"dim,", "dims,", "f:1: found the column 'dims'"},
             {"dim,", "rows,", "f:1: found the column 'rows'"},
             {"plain,7", "plain", "f:3: found 5 fields, expected 6"},
             {",7,", ",7.5,", "f:3: rows: found '7.5', expected an integer"},
             {",7,", ",,", "f:3: rows: found ''"},
             {",4,0", ",4,-1", "f:3: pooling_factor: found '-1'"},
             {",4,0", ",4,nan", "f:3: pooling_factor: found 'nan'"},
             {"fp16", "fp8", "f:2: data_type: found 'fp8', expected 'fp32', 'fp16', 'bf16' or"},
             {", c\"", ", c", "f:2: found a quote that does not end"},
             {", c\",", ", c\"x,", "f:2: found 'x,"},
             {"plain", "\"a \"\"b\"\", c\"", "f:3: found the name"},
             {"plain", "\"1,2\"x", "expected a comma after a quote"}});
  check_refused(parse("name,rows,dim,pooling_factor\n").status(), {"f:1: found no tables"});
  check_refused(parse("a,b\n").status(), {"f:1: found the column 'a'"});
}

BOOST_AUTO_TEST_CASE(what_is_read_can_be_written_in_our_form) {
  for (const std::string_view text : {kTorchRec, kTbe, kCsv}) {
    const Workload workload = value_of(make_workload(value_of(parse(text)), "f"));
    const Workload again = value_of(make_workload(value_of(parse(format_tables(workload))), "f"));
    BOOST_TEST((again.tables == workload.tables));
  }
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  check_prefixes_refused(kTorchRec, "f", parse);
  check_prefixes_refused(kTbe, "f", parse);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
