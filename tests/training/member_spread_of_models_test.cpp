// What members of a merged compute model say is found in it again, but for their own constants.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "engine/core/rng.h"
#include "engine/training/evaluate.h"
#include "engine/training/inputs.h"
#include "engine/training/member_spread.h"
#include "engine/training/split_members.h"
#include "nn/merge.h"

namespace {

using namespace neuroshard;

constexpr std::size_t kMembers = 4;

/// Four networks of random weights, the last bias of each its own, and the model that they make.
struct Members {
  std::vector<ComputeModel> all;
  ComputeModel merged;

  explicit Members(CostTarget target) {
    const FeatureSet features = FeatureSet::parse("log_rows,dim,pooling_factor").value();
    merged.features = features;
    merged.scaling = {{8, 32, 5}, {2, 20, 3}};
    merged.target = target;
    std::vector<nn::Mlp> tables;
    std::vector<nn::Mlp> heads;
    Rng rng(7);
    for (std::size_t k = 0; k < kMembers; ++k) {
      nn::Mlp& table =
          tables.emplace_back(nn::dense_stack(std::vector{3, 8, 4}, nn::Activation::kRelu));
      nn::Mlp& head =
          heads.emplace_back(nn::dense_stack(std::vector{4, 6, 1}, nn::Activation::kNone));
      nn::initialize(table, rng);
      nn::initialize(head, rng);
      head.bias(1)[0] += 9;  // costs are above 0
      ComputeModel& own = all.emplace_back(merged);
      own.table = table;
      own.head = head;
    }
    merged.table = nn::stack_side_by_side(tables);
    merged.head = nn::average_of(heads, true);
  }
};

ComputeDataset some_sets() {
  ComputeDataset data;
  for (std::int32_t k = 0; k < 6; ++k) {
    Table table;
    table.rows = 100 << k;
    table.dim = 8 * (k + 1);
    table.pooling_factor = 1 + k;
    data.pool.push_back(table);
  }
  for (std::int32_t k = 0; k < 30; ++k) data.samples.push_back({{k % 6, k / 6, (k * 7) % 6}, 0});
  return data;
}

std::vector<double> says(const ComputeModel& model, const ComputeDataset& data) {
  std::vector<double> ms = predict_compute(model, data, all_ids(data.samples.size())).value();
  for (double& each : ms) each = model.target == CostTarget::kMilliseconds ? each : std::log(each);
  return ms;
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(member_spread_of_models)

BOOST_AUTO_TEST_CASE(members_are_found_in_what_they_were_merged_to) {
  const Members members(CostTarget::kMilliseconds);
  const std::vector<ComputeModel> found = members_of(members.merged);
  BOOST_TEST_REQUIRE(found.size() == kMembers);
  for (std::size_t k = 0; k < kMembers; ++k) {
    BOOST_TEST(found[k].table.parameters() == members.all[k].table.parameters(),
               boost::test_tools::per_element());
    BOOST_TEST(found[k].head.weight(0) == members.all[k].head.weight(0),
               boost::test_tools::per_element());
    BOOST_TEST(found[k].head.weight(1) == members.all[k].head.weight(1),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(the_spread_is_the_deviation_of_members_without_their_constants) {
  const ComputeDataset data = some_sets();
  for (const CostTarget target : {CostTarget::kMilliseconds, CostTarget::kLogMilliseconds}) {
    const Members members(target);
    const std::vector<double> model = says(members.merged, data);
    std::vector<double> squares(model.size(), 0.0);
    for (const ComputeModel& member : members.all) {
      const std::vector<double> own = says(member, data);
      for (std::size_t k = 0; k < own.size(); ++k) {
        squares[k] += std::pow(own[k] - mean(own) - (model[k] - mean(model)), 2);
      }
    }
    const std::vector<double> spread = member_spread(members.merged, data).value();
    BOOST_TEST_REQUIRE(spread.size() == squares.size());
    for (std::size_t k = 0; k < spread.size(); ++k) {
      const double unit = target == CostTarget::kMilliseconds ? 1 : std::exp(model[k]);
      BOOST_TEST(spread[k] == unit * std::sqrt(squares[k] / kMembers),
                 boost::test_tools::tolerance(1e-3));
      BOOST_TEST(spread[k] > 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(one_network_has_nobody_to_disagree_with) {
  const Members members(CostTarget::kMilliseconds);
  BOOST_TEST(members_of(members.all.front()).size() == 1U);
  const auto spread = member_spread(members.all.front(), some_sets());
  BOOST_TEST_REQUIRE(!spread.ok());
  BOOST_TEST(spread.status().message().find("one network, expected several members") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
