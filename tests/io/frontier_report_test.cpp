// The frontier as JSON with whole plan files, and as a page.
#include "io/reports/frontier_report.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "io/json/json.h"
#include "io/plans/plan_file.h"

namespace neuroshard::io {
namespace {

FrontierPlan plan_of(std::int32_t devices, std::int64_t bytes, double cost) {
  FrontierPlan plan;
  plan.memory_bytes = bytes;
  plan.document.plan = {devices, {{0, 0, 10, 0, 8, devices - 1}}};
  plan.document.batch_size = 64;
  plan.document.cost.cost_ms = cost;
  plan.document.cost.per_device.resize(static_cast<std::size_t>(devices));
  return plan;
}

const FrontierReport kReport{
    "1 table <b>",
    "costs & more",
    {plan_of(1, 1 << 20, 3), plan_of(2, 1 << 19, 2.5), plan_of(2, 1 << 21, 2)}};

}  // namespace

BOOST_AUTO_TEST_SUITE(frontier_report)

BOOST_AUTO_TEST_CASE(each_point_holds_a_plan_file) {
  const std::string text = format_frontier(kReport);
  const auto json = JsonDocument::parse(text, "frontier");
  BOOST_REQUIRE(json.ok());
  JsonObject root = *json->root().object();
  BOOST_TEST(root.format("neuroshard-frontier", 1).ok());
  const JsonArray points = *root.array("points");
  std::size_t at = 0;
  for (const JsonValue value : points) {
    JsonObject point = *value.object();
    const FrontierPlan& own = kReport.plans[at++];
    BOOST_TEST(*point.integer("devices", 1, 9) == own.document.plan.devices);
    BOOST_TEST(*point.integer("device_memory_bytes", 1, 1 << 30) == own.memory_bytes);
    BOOST_TEST(*point.number("cost_ms") == own.document.cost.cost_ms);
  }
  BOOST_TEST(at == 3U);
  // The plan stands there as it does in its own file, deeper by its place.
  const std::string alone = format_plan(kReport.plans[0].document);
  for (std::size_t begin = 0; begin < alone.size();) {
    const std::size_t end = alone.find('\n', begin);
    std::string line = alone.substr(begin, end - begin);
    line.erase(0, line.find_first_not_of(' '));
    BOOST_TEST(text.find(line) != std::string::npos, line);
    begin = end + 1;
  }
}

BOOST_AUTO_TEST_CASE(the_page_has_a_line_for_each_number_of_devices) {
  const std::string page = format_frontier_page(kReport);
  for (const std::string words :
       {"1 table &lt;b&gt;", "costs &amp; more", ">1 device</text>", ">2 devices</text>",
        "2.5 ms in 512 KiB on 2 devices", "</svg>", "</html>"}) {
    BOOST_TEST(page.find(words) != std::string::npos, words);
  }
  BOOST_TEST(page.find("<b>") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::io
