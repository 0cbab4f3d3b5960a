// Reports: their JSON has the documented keys, their tables fit a terminal.
#include "engine/training/report.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

namespace neuroshard {
namespace {

TrainReport example(std::int32_t epochs, std::int32_t best) {
  TrainReport report;
  report.options = {{"loss", "mse"}, {"seed", "3"}};
  report.train_samples = 80;
  report.validation_samples = report.test_samples = 10;
  for (std::int32_t e = 1; e <= epochs; ++e)
    report.curve.push_back({e, 1.0 / e, 2.0 / e, 100.0 / e});
  report.best_epoch = best;
  report.test = {10, 123.456, 0.0512, 0.9};
  return report;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report)

BOOST_AUTO_TEST_CASE(rows_name_what_they_show) {
  std::string text;
  for (const auto& [name, value] : report_rows(example(5, 4))) text += name + "=" + value + "\n";
  BOOST_TEST(has(text, "best epoch=4 of 5"));
  BOOST_TEST(has(text, "test MSE (ms^2)=123.5"));
  BOOST_TEST(has(text, "test MAPE=5.12 %"));
  BOOST_TEST(has(text, "test Kendall's tau=0.9000"));
}

BOOST_AUTO_TEST_CASE(a_long_curve_is_thinned_and_keeps_its_best_and_last_epoch) {
  const auto rows = curve_rows(example(300, 217), 8);
  BOOST_TEST(rows.size() == 8);
  BOOST_TEST(rows.back().front() == "300");
  int best = 0;
  int before = 0;
  for (const auto& row : rows) {
    if (row.front() == "217" && row.back() == "best") ++best;
    BOOST_TEST(std::stoi(row.front()) > before);
    before = std::stoi(row.front());
  }
  BOOST_TEST(best == 1);
  BOOST_TEST(curve_rows(example(3, 3), 8).size() == 3);
  BOOST_TEST(curve_rows(example(0, 0), 8).empty());
}

BOOST_AUTO_TEST_CASE(json_has_the_documented_keys) {
  const TrainReport report = example(2, 2);
  const std::string json = format_training({{"compute", &report}}, {"H200", Provenance::kMeasured});
  for (const char* part :
       {"\"format\": \"neuroshard-training\"", "\"data_hardware\": \"H200\"",
        "\"data_provenance\": \"measured\"", "\"networks\"", "\"compute\"", "\"seed\": \"3\"",
        "\"best_epoch\": 2", "\"mse_ms2\": 123.456", "\"kendall_tau\": 0.9",
        "\"validation_loss\": 1,", "\"validation_mse_ms2\": 50"}) {
    BOOST_TEST_CONTEXT(part) { BOOST_TEST(has(json, part)); }
  }
  NamedCostModels models{"mine", "", {}};
  models.models.torchrec.emplace();
  models.models.compute_origin = {"H100", Provenance::kSimulated};
  const std::string evaluation =
      format_evaluation({{"forward", report.test}}, models, {"H200", Provenance::kMeasured});
  for (const char* part :
       {"\"cost_model\": \"mine\"", "\"hardware\": \"H100\"", "\"cost_provenance\": \"simulated\"",
        "\"data_hardware\": \"H200\"", "\"data_provenance\": \"measured\""}) {
    BOOST_TEST_CONTEXT(part) { BOOST_TEST(has(evaluation, part)); }
  }
  BOOST_TEST(has(evaluation, "neuroshard-evaluation"));
  // One device exchanges nothing: costs of 0 have no relative error and no order.
  const std::vector<double> zeros(3, 0.0);
  const Metrics unknown = measure_fit(std::vector<double>{1, 2, 3}, zeros);
  BOOST_TEST((metrics_cells(unknown) == std::vector<std::string>{"4.667", "-", "-"}));
  BOOST_TEST((metrics_cells({}) == std::vector<std::string>{"-", "-", "-"}));
  BOOST_TEST(has(format_evaluation({{"forward", unknown}}, models, {"H200", Provenance::kMeasured}),
                 "\"mape\": null, \"kendall_tau\": null"));
  BOOST_TEST(has(evaluation, "\"forward\": {\"count\": 10"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
