// The exchange format of plans in files: ours, TorchRec's, and those without a place for it.
#include <boost/test/unit_test.hpp>
#include <string>

#include "io/formats/plan_export.h"
#include "io/plans/plan_file.h"
#include "io/plans/plan_import.h"
#include "tests/io/trainer_plans.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(plan_exchange)

namespace {

using test::document_of;
using test::three_tables;
using test::value_of;

PlanDocument coded_document() {
  PlanDocument document = document_of(
      2, {{0, 0, 10, 0, 8, 1}, {1, 0, 6, 0, 4, 0}, {2, 0, 12, 0, 4, 0}, {2, 0, 12, 4, 16, 1}});
  document.exchange = {Precision::kInt8, Precision::kBf16};
  return document;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ours_and_torchrecs_keep_it) {
  const PlanDocument document = coded_document();
  const std::string own = format_plan(document);
  BOOST_TEST((value_of(parse_plan(own, "plan.json")).exchange == document.exchange));
  const std::string torchrec = value_of(export_plan("torchrec", three_tables(), document, {}));
  const PlanInput input = value_of(parse_plan_input(torchrec, "plan.json"));
  BOOST_TEST((input.exchange() == document.exchange));
  const BoundPlan bound = value_of(bind_plan(input, three_tables(), 0));
  BOOST_TEST((bound.document.exchange == document.exchange));
  BOOST_TEST(value_of(export_plan("torchrec", three_tables(), bound.document, {})) == torchrec);
}

BOOST_AUTO_TEST_CASE(fp32_is_not_written) {
  PlanDocument document = coded_document();
  document.exchange = {};
  BOOST_TEST(format_plan(document).find("exchange") == std::string::npos);
  BOOST_TEST(value_of(export_plan("torchrec", three_tables(), document, {})).find("exchange") ==
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_no_format_is_told_with_its_place) {
  const std::string good = format_plan(coded_document());
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return parse_plan(text, "plan.json").status().message();
  };
  BOOST_TEST(
      refusal("\"int8\"", "\"fp4\"") ==
      "plan.json: $.exchange.forward: found 'fp4', expected 'fp32', 'fp16', 'bf16', 'fp8' or "
      "'int8'");
  BOOST_TEST(refusal("\"backward\"", "\"back\"").find("plan.json: $.exchange") == 0u);
}

BOOST_AUTO_TEST_CASE(hugectr_has_no_place_for_it) {
  for (const char* format : {"hugectr", "hugectr-python"}) {
    const Status status = export_plan(format, three_tables(), coded_document(), {}).status();
    BOOST_TEST(status.message() ==
               "exchange: found int8,bf16, expected fp32: HugeCTR's lists have no place for it");
  }
  BOOST_TEST(!check_exportable("hugectr", three_tables(), 2, {}, coded_document().exchange).ok());
  BOOST_TEST(check_exportable("torchrec", three_tables(), 2, {}, coded_document().exchange).ok());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::io
