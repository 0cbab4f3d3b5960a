#include "io/json/json.h"

#include <malloc.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "io/text.h"
#include "support.h"

namespace neuroshard::io {
namespace {

using test::check_prefixes_refused;
using test::check_refused;
using test::value_of;

/// The document of a text that outlives it.
JsonDocument parsed(const char* text) {
  Result<JsonDocument> document = JsonDocument::parse(text, "f");
  BOOST_REQUIRE_MESSAGE(document.ok(), document.status().message());
  return std::move(document).value();
}

Status status_of(std::string_view text) { return JsonDocument::parse(text, "f").status(); }

std::string nested(int levels) {
  const auto count = static_cast<std::size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

BOOST_AUTO_TEST_SUITE(json)

BOOST_AUTO_TEST_CASE(every_kind_of_value_is_read) {
  const JsonDocument document = parsed(
      R"( {"i": -42, "x": 2.5e-3, "big": 18446744073709551615, "t": true, "f": false, "n": null,
           "s": "a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00", "a": [1, [], {}], "": {"k": "v"}} )");
  JsonObject root = value_of(document.root().object());
  BOOST_TEST(value_of(root.integer("i")) == -42);
  BOOST_TEST(value_of(root.number("x")) == 2.5e-3);
  BOOST_TEST(value_of(root.number("i")) == -42.0);
  BOOST_TEST(value_of(root.unsigned_integer("big")) == UINT64_MAX);
  BOOST_TEST(value_of(root.boolean("t")));
  BOOST_TEST(!value_of(root.boolean("f")));
  BOOST_TEST((value_of(root.at("n")).kind() == JsonValue::Kind::kNull));
  BOOST_TEST(value_of(root.text("s")) == "a\"\\/\b\f\n\r\t\xC3\xA9\xF0\x9F\x98\x80");
  std::vector<std::string> paths;
  for (const JsonValue element : value_of(root.array("a"))) paths.push_back(element.path());
  BOOST_TEST(paths == (std::vector<std::string>{"$.a[0]", "$.a[1]", "$.a[2]"}),
             boost::test_tools::per_element());
  JsonObject inner = value_of(root.object(""));
  BOOST_TEST(value_of(inner.at("k")).path() == "$[''].k");
  BOOST_TEST(root.finish().ok());
  BOOST_TEST(!root.has("absent"));
}

BOOST_AUTO_TEST_CASE(a_path_of_many_steps_is_told_without_its_middle) {
  std::string key;  // each character of which a message spells out in four
  for (int k = 0; k < 20; ++k) key += "\\u0001";
  std::string text;
  for (int depth = 0; depth < 10; ++depth) text += "{\"deep\": [{\"" + key + "\": ";
  text += R"({"k": 1, "k": 2})";
  for (int depth = 0; depth < 10; ++depth) text += "}]}";
  const std::string message = JsonDocument::parse(text, "f.json").status().message();
  BOOST_TEST(message.starts_with("f.json:1:"), message);
  BOOST_TEST(message.find("found the key 'k' twice in $.deep[0]['\\x01") != std::string::npos,
             message);
  BOOST_TEST(message.find("[...]") != std::string::npos, message);
  BOOST_TEST(message.ends_with("\\x01'], expected it once"), message);
  BOOST_TEST(message.size() < 900u, message);
}

BOOST_AUTO_TEST_CASE(numbers_are_correctly_rounded) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    double value = 0;
    const std::uint64_t bits = random();
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const std::string text = "[" + format_number(value) + "]";
    const Result<JsonDocument> document = JsonDocument::parse(text, "f");
    BOOST_REQUIRE_MESSAGE(document.ok(), document.status().message());
    const JsonArray array = value_of(document->root().array(1));
    BOOST_REQUIRE(value_of((*array.begin()).number()) == value);
  }
  BOOST_TEST(value_of(parsed("0.30000000000000004").root().number()) == 0.1 + 0.2);
  BOOST_TEST(value_of(parsed("9007199254740993.0").root().number()) == 9007199254740992.0);
}

