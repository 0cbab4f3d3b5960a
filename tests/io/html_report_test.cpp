#include "io/reports/html_report.h"

#include <boost/test/unit_test.hpp>

#include "io/formats/plan_export.h"
#include "io/reports/svg.h"
#include "plans.h"
#include "support.h"
#include "tests/support/kernels.h"

namespace neuroshard::io {
namespace {

using test::document_of;
using test::three_tables;
using test::value_of;

PlanDocument costed() {
  PlanDocument document = document_of(2, {{0, 0, 10, 0, 8, 1},
                                          {1, 0, 6, 0, 4, kEveryDevice},
                                          {2, 0, 12, 0, 8, 0},
                                          {2, 0, 12, 8, 16, 1}});
  document.cost.cost_ms = 7.25;
  document.cost.per_device = {{1.5, 0.25, 0.5, 416, 16}, {5, 1.25, 1, 416, 16}};
  document.provenance.algorithm = "by hand";
  return document;
}

std::string report(const Workload& workload, const PlanExportOptions& options) {
  return value_of(export_plan("html", workload, costed(), options));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

BOOST_AUTO_TEST_SUITE(html_report)

BOOST_AUTO_TEST_CASE(every_device_shard_and_baseline_is_shown) {
  PlanExportOptions options;
  options.memory_limit = 1 << 20;
  options.cost_origin = "h: SIMULATED hardware X";
  options.baselines = {{"random", true, 14.5}, {"greedy", false, 0}, {"neuroshard", true, 15}};
  const std::string html = report(three_tables(), options);
  BOOST_TEST(html.starts_with("<!DOCTYPE html>"));
  BOOST_TEST(count(html, "<svg ") == 4U);
  BOOST_TEST(count(html, "</svg>") == 4U);
  BOOST_TEST(count(html, ">device 1<") == 3U);    // cost, memory, places
  BOOST_TEST(count(html, "class=\"t2\"") == 4U);  // item: two shards in two charts
  BOOST_TEST(count(html, "class=\"t1\"") == 4U);  // ad on two devices in two charts
  BOOST_TEST(count(html, "<tr>") == 4U + 5U);     // tables, shards
  for (const char* expected :
       {"7.25 ms, slowest", "compute 5 ms", "forward communication 1.25 ms", "limit 1.00 MiB",
        "14.5 ms, this saves 50.0 %", "finds no plan that fits", "SIMULATED hardware X",
        "item: columns 8 to 15 of 16", ">neuroshard (paper)<", "prefers-color-scheme: dark",
        "by hand"}) {
    BOOST_TEST(html.find(expected) != std::string::npos, expected);
  }
}

BOOST_AUTO_TEST_CASE(the_headline_says_what_the_cost_is_of) {
  PlanDocument document = costed();
  const auto headline = [&] {
    const std::string html = value_of(export_plan("html", three_tables(), document, {}));
    const std::size_t at = html.find("<h1>");
    return html.substr(at, html.find("</h1>") - at);
  };
  BOOST_TEST(headline() == "<h1>Sharding plan: 7.25 ms for the tables on the slowest device");
  document.cost.per_device[0].dense_ms = 5;
  BOOST_TEST(headline() == "<h1>Sharding plan: 7.25 ms for the whole step on the slowest device");
}

BOOST_AUTO_TEST_CASE(baselines_that_time_ended_say_so) {
  PlanExportOptions options;
  options.baselines = {{"random", true, 14.5, true}, {"greedy", false, 0, true}};
  const std::string html = report(three_tables(), options);
  BOOST_TEST(html.find("14.5 ms, this saves 50.0 %, ended by time<") != std::string::npos);
  BOOST_TEST(html.find("no plan in its time") != std::string::npos);
  BOOST_TEST(html.find("finds no plan that fits") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(tables_in_host_memory_are_shown_where_there_are_any) {
  const std::string without = report(three_tables(), {});
  for (const char* word : {"host", "fused", "kernel", "cache"}) {
    BOOST_TEST(without.find(word) == std::string::npos, word);
  }
  PlanDocument document = costed();
  test::set_offloaded(document.plan, {{0, {ComputeKernel::kFusedUvm, 0}},
                                      {2, {ComputeKernel::kFusedUvmCaching, 0.25}}});
  const std::string html = value_of(export_plan("html", three_tables(), document, {}));
  BOOST_TEST(count(html, "<svg ") == 4U);  // no baselines, but the hosts
  BOOST_TEST(count(html, ">device 1<") == 4U);
  BOOST_TEST(count(html, "class=\"t1\"") == 4U);  // ad, not on a host
  BOOST_TEST(count(html, "class=\"t2\"") == 6U);  // item, there, too
  // Of item, a device has 3 of 12 rows of 8 columns, 16 bytes beside each, and 4 for each of
  // all 12.
  for (const char* expected :
       {"1.16 KiB, batch 1024, on 2 devices, 2 tables in host memory", "<h2>Host memory</h2>",
        "user: columns 0 to 7 of 8, 0 B and 320 B on its host, fused_uvm",
        "item: columns 0 to 7 of 16, 192 B and 384 B on its host, fused_uvm_caching with 25"
        " % of the rows",
        "<th class=\"text\">kernel</th><th>rows in cache</th><th>host memory</th></tr>",
        "<td class=\"text\">fused_uvm</td><td></td><td>320 B</td></tr>",
        "<td class=\"text\">fused_uvm_caching</td><td>25 %</td><td>384 B</td></tr>",
        "<td class=\"text\"></td><td></td><td>0 B</td></tr>", ">704 B<"}) {
    BOOST_TEST(html.find(expected) != std::string::npos, expected);
  }
}

BOOST_AUTO_TEST_CASE(costs_say_where_they_come_from_in_the_headline) {
  const auto headline = [](const PlanExportOptions& options) {
    const std::string html = report(three_tables(), options);
    return html.substr(html.find("<h1>"), html.find("</h1>") - html.find("<h1>"));
  };
  BOOST_TEST(headline({}).find("badge") == std::string::npos);
  BOOST_TEST(headline({.cost_word = "simulated"}).find("unmeasured\">SIMULATED<") !=
             std::string::npos);
  BOOST_TEST(headline({.cost_word = "formula"}).find("unmeasured\">FORMULA<") != std::string::npos);
  BOOST_TEST(headline({.cost_word = "calibrated"}).find("unmeasured\">CALIBRATED<") !=
             std::string::npos);
  BOOST_TEST(headline({.cost_word = "measured"}).find("badge measured\">MEASURED<") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_known_of_the_plan_is_shown) {
  PlanExportOptions options;
  options.lower_bound_ms = 5;
  options.facts = {{2, 4.5, 1.25, "2 column blocks on 0, 1", 7.975}, {0, 1.5, 0.5, "", 0}};
  options.shard_ms = {0.5, 0.25, 3, 1.5};
  options.date = "2026-11-25";
  options.command = "neuroshard plan --tables 'a b.json' --devices 2";
  const std::string html = report(three_tables(), options);
  for (const char* expected :
       {"no plan costs less than 5 ms, halves of rows aside: this one at most 45.0 % more",
        "made on 2026-11-25", "<code>neuroshard plan --tables 'a b.json' --devices 2</code>",
        "<td class=\"text\">item</td><td class=\"text\">column_wise</td><td>4.5 ms</td><td>1.25 "
        "ms</td><td class=\"text\">2 column blocks on 0, 1</td><td>+10.0 %</td>",
        "<td class=\"text\">none has room</td>", "None of these changes makes the plan cheaper",
        "1 column_wise, 1 data_parallel, 1 table_wise", "takes 3 ms alone",
        "<input type=\"radio\" name=\"width\" id=\"by-cost\">", "2 shards, 3.25 ms alone"}) {
    BOOST_TEST(html.find(expected) != std::string::npos, expected);
  }
  BOOST_TEST(count(html, "<svg ") == 4U);  // cost, memory, places by columns and by cost
  options.facts[0].next_cost_ms = 7;
  BOOST_TEST(report(three_tables(), options).find("One of these changes makes the plan cheaper") !=
             std::string::npos);
  const std::string without = report(three_tables(), {});
  for (const char* absent :
       {"lower bound", "no plan costs", "made on", "<code>", "dearest", "radio", "alone"}) {
    BOOST_TEST(without.substr(without.find("<body>")).find(absent) == std::string::npos, absent);
  }
}

BOOST_AUTO_TEST_CASE(a_row_shard_has_its_own_lookups) {
  Workload workload = three_tables();
  workload.tables[2].pooling_factor = 12;
  PlanDocument document = document_of(
      2, {{0, 0, 10, 0, 8, 1}, {1, 0, 6, 0, 4, 0}, {2, 0, 9, 0, 16, 0}, {2, 9, 12, 0, 16, 1}});
  document.cost = costed().cost;
  const std::string html = value_of(export_plan("html", workload, document, {}));
  BOOST_TEST(html.find("<td>0 to 8</td><td>0 to 15</td><td>9</td>") != std::string::npos, html);
  BOOST_TEST(html.find("<td>9 to 11</td><td>0 to 15</td><td>3</td>") != std::string::npos);
  BOOST_TEST(html.find("none of TorchRec&#39;s") == std::string::npos);
  BOOST_TEST(html.find("none of TorchRec's") != std::string::npos);  // 9 rows and 3
}

BOOST_AUTO_TEST_CASE(nothing_is_loaded_and_nothing_runs) {
  PlanExportOptions options;
  options.shard_ms = {1, 1, 1, 1};
  const std::string html = report(three_tables(), options);
  for (const char* forbidden : {"http:", "https:", "<script", "src=", "href=", "@import", "url("}) {
    BOOST_TEST(html.find(forbidden) == std::string::npos, forbidden);
  }
}

BOOST_AUTO_TEST_CASE(names_cannot_break_out_of_their_place) {
  Workload workload = three_tables();
  workload.tables[0].name = "<script>alert(\"1\")</script>&\n\xFF";
  const std::string html = report(workload, {});
  BOOST_TEST(html.find("<script") == std::string::npos);
  BOOST_TEST(html.find("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;") !=
             std::string::npos);
  BOOST_TEST(html_text("a\xFF\x01z") == "a\xEF\xBF\xBD\xEF\xBF\xBDz");
}

BOOST_AUTO_TEST_CASE(bars_are_as_wide_as_their_share) {
  RowChart chart("t", 10);
  chart.row("r");
  chart.bar(5, "c", "half");
  chart.bar(-1, "c", "negative");
  chart.bar(100, "c", "beyond");
  const std::string svg = chart.render();
  BOOST_TEST(svg.find("x=\"150.0\" y=\"18.0\" width=\"310.0\"") != std::string::npos, svg);
  BOOST_TEST(svg.find("x=\"460.0\" y=\"18.0\" width=\"0.0\"") != std::string::npos);
  BOOST_TEST(svg.find("x=\"460.0\" y=\"18.0\" width=\"310.0\"") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
