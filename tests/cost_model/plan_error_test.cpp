// How sure a plan's cost is said to be: worked out by hand, and told where it is not known.
#include "engine/cost_model/plan_error.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "engine/cost_model/cost_model_file.h"
#include "engine/cost_model/shipped_models.h"
#include "tests/cost_model/random_models.h"

namespace neuroshard::test {
namespace {

/// Networks with errors of 3, 4 and 6 %, measured.
CostModels with_errors() {
  Rng rng(1);
  CostModels models = random_models(2, rng);
  models.compute_origin = models.comm_origin = {"here", Provenance::kMeasured};
  models.compute->error = HeldOutError{100, 0.03, 0.99};
  models.comm->forward.error = HeldOutError{100, 0.04, 0.98};
  models.comm->backward.error = HeldOutError{100, 0.06, 0.97};
  return models;
}

/// The second device is the bottleneck: 6, 3 and 1 ms.
const PlanCost kCost{10, {{9, 0.5, 0.4}, {6, 3, 1}}};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plan_error)

BOOST_AUTO_TEST_CASE(parts_count_by_their_share_of_the_bottleneck) {
  const CostError error = error_of(with_errors(), kCost);
  BOOST_REQUIRE(error.share.has_value());
  BOOST_TEST(*error.share == (6 * 0.03 + 3 * 0.04 + 1 * 0.06) / 10,
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(error_text(error) == "+- 4 %");
  BOOST_TEST(has(error.basis, "3 % (compute), 4 % (forward exchange), 6 % (backward exchange)"),
             error.basis);
  BOOST_TEST(error_text({0.004, ""}) == "+- 0.4 %");
}

BOOST_AUTO_TEST_CASE(what_is_simulated_also_has_the_error_of_the_simulation) {
  CostModels models = with_errors();
  models.compute_origin = {"there", Provenance::kSimulated, PublishedError{0.4, "published"}};
  const CostError error = error_of(models, kCost);
  BOOST_TEST(*error.share == (6 * std::hypot(0.03, 0.4) + 3 * 0.04 + 1 * 0.06) / 10,
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(has(error.basis, "; simulation within 40 % of 90 % of published"));
  models.compute_origin.published.reset();
  const CostError never_compared = error_of(models, kCost);
  BOOST_TEST(!never_compared.share.has_value());
  BOOST_TEST(has(never_compared.basis, "simulated hardware of its compute was never held"));
}

BOOST_AUTO_TEST_CASE(files_from_before_load_and_say_nothing) {
  CostModels models = with_errors();
  models.comm->backward.error.reset();
  const CostModels read = parse_cost_models(format_cost_models(models), "m").value();
  BOOST_TEST((read.compute->error == models.compute->error));
  BOOST_TEST(!read.comm->backward.error.has_value());
  const CostError error = error_of(read, kCost);
  BOOST_TEST(!error.share.has_value());
  BOOST_TEST(has(error.basis, "how far off its backward exchange is"), error.basis);
  BOOST_TEST(error_text(error) == "error not known");
  // One device exchanges nothing: what is not known does not matter.
  BOOST_TEST(*error_of(read, {6, {{6, 0, 0}}}).share == 0.03);
}

BOOST_AUTO_TEST_CASE(the_formula_states_none) {
  const CostModels formula = load_shipped_models("torchrec").value().models;
  const CostError error = error_of(formula, kCost);
  BOOST_TEST(!error.share.has_value());
  BOOST_TEST(has(error.basis, "TorchRec's formula"));
}

BOOST_AUTO_TEST_CASE(every_shipped_network_states_its_error) {
  for (std::size_t index = 0; index < shipped_model_count(); ++index) {
    const std::string name(shipped_model_name(index));
    const NamedCostModels named = load_shipped_models(name).value();
    if (named.models.torchrec) continue;
    const CostError error = error_of(named.models, kCost);
    BOOST_REQUIRE_MESSAGE(error.share.has_value(), name << ": " << error.basis);
    BOOST_TEST(*error.share > 0);
    BOOST_TEST(poor_order(named.models).empty(), name);
  }
}

BOOST_AUTO_TEST_CASE(a_gap_within_the_error_is_no_saving) {
  const CostError error{0.1, ""};
  BOOST_TEST(within_error(error, 10, 9.1));
  BOOST_TEST(within_error(error, 10, 10.9));
  BOOST_TEST(!within_error(error, 10, 8.9));
  BOOST_TEST(!within_error({std::nullopt, ""}, 10, 10));
}

BOOST_AUTO_TEST_CASE(a_poor_order_is_told) {
  CostModels models = with_errors();
  BOOST_TEST(poor_order(models).empty());
  models.comm->forward.error->tau = 0.39;
  BOOST_TEST(has(poor_order(models), "forward exchange 0.39, expected above 0.8"));
  models.comm->forward.error->tau = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(poor_order(models).empty());
}

BOOST_AUTO_TEST_CASE(metadata_that_says_nonsense_is_refused) {
  CostModels models = with_errors();
  models.compute_origin = {"there", Provenance::kSimulated, PublishedError{0.4, "a\nb"}};
  const auto read = parse_cost_models(format_cost_models(models), "m");
  BOOST_TEST(!read.ok());
  BOOST_TEST(has(read.status().message(), "published_basis"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
