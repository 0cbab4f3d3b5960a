#include "io/text.h"

#include <boost/test/unit_test.hpp>

#include "support.h"

namespace neuroshard::io {
namespace {

using test::check_refused;

BOOST_AUTO_TEST_SUITE(text)

BOOST_AUTO_TEST_CASE(quoting_keeps_messages_on_one_printable_line) {
  BOOST_TEST(excerpt("rows") == "'rows'");
  BOOST_TEST(excerpt("a\nb\x1b[31m") == "'a\\x0ab\\x1b[31m'");
  BOOST_TEST(excerpt("\xff") == "'\\xff'");
  BOOST_TEST(excerpt(std::string(1000, 'x')) == "'" + std::string(40, 'x') + "'...");
  // Cut between characters, the second of which would end at byte 41.
  BOOST_TEST(excerpt(std::string(39, 'x') + "\u00E9y") == "'" + std::string(39, 'x') + "'...");
  BOOST_TEST(excerpt(std::string(100, '\x80')).size() < 170U);
}

BOOST_AUTO_TEST_CASE(messages_leave_out_the_middle_of_long_values) {
  BOOST_TEST(message_line("--a: found '\n'") == "--a: found '\\x0a'");
  BOOST_TEST(message_line(std::string(1000, 'x')) == std::string(1000, 'x'));
  const std::string line = message_line("found '" + std::string(100000, 'x') + "', expected more");
  BOOST_TEST(line.size() == 1005U);
  BOOST_TEST(line.starts_with("found 'xxx"));
  BOOST_TEST(line.ends_with("xxx', expected more"));
  // No character is cut in two on either side.
  std::string accents;
  for (int count = 0; count < 1001; ++count) accents += "\u00E9";
  BOOST_TEST(find_invalid_utf8(message_line("x" + accents)) == std::string_view::npos);
  BOOST_TEST(message_line("x" + accents).find("\\x") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(any_language_is_shown_but_nothing_a_terminal_obeys) {
  for (const std::string_view text :
       {"r\u00E9sum\u00E9 \u65E5\u672C\u8A9E", "\u00A0\u2010\u2070\uD7FF", "\U0001F600",
        "\u200D\u2027\u202F\u2065\u206A"}) {
    BOOST_TEST(printable(text) == text);
  }
  BOOST_TEST(printable("\u0080\u009F") == "\\xc2\\x80\\xc2\\x9f");
  BOOST_TEST(printable("\u200E\u200F") == "\\xe2\\x80\\x8e\\xe2\\x80\\x8f");
  BOOST_TEST(printable("\u2028\u202E") == "\\xe2\\x80\\xa8\\xe2\\x80\\xae");
  BOOST_TEST(printable("\u2066\u2069") == "\\xe2\\x81\\xa6\\xe2\\x81\\xa9");
  BOOST_TEST(printable("\u200B\u2060") == "\\xe2\\x80\\x8b\\xe2\\x81\\xa0");
  BOOST_TEST(printable("\uFEFFuser") == "\\xef\\xbb\\xbfuser");
  BOOST_TEST(printable("a\xE6\x97z\x7F") == "a\\xe6\\x97z\\x7f");
}

BOOST_AUTO_TEST_CASE(utf8_is_checked_by_the_letter) {
  BOOST_TEST(find_invalid_utf8("plain") == std::string_view::npos);
  BOOST_TEST(find_invalid_utf8("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF") ==
             std::string_view::npos);
  for (const std::string_view bad :
       {"ab\x80", "ab\xC0\xAF", "ab\xC1\xBF", "ab\xE0\x9F\xBF", "ab\xED\xA0\x80",
        "ab\xF0\x8F\xBF\xBF", "ab\xF4\x90\x80\x80", "ab\xF5\x80\x80\x80", "ab\xFF", "ab\xC3",
        "ab\xE2\x82", "ab\xC3z"}) {
    BOOST_TEST(find_invalid_utf8(bad) == 2U);
  }
}

BOOST_AUTO_TEST_CASE(positions_are_lines_and_columns_from_one) {
  const std::string_view bytes = "one\ntwo\nthree";
  BOOST_TEST(error_at(bytes, 0, "f", "m").message() == "f:1:1: m");
  BOOST_TEST(error_at(bytes, 3, "f", "m").message() == "f:1:4: m");
  BOOST_TEST(error_at(bytes, 4, "f", "m").message() == "f:2:1: m");
  BOOST_TEST(error_at(bytes, 13, "f", "m").message() == "f:3:6: m");
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_is_taken_off_the_front) {
  BOOST_TEST(without_mark("\xEF\xBB\xBF{}") == "{}");
  BOOST_TEST(without_mark("{}\xEF\xBB\xBF") == "{}\xEF\xBB\xBF");
  BOOST_TEST(without_mark("\xEF\xBB").size() == 2U);
}

BOOST_AUTO_TEST_CASE(foreign_bytes_are_refused_with_their_place) {
  BOOST_TEST(check_text("fine\n", "f").ok());
  check_refused(check_text("\x1F\x8B\x08", "f"), {"f:1:1: ", "gzip"});
  check_refused(check_start("\x1F\x8B\x08", "f"), {"f:1:1: ", "gzip"});
  check_refused(check_start("\x0C{}", "f"), {"f:1:1: ", "expected text"});
  BOOST_TEST(check_start("{\"\xC3", "f").ok());  // the character may go on in the next block
  BOOST_TEST(!is_module_name("a\x85.b"));
  check_refused(check_text("a\nbc\xFE", "f"), {"f:2:3: ", "'\\xfe'", "UTF-8"});
}

BOOST_AUTO_TEST_CASE(ranges_read_like_sentences) {
  BOOST_TEST(integer_range(1, 9) == "an integer from 1 to 9");
  BOOST_TEST(integer_range(1, INT64_MAX) == "an integer of at least 1, below 2^63");
  BOOST_TEST(integer_range(INT64_MIN, INT64_MAX) == "an integer");
  BOOST_TEST(number_range(0, 1) == "a number from 0 to 1");
  BOOST_TEST(number_range(0.5, 1.7976931348623157e308) == "a number of at least 0.5");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
