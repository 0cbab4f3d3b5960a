// What the networks are fed: names, formulas, and how a shard's share of its table shows.
#include "engine/cost_model/features.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "engine/core/reuse_histogram.h"
#include "engine/cost_model/comm_features.h"
#include "io/file.h"

namespace neuroshard {
namespace {

Table example() {
  Table table;
  table.name = "t";
  table.rows = 1000000;
  table.dim = 64;
  table.pooling_factor = 10;
  table.reuse_histogram[0] = 0.75;  // once
  table.reuse_histogram[1] = 0.25;  // twice
  return table;
}

double value(const std::string& name, const Table& table, std::int64_t rows, std::int32_t dim,
             std::int64_t batch) {
  const auto set = FeatureSet::parse(name);
  BOOST_REQUIRE(set.ok());
  float out = 0;
  set->compute({table, {0, rows, dim}, batch}, {&out, 1});
  return out;
}

std::vector<float> comm(const std::string& names, const std::vector<float>& dims,
                        const std::vector<float>& starts) {
  const auto set = CommFeatureSet::parse(names);
  BOOST_REQUIRE(set.ok());
  const int width = starts.empty() ? set->backward_size() : set->forward_size();
  std::vector<float> out(dims.size() * static_cast<std::size_t>(width));
  set->compute({dims, starts, 65536}, out);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(features)

BOOST_AUTO_TEST_CASE(the_papers_twenty_in_the_order_of_the_reference_files) {
  const auto set = FeatureSet::parse(paper_features());
  BOOST_REQUIRE(set.ok());
  BOOST_TEST(set->size() == 20);
  BOOST_TEST(set->to_string() == paper_features());
  std::vector<float> out(20);
  const Table table = example();
  set->compute({table, {0, table.rows, table.dim}, 65536}, out);
  BOOST_TEST(out[0] == 64.0f);
  BOOST_TEST(out[1] == 1e6f);
  BOOST_TEST(out[2] == 10.0f);
  BOOST_TEST(out[3] == 0.75f);
  BOOST_TEST(out[4] == 0.25f);
  BOOST_TEST(out[19] == 0.0f);
}

BOOST_AUTO_TEST_CASE(a_row_range_gets_its_share_of_the_lookups) {
  const Table table = example();
  BOOST_TEST(value("lookups", table, table.rows, 64, 1000) == 10000.0);
  BOOST_TEST(value("lookups", table, table.rows / 4, 64, 1000) == 2500.0);
  BOOST_TEST(value("pooling_factor", table, table.rows / 4, 64, 1000) == 2.5);
  BOOST_TEST(value("rows", table, table.rows / 4, 64, 1000) == 250000.0);
  BOOST_TEST(value("lookup_bytes", table, table.rows, 32, 1000) == 10000.0 * 32 * 4);
}

BOOST_AUTO_TEST_CASE(distinct_rows_follow_the_histogram_and_never_exceed_the_shard) {
  const Table table = example();
  const double expected = 10000 / mean_reuse(table.reuse_histogram);
  BOOST_TEST(std::fabs(value("distinct_rows", table, table.rows, 64, 1000) - expected) < 0.01);
  BOOST_TEST(value("distinct_rows", table, 5, 64, 1000000000) == 5.0);
  BOOST_TEST(std::fabs(value("log_distinct_rows", table, table.rows, 64, 1000) -
                       std::log1p(expected)) < 1e-5);
  Table unused = table;
  unused.pooling_factor = 0;
  unused.reuse_histogram = {};
  for (const char* name : {"distinct_rows", "log_distinct_rows", "log_mean_reuse", "log_lookups",
                           "log_long_rows", "lookup_share_3"}) {
    BOOST_TEST(value(name, unused, unused.rows, 64, 1000) == 0.0);
  }
}

BOOST_AUTO_TEST_CASE(long_rows_are_those_with_more_than_32_lookups) {
  Table table = example();
  table.reuse_histogram = {};
  table.reuse_histogram[5] = 0.75;  // 17 to 32
  table.reuse_histogram[6] = 0.15;  // 33 to 64
  table.reuse_histogram[16] = 0.1;
  const double distinct = value("distinct_rows", table, table.rows, 64, 1000);
  BOOST_TEST(std::fabs(value("log_long_rows", table, table.rows, 64, 1000) -
                       std::log1p(0.25 * distinct)) < 1e-5);
}

BOOST_AUTO_TEST_CASE(lookups_are_told_by_the_rows_that_caches_hold) {
  Table table;
  table.rows = 10'000'000;
  table.dim = 64;
  table.pooling_factor = 10;
  table.reuse_histogram[0] = 0.5;  // once
  table.reuse_histogram[8] = 0.5;  // 129 to 256 times
  const std::int64_t batch = 1'000'000;
  const double hot = 0.5 * value("distinct_rows", table, table.rows, 64, batch);
  const double once = hot;
  const double each = (1e7 - once) / hot;
  const auto found = [&](const char* name, std::int32_t dim) {
    return std::expm1(value(name, table, table.rows, dim, batch));
  };
  const auto near = boost::test_tools::tolerance(1e-4);
  BOOST_TEST(found("log_short_lookups", 64) == once, near);
  // 256 KiB hold 1,024 of the hot rows, or 512 of twice the columns; 32 MiB hold all of them, and
  // 65,536 rows of 128 columns in all.
  BOOST_TEST(found("log_lookups_past_l1", 64) == 1e7 - 1024 * each, near);
  BOOST_TEST(found("log_lookups_past_l1", 128) == 1e7 - 512 * each, near);
  BOOST_TEST(found("log_lookups_past_l2", 128) == once - (65536 - hot), near);
  BOOST_TEST(found("log_lookups_past_l2", 64) == 0, near);
  BOOST_TEST(
      value("bytes_past_l2", table, table.rows, 128, batch) == (once - (65536 - hot)) * 128 * 4,
      near);
  BOOST_TEST(value("long_rows", table, table.rows, 64, batch) == hot, near);
  Table unknown = table;  // no histogram: every lookup is of another row
  unknown.reuse_histogram = {};
  BOOST_TEST(std::expm1(value("log_lookups_past_l1", unknown, unknown.rows, 64, 1000)) == 1e4,
             near);
}

BOOST_AUTO_TEST_CASE(lookup_shares_add_up_to_one) {
  const Table table = example();
  double sum = 0;
  for (int bin = 0; bin < kReuseBins; ++bin) {
    sum += value("lookup_share_" + std::to_string(bin), table, table.rows, 64, 1000);
  }
  BOOST_TEST(std::fabs(sum - 1) < 1e-6);
}

BOOST_AUTO_TEST_CASE(other_lookups_are_told_from_the_pooled_ones_that_they_are_asked_about_as) {
  const FeatureSet set = FeatureSet::parse("batch_size,not_pooled,log_outputs_a_sample").value();
  const auto kind = [&](const Table& table) {
    std::vector<float> out(3);
    set.compute({table, {0, table.rows, table.dim}, 1000}, out);
    return out;
  };
  using Values = std::vector<float>;
  Table table = example();
  BOOST_TEST((kind(table) == Values{1000, 0, 0}));
  table.features = 8;
  BOOST_TEST((kind(table) == Values{8000, 0, std::log(8.0F)}));
  table.pooled = false;
  BOOST_TEST((kind(table) == Values{10000, 1, std::log(10.0F)}));
  table.pooling_factor = 0.5;
  BOOST_TEST((kind(table) == Values{500, 1, 0}));
}

BOOST_AUTO_TEST_CASE(the_defaults_are_known_names) {
  BOOST_TEST(FeatureSet::parse(default_features()).ok());
  BOOST_TEST(CommFeatureSet::parse(default_comm_features()).ok());
}

/// The names that a refusal lists, those with a number as the documents write them.
std::vector<std::string> names_in(const std::string& message) {
  std::vector<std::string> names;
  std::istringstream list(message.substr(message.find("one of ") + 7));
  for (std::string name; list >> name;) {
    if (name.ends_with(',')) name.pop_back();
    for (const std::string family : {"reuse_bin_K", "lookup_share_K", "start_tail_R"}) {
      if (name.starts_with(family.substr(0, family.size() - 1))) name = family;
    }
    names.push_back(name);
  }
  return names;
}

BOOST_AUTO_TEST_CASE(every_feature_is_in_the_documents) {
  const auto documents = io::read_file(NEUROSHARD_SOURCE_DIR "/docs/FILE_FORMATS.md");
  BOOST_REQUIRE(documents.ok());
  const std::vector<std::string> compute = names_in(FeatureSet::parse("x").status().message());
  const std::vector<std::string> comm = names_in(CommFeatureSet::parse("x").status().message());
  BOOST_TEST(compute.size() == 30U + 17U + 17U);
  BOOST_TEST(comm.size() == 29U);
  for (const auto& names : {compute, comm}) {
    for (const std::string& name : names) {
      BOOST_TEST(documents->find("`" + name + "`") != std::string::npos, name);
    }
  }
}

BOOST_AUTO_TEST_CASE(bad_lists_are_errors_that_name_the_culprit) {
  for (const char* list : {"", "dim,", "dim,,rows", "dim,height", "dim,rows,dim", " dim"}) {
    const auto set = FeatureSet::parse(list);
    BOOST_TEST_CONTEXT(list) {
      BOOST_REQUIRE(!set.ok());
      BOOST_TEST((set.status().code() == StatusCode::kInvalidInput));
    }
    BOOST_TEST(!CommFeatureSet::parse(list).ok());
  }
  BOOST_TEST(FeatureSet::parse("height").status().message().find("height") != std::string::npos);
  BOOST_TEST(CommFeatureSet::parse("dim,dim_max,dim").status().message() ==
             "communication feature 'dim' is named twice");
  BOOST_TEST(!CommFeatureSet::parse("start,start_max").ok());  // nothing for the backward network
}

BOOST_AUTO_TEST_CASE(every_device_sees_itself_and_everyone) {
  const std::string names = "dim,dim_mean,dim_max,dim_min,dim_std,dim_other,dim_share,start_wait";
  const std::vector<float> out = comm(names, {2, 4, 6}, {1, 0, 5});
  const float deviation = std::sqrt(8.0f / 3.0f);
  const std::vector<float> first = {2, 4, 6, 2, deviation, 10, 2.0f / 12, 4};
  const std::vector<float> last = {6, 4, 6, 2, deviation, 6, 0.5f, 0};
  for (std::size_t k = 0; k < first.size(); ++k) {
    BOOST_TEST(std::fabs(out[k] - first[k]) < 1e-6);
    BOOST_TEST(std::fabs(out[16 + k] - last[k]) < 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(the_tail_is_what_the_slowest_device_needs_after_the_last_start) {
  const std::vector<float> out = comm("dim,start_tail_50,start_tail_12", {900, 100, 50}, {0, 5, 4});
  // 65,536 x 4 bytes a dim. At 50 GB/s the first device is done before the last one starts.
  BOOST_TEST(std::fabs(out[1] - 100 * 65536 * 4e-6 / 50) < 1e-5);
  BOOST_TEST(std::fabs(out[2] - (900 * 65536 * 4e-6 / 12.5 - 5)) < 1e-4);
  const std::vector<float> level = comm("dim,start_tail_50", {900, 100, 50}, {3, 3, 3});
  BOOST_TEST(std::fabs(level[1] - 900 * 65536 * 4e-6 / 50) < 1e-5);
}

BOOST_AUTO_TEST_CASE(what_goes_to_one_peer_falls_with_their_number) {
  BOOST_TEST(comm("volume_max_peer", {900, 100, 50}, {})[1] == 900 * 65536 / 3.0f);
  BOOST_TEST(comm("volume_max_peer", {900, 100, 50, 0}, {})[3] == 900 * 65536 / 4.0f);
}

BOOST_AUTO_TEST_CASE(sizes_double_with_an_exchange_and_the_rest_does_not) {
  const auto set = CommFeatureSet::parse(
      "devices,log_devices,log_batch_size,dim,dim_share,dim_std,volume,volume_max_peer,start,start_"
      "wait,start_tail_50");
  BOOST_REQUIRE(set.ok());
  std::vector<bool> forward = {false, false, false, true, false, true,
                               true,  true,  true,  true, true};
  BOOST_TEST(set->proportional(true) == forward, boost::test_tools::per_element());
  forward.resize(8);  // what comes before the starts
  BOOST_TEST(set->proportional(false) == forward, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(lists_know_whether_they_see_the_batch_size) {
  BOOST_TEST(!FeatureSet::parse(paper_features())->sees_batch_size());
  BOOST_TEST(FeatureSet::parse(default_features())->sees_batch_size());
  BOOST_TEST(FeatureSet::parse("dim,log_distinct_rows")->sees_batch_size());
  BOOST_TEST(!CommFeatureSet::parse("dim,dim_max,start_tail_50")->sees_batch_size());
  BOOST_TEST(CommFeatureSet::parse(default_comm_features())->sees_batch_size());
}

BOOST_AUTO_TEST_CASE(backward_inputs_are_the_forward_ones_without_starts) {
  const auto set = CommFeatureSet::parse("start,dim,start_max,devices");
  BOOST_REQUIRE(set.ok());
  BOOST_TEST(set->forward_size() == 4);
  BOOST_TEST(set->backward_size() == 2);
  BOOST_TEST(comm("start,dim,start_max,devices", {7, 9}, {}) == (std::vector<float>{7, 2, 9, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(split_inputs_are_the_inputs) {
  // Every name there is.
  const auto set = CommFeatureSet::parse(
      "start_wait,devices,log_devices,log_batch_size,dim,dim_mean,dim_max,dim_min,dim_std,dim_"
      "other,"
      "dim_share,volume,volume_mean,volume_max,volume_min,volume_std,volume_max_peer,start,"
      "start_mean,start_max,start_min,start_std,start_tail_12,start_tail_25,start_tail_50,"
      "start_tail_100,start_tail_200,start_tail_400,start_tail_800");
  BOOST_REQUIRE(set.ok());
  const std::vector<float> dims = {900, 100, 52, 8};
  for (const std::vector<float>& starts : {std::vector<float>{}, std::vector<float>{3, 1, 0, 7}}) {
    const CommFeatureSet::Split split = set->split(!starts.empty());
    const std::size_t width = split.common.size() + split.own.size();
    const int size = starts.empty() ? set->backward_size() : set->forward_size();
    BOOST_TEST(width == static_cast<std::size_t>(size));
    std::vector<float> whole(dims.size() * width);
    set->compute({dims, starts, 65536}, whole);
    std::vector<float> common(split.common.size());
    std::vector<float> own(dims.size() * split.own.size());
    set->compute_split({dims, starts, 65536}, common, own);
    for (std::size_t device = 0; device < dims.size(); ++device) {
      const float* row = whole.data() + device * width;
      for (std::size_t k = 0; k < common.size(); ++k) BOOST_TEST(common[k] == row[split.common[k]]);
      for (std::size_t k = 0; k < split.own.size(); ++k) {
        BOOST_TEST(own[device * split.own.size() + k] == row[split.own[k]]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(devices_without_dims_have_finite_inputs) {
  for (const float v : comm(default_comm_features(), {0, 0}, {0, 0})) {
    BOOST_TEST(std::isfinite(v));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
