#include "io/json/json_writer.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "io/json/json.h"
#include "io/text.h"
#include "support.h"

namespace neuroshard::io {
namespace {

using test::value_of;
using Layout = JsonWriter::Layout;

BOOST_AUTO_TEST_SUITE(json_writer)

BOOST_AUTO_TEST_CASE(the_layout_is_stable) {
  JsonWriter writer;
  writer.begin_object();
  writer.key("name").text("x");
  writer.key("empty").begin_array().end_array();
  writer.key("none").begin_object().end_object();
  writer.key("pairs").begin_array();
  for (int pair = 0; pair < 2; ++pair) {
    writer.begin_object(Layout::kLine);
    writer.key("rows").begin_array().integer(0).integer(pair).end_array();
    writer.key("on").boolean(pair == 0).end_object();
  }
  writer.end_array();
  writer.key("nothing").null().end_object();
  BOOST_TEST(writer.take() ==
             "{\n"
             "  \"name\": \"x\",\n"
             "  \"empty\": [],\n"
             "  \"none\": {},\n"
             "  \"pairs\": [\n"
             "    {\"rows\": [0, 0], \"on\": true},\n"
             "    {\"rows\": [0, 1], \"on\": false}\n"
             "  ],\n"
             "  \"nothing\": null\n"
             "}\n");
  BOOST_TEST(writer.integer(1).take() == "1\n");
}

BOOST_AUTO_TEST_CASE(numbers_are_shortest_and_finite) {
  BOOST_TEST(format_number(0.1) == "0.1");
  BOOST_TEST(format_number(1) == "1");
  BOOST_TEST(format_number(1e30) == "1e+30");
  BOOST_TEST(format_number(5.130956470966339) == "5.130956470966339");
  JsonWriter writer;
  writer.begin_array(Layout::kLine);
  writer.number(std::numeric_limits<double>::infinity()).number(std::nan("")).number(-0.5);
  writer.integer(std::numeric_limits<std::int64_t>::min());
  writer.unsigned_integer(std::numeric_limits<std::uint64_t>::max()).end_array();
  BOOST_TEST(writer.take() == "[null, null, -0.5, -9223372036854775808, 18446744073709551615]\n");
}

BOOST_AUTO_TEST_CASE(any_bytes_become_valid_json_that_reads_back) {
  std::string all;
  for (int byte = 0; byte < 128; ++byte) all += static_cast<char>(byte);
  all += "\xC3\xA9\xF0\x9F\x98\x80";
  const std::string text = JsonWriter().text(all).take();
  const Result<JsonDocument> document = JsonDocument::parse(text, "f");
  BOOST_TEST((value_of(value_of(document).root().text()) == all));
  BOOST_TEST(JsonWriter().text("a\xFF\xC3z").take() == "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\"\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