BOOST_AUTO_TEST_CASE(integers_are_written_as_integers) {
  BOOST_TEST(value_of(parsed("9223372036854775807").root().integer()) == INT64_MAX);
  BOOST_TEST(value_of(parsed("-9223372036854775808").root().integer()) == INT64_MIN);
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "1e3", "1.0", "0.5",
                           "\"1\"", "true", "null", "[1]", "{}"}) {
    check_refused(parsed(text).root().integer().status(), {"f: $: found ", "expected an integer"});
  }
  check_refused(parsed("7").root().integer(1, 6).status(),
                {"f: $: found 7, expected an integer from 1 to 6"});
  check_refused(parsed("-1").root().unsigned_integer().status(), {"found -1, expected an integer"});
  check_refused(parsed("18446744073709551616").root().unsigned_integer().status(), {"found 1844"});
  check_refused(parsed("9223372036854775808").root().integer(1).status(),
                {"found 9223372036854775808, expected an integer of at least 1, below 2^63"});
  const std::string digits(41, '7');
  check_refused(parsed(digits.c_str()).root().integer().status(),
                {"77777777..., expected an integer"});
}

BOOST_AUTO_TEST_CASE(a_wrong_type_is_named_with_its_path) {
  const JsonDocument document = parsed(R"({"tables": [{}, {"rows": "many", "pair": [1, 2, 3]}]})");
  JsonObject root = value_of(document.root().object());
  JsonArray::Iterator element = value_of(root.array("tables")).begin();
  JsonObject table = value_of((*++element).object());
  check_refused(table.integer("rows").status(),
                {"f: $.tables[1].rows: found 'many', expected an integer"});
  check_refused(table.number("rows", 0).status(), {"expected a number of at least 0"});
  check_refused(table.boolean("rows").status(), {"expected true or false"});
  check_refused(table.array("rows").status(), {"expected an array"});
  check_refused(table.object("rows").status(), {"expected an object"});
  check_refused(table.text("pair").status(), {"$.tables[1].pair: found an array of 3, expected"});
  check_refused(value_of(table.at("pair")).array(2).status(), {"expected an array of 2"});
  check_refused(root.text("tables").status(), {"f: $.tables: found an array of 2"});
}

BOOST_AUTO_TEST_CASE(missing_and_unknown_keys_are_named) {
  const JsonDocument document = parsed(R"({"tables": [{"rows": 1, "colour": "red", "x y": 1}]})");
  JsonObject root = value_of(document.root().object());
  JsonObject table = value_of((*value_of(root.array("tables")).begin()).object());
  BOOST_TEST(table.integer("rows").ok());
  check_refused(table.integer("dim").status(), {"f: $.tables[0]: found no key 'dim'"});
  check_refused(table.finish(), {"f: $.tables[0].colour: found an unknown key", "dim, rows"});
  BOOST_TEST(table.has("colour"));
  check_refused(table.finish(), {"f: $.tables[0]['x y']: found an unknown key"});
  BOOST_TEST(table.has("x y"));
  BOOST_TEST(table.finish().ok());
}

BOOST_AUTO_TEST_CASE(format_and_version_are_checked) {
  const auto check = [](const char* text) {
    const JsonDocument document = parsed(text);
    return value_of(document.root().object()).format("neuroshard-x", 1);
  };
  BOOST_TEST(check(R"({"format": "neuroshard-x", "version": 1})").ok());
  check_refused(check(R"({"format": "other", "version": 1})"),
                {"f: $.format: found 'other', expected 'neuroshard-x'"});
  check_refused(check(R"({"format": "neuroshard-x", "version": 2})"),
                {"f: $.version: found 2, expected version 1"});
  check_refused(check(R"({"format": "neuroshard-x", "version": "1"})"), {"found '1'"});
  check_refused(check(R"({"format": 3, "version": 1})"), {"$.format: found 3"});
  check_refused(check(R"({"version": 1})"), {"found no key 'format'"});
}

BOOST_AUTO_TEST_CASE(duplicate_keys_are_refused_with_path_and_position) {
  check_refused(status_of("{\"a\": 1,\n  \"b\": 2,\n  \"a\": 3}"),
                {"f:3:3: found the key 'a' twice in $, expected it once"});
  check_refused(status_of(R"({"t": [0, {"a": 1, "\u0061": 2}]})"), {"'a' twice in $.t[1]"});
  check_refused(status_of(R"({"": 1, "": 2})"), {"twice"});
  BOOST_TEST(status_of(R"({"a": {"a": {"a": 1}}, "b": {"a": 1}})").ok());
  std::string many = "{\"k0\": 0";
  for (int key = 1; key < 1000; ++key) many += ", \"k" + std::to_string(key) + "\": 0";
  BOOST_TEST(status_of(many + "}").ok());
  for (const char* again : {"k0", "k31", "k32", "k33", "k999"}) {
    check_refused(status_of(many + ", \"" + again + "\": 0}"), {again, "twice in $"});
  }
}

