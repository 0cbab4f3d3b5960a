#include "io/cost_data/append_log.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "io/file.h"
#include "support.h"

namespace neuroshard::io {
namespace {

using test::check_error;
using test::TemporaryFolder;
using test::value_of;

std::string line_number(std::int64_t number) {
  return "line " + std::to_string(number) + " " + std::string(20, 'x');
}

/// Keeps appending numbered lines until it is killed.
[[noreturn]] void append_forever(const std::string& path) {
  Result<AppendLog> log = AppendLog::open(path);
  if (!log.ok()) ::_exit(1);
  while (log->append(line_number(log->lines())).ok()) {
  }
  ::_exit(2);
}

BOOST_AUTO_TEST_SUITE(append_log)

BOOST_AUTO_TEST_CASE(lines_are_appended_and_counted) {
  const TemporaryFolder folder;
  const std::string path = folder.file("data.txt");
  {
    Result<AppendLog> log = AppendLog::open(path);
    BOOST_REQUIRE_MESSAGE(log.ok(), log.status().message());
    BOOST_TEST(log->lines() == 0);
    BOOST_TEST(log->append("one").ok());
    BOOST_TEST(log->append("").ok());
    BOOST_TEST(log->lines() == 2);
  }
  Result<AppendLog> log = AppendLog::open(path);
  BOOST_REQUIRE(log.ok());
  BOOST_TEST(log->lines() == 2);
  BOOST_TEST(log->repaired_bytes() == 0);
  BOOST_TEST(log->append("three").ok());
  BOOST_TEST(value_of(read_file(path)) == "one\n\nthree\n");
}

BOOST_AUTO_TEST_CASE(a_line_torn_at_any_byte_is_cut_off) {
  const TemporaryFolder folder;
  const std::string path = folder.file("data.txt");
  const std::string whole = "1,2 3.5\n4,5,6 7.25\n";
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    Result<AppendLog> log = AppendLog::open(path);
    BOOST_REQUIRE(log.ok());
    const std::int64_t kept = size < 8 ? 0 : size < whole.size() ? 8 : 19;
    BOOST_TEST(log->lines() == (kept == 0 ? 0 : kept == 8 ? 1 : 2));
    BOOST_TEST(log->repaired_bytes() == static_cast<std::int64_t>(size) - kept);
    BOOST_TEST(log->append("next").ok());
    BOOST_TEST(value_of(read_file(path)) ==
               whole.substr(0, static_cast<std::size_t>(kept)) + "next\n");
  }
}

BOOST_AUTO_TEST_CASE(a_long_file_is_scanned_whole) {
  const TemporaryFolder folder;
  const std::string path = folder.file("data.txt");
  std::string text;
  for (int line = 0; line < 30000; ++line) text += line_number(line) + "\n";
  std::ofstream(path, std::ios::binary) << text << "torn" << std::string(200000, 'y');
  Result<AppendLog> log = AppendLog::open(path);
  BOOST_REQUIRE(log.ok());
  BOOST_TEST(log->lines() == 30000);
  BOOST_TEST(log->repaired_bytes() == 200004);
  BOOST_TEST((value_of(read_file(path)) == text));
}

BOOST_AUTO_TEST_CASE(lines_are_in_the_file_before_they_are_synced) {
  const TemporaryFolder folder;
  const std::string path = folder.file("data.txt");
  Result<AppendLog> log = AppendLog::open(path);
  BOOST_REQUIRE(log.ok());
  BOOST_TEST(log->append("one").ok());
  BOOST_TEST(log->append("two").ok());
  BOOST_TEST(log->lines() == 2);
  BOOST_TEST(value_of(read_file(path)) == "one\ntwo\n");
  BOOST_TEST(log->sync().ok());
}

BOOST_AUTO_TEST_CASE(one_writer_at_a_time) {
  const TemporaryFolder folder;
  const std::string path = folder.file("data.txt");
  {
    const Result<AppendLog> first = AppendLog::open(path);
    BOOST_REQUIRE(first.ok());
    check_error(AppendLog::open(path).status(), StatusCode::kIoError, {path, "another process"});
  }
  BOOST_TEST(AppendLog::open(path).ok());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_a_log_is_refused) {
  const TemporaryFolder folder;
  check_error(AppendLog::open("/dev/full").status(), StatusCode::kIoError, {"/dev/full"});
  check_error(AppendLog::open(folder.path()).status(), StatusCode::kIoError, {folder.path()});
  check_error(AppendLog::open(folder.file("no/log")).status(), StatusCode::kIoError, {"no/log"});
  Result<AppendLog> log = AppendLog::open(folder.file("log"));
  BOOST_REQUIRE(log.ok());
  check_error(log->append("two\nlines"), StatusCode::kInternal, {"line break"});
  BOOST_TEST(log->lines() == 0);
}

// A file size limit stops a write in the middle of a line, as a full disk does.
BOOST_AUTO_TEST_CASE(a_write_that_stops_midway_leaves_whole_lines) {
  const TemporaryFolder folder;
  const std::string path = folder.file("data.txt");
  Result<AppendLog> log = AppendLog::open(path);
  BOOST_REQUIRE(log.ok());
  BOOST_REQUIRE(log->append("whole").ok());
  rlimit before{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit limit{10, before.rlim_max};
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const Status status = log->append("much too long");
  BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  ::signal(SIGXFSZ, old_handler);
  check_error(status, StatusCode::kIoError, {path, "cannot append"});
  BOOST_TEST(value_of(read_file(path)) == "whole\n");
  BOOST_TEST(log->append("again").ok());
  BOOST_TEST(value_of(read_file(path)) == "whole\nagain\n");
}

BOOST_AUTO_TEST_CASE(killed_writers_leave_no_torn_and_no_double_line) {
  const TemporaryFolder folder;
  const std::string path = folder.file("data.txt");
  std::uintmax_t size = 0;
  for (int round = 0; round < 5; ++round) {
    const pid_t writer = ::fork();
    BOOST_REQUIRE(writer >= 0);
    if (writer == 0) append_forever(path);
    const std::uintmax_t goal = size + 600;  // at least 20 lines a round
    for (int wait = 0; wait < 20000 && size < goal; ++wait) {
      ::usleep(1000);
      std::error_code missing;
      size = std::filesystem::file_size(path, missing);
      if (missing) size = 0;
    }
    ::kill(writer, SIGKILL);
    int status = 0;
    BOOST_REQUIRE(::waitpid(writer, &status, 0) == writer);
    BOOST_TEST(WIFSIGNALED(status));
  }
  Result<AppendLog> log = AppendLog::open(path);
  BOOST_REQUIRE(log.ok());
  std::string expected;
  for (std::int64_t line = 0; line < log->lines(); ++line) expected += line_number(line) + "\n";
  BOOST_TEST((value_of(read_file(path)) == expected));
  BOOST_TEST(log->lines() >= 100);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
