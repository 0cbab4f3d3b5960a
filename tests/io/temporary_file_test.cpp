// Temporary files with and without names: who may read them, when they go, and whose stay.
#include "io/temporary_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <optional>

#include "io/file.h"
#include "support.h"

namespace neuroshard::io {
namespace {

using test::TemporaryFolder;
using test::value_of;
using Kind = TemporaryFile::Kind;

mode_t mode_of(const std::filesystem::path& path) {
  struct stat info {};
  BOOST_REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

BOOST_AUTO_TEST_SUITE(temporary_file)

BOOST_AUTO_TEST_CASE(both_kinds_take_the_place_of_a_file) {
  for (const Kind kind : {Kind::kUnnamed, Kind::kNamed}) {
    const TemporaryFolder folder;
    std::ofstream(folder.file("target")) << "old";
    {
      TemporaryFile file(folder.path(), kind, 0640);
      if (kind == Kind::kUnnamed && !file.fill("")) {
        BOOST_TEST_MESSAGE("skipped: this file system has no files without names");
        continue;
      }
      BOOST_TEST(file.fill("new"));
      BOOST_TEST(folder.entries() == (kind == Kind::kNamed ? 2 : 1));
      BOOST_TEST(file.move_to(folder.file("target")));
    }
    BOOST_TEST(value_of(read_file(folder.file("target"))) == "new");
    BOOST_TEST(mode_of(folder.file("target")) == 0640U);
    BOOST_TEST(folder.entries() == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_named_one_is_private_until_it_is_complete) {
  const TemporaryFolder folder;
  TemporaryFile file(folder.path(), Kind::kNamed, 0644);
  const auto entry = std::filesystem::directory_iterator(folder.path());
  BOOST_TEST(mode_of(entry->path()) == 0600U);
  BOOST_TEST(file.fill("bytes"));
  BOOST_TEST(mode_of(entry->path()) == 0644U);
}

BOOST_AUTO_TEST_CASE(one_that_moves_nowhere_is_gone) {
  const TemporaryFolder folder;
  for (const Kind kind : {Kind::kUnnamed, Kind::kNamed}) {
    TemporaryFile file(folder.path(), kind, std::nullopt);
    file.fill("bytes");
    BOOST_TEST(!file.move_to(folder.file("no/such/target")));
  }
  BOOST_TEST(folder.entries() == 0);
}

BOOST_AUTO_TEST_CASE(what_no_process_holds_any_more_is_removed) {
  const TemporaryFolder folder;
  std::ofstream(folder.file(".neuroshard-1-0.tmp")) << "left";
  std::ofstream(folder.file("neuroshard-1-0.tmp")) << "of somebody else";
  std::ofstream(folder.file(".neuroshard-notes")) << "of somebody else";
  BOOST_REQUIRE(::mkfifo(folder.file(".neuroshard-pipe.tmp").c_str(), 0600) == 0);
  TemporaryFile living(folder.path(), Kind::kNamed, std::nullopt);
  BOOST_TEST(living.fill("not done"));
  BOOST_TEST(folder.entries() == 5);
  remove_stale_files(folder.path());
  BOOST_TEST(folder.entries() == 4);
  BOOST_TEST(!std::filesystem::exists(folder.file(".neuroshard-1-0.tmp")));
  BOOST_TEST(living.move_to(folder.file("done")));
  remove_stale_files(folder.file("no such folder"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