BOOST_AUTO_TEST_CASE(nesting_has_a_limit) {
  BOOST_TEST(status_of(nested(32)).ok());
  check_refused(status_of(nested(33)), {"f:1:33: ", "more than 32 levels"});
  check_refused(status_of(std::string(5000000, '[')), {"f:1:33: "});
  std::string objects;
  for (int level = 0; level < 100; ++level) objects += "{\"a\":";
  check_refused(status_of(objects), {"more than 32 levels"});
}

BOOST_AUTO_TEST_CASE(what_is_not_json_is_refused_with_its_position) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "f:1:1: found an empty text"},
      {" \n ", "found an empty text"},
      {"{\"a\": 1,}", "f:1:9: found '}'"},
      {"[1,\n2,]", "f:2:3: found ']'"},
      {"[1] [2]", "f:1:5: found '[2' after the JSON value"},
      {"{}}", "f:1:3: found '}' after"},
      {"NaN", "f:1:1: found 'NaN', expected a finite number"},
      {"[-Infinity]", "f:1:3: found 'Infinity', expected a finite number"},
      {"[1e999]", "f:1:2: found '1e999', expected a number a double can hold"},
      {"[-1e309]", "f:1:2: found '-1e309'"},
      {"[1e-400]", "f:1:2: found '1e-400'"},
      {"1e99999999999999", "huge exponent"},
      {"[01]", "f:1:3: "},
      {"[+1]", "f:1:2: found '+1'"},
      {"[.5]", "f:1:2: "},
      {"[1.]", "f:1:4: "},
      {"[0x10]", "f:1:3: "},
      {"// comment\n1", "f:1:1: "},
      {"{a: 1}", "f:1:2: "},
      {"{'a': 1}", "f:1:2: "},
      {"\"a\nb\"", "f:1:3: found '\\x0ab\"'"},
      {"\"\\ud800\"", "f:1:8: "},
      {"\"\\u12g4\"", "not a valid escape"},
      {"\"\\x41\"", "f:1:3: "},
      {"\xEF\xBB\xBF{]", "f:1:2: "},
      {"{\"a\": \"\xFF\"}", "f:1:8: found byte '\\xff', expected UTF-8"},
      {"\"\xED\xA0\x80\"", "expected UTF-8"},
      {std::string_view("[1]\0", 4), "f:1:4: found '\\x00' after"},
  };
  for (const auto& [text, message] : cases) check_refused(status_of(text), {message});
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  check_prefixes_refused(
      R"({"a": [1, -2.5e+10, "\u00e9\ud83d\ude00é"], "b": {"c": null, "d": true, "e": false}})",
      "f:", [](std::string_view bytes) { return JsonDocument::parse(bytes, "f"); });
}

BOOST_AUTO_TEST_CASE(strings_longer_than_any_buffer_survive) {
  const std::string plain(20000, 'p');
  std::string escaped;
  for (int unit = 0; unit < 5000; ++unit) escaped += "ab\\n";
  const std::string text = "{\"" + plain + "\": \"" + escaped + "\"}";
  const Result<JsonDocument> document = JsonDocument::parse(text, "f");
  JsonObject root = value_of(value_of(document).root().object());
  const std::string value = value_of(root.text(plain));
  BOOST_TEST(value.size() == 15000U);
  BOOST_TEST(value.substr(14997) == "ab\n");
}

// A file of millions of values must neither recurse nor slow down with its size.
BOOST_AUTO_TEST_CASE(values_take_little_memory) {
  constexpr std::size_t kValues = 1 << 20;
  std::string text = "[";
  for (std::size_t index = 0; index < kValues; ++index) text += "0,";
  text.back() = ']';
  const std::size_t before = ::mallinfo2().uordblks;
  const Result<JsonDocument> document = JsonDocument::parse(text, "f");
  BOOST_REQUIRE(document.ok());
  const std::size_t taken = ::mallinfo2().uordblks - before;
  BOOST_TEST(value_of(document).root().array()->size() == kValues);
  BOOST_TEST(taken < 5 * text.size(), taken);
}

BOOST_AUTO_TEST_CASE(large_texts_are_read) {
  std::string text = "[0";
  for (int value = 1; value < 1000000; ++value) text += ",0";
  text += "]";
  const Result<JsonDocument> document = JsonDocument::parse(text, "f");
  std::int64_t count = 0;
  for (const JsonValue value : value_of(value_of(document).root().array())) {
    count += value_of(value.integer()) + 1;
  }
  BOOST_TEST(count == 1000000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
