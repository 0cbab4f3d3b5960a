// The command needs nothing beside it: no file of the source tree, no environment.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include "tests/apps/process.h"

namespace {

using neuroshard::test::Outcome;
using neuroshard::test::Process;
using neuroshard::test::shell;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

}  // namespace

BOOST_AUTO_TEST_SUITE(deployment)

BOOST_AUTO_TEST_CASE(it_plans_in_an_empty_folder_without_an_environment) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(source_file("examples/dlrm_dcnv2.json"), folder.file("tables.json"));
  const Outcome outcome = Process({"/usr/bin/env", "-i", NEUROSHARD_COMMAND, "plan", "--tables",
                                   "tables.json", "--devices", "8", "--device-memory", "80GB"},
                                  {.directory = folder.path()})
                              .wait();
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
}

BOOST_AUTO_TEST_CASE(the_static_binary_plans_in_a_root_that_holds_it_and_the_tables_alone) {
  const std::string binary = source_file("build/static/neuroshard");
  if (geteuid() != 0 || !std::filesystem::exists(binary)) {
    BOOST_TEST_MESSAGE("skipped: needs root and build/static/neuroshard (cmake --preset static)");
    return;
  }
  const TemporaryFolder folder;
  std::filesystem::copy_file(source_file("examples/dlrm_dcnv2.json"), folder.file("tables.json"));
  std::filesystem::copy_file(binary, folder.file("neuroshard"));
  const Outcome outcome =
      Process({"/usr/sbin/chroot", folder.path(), "/neuroshard", "plan", "--tables", "/tables.json",
               "--devices", "8", "--device-memory", "80GB"},
              {})
          .wait();
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.out.find("plan cost") != std::string::npos);
}

#ifndef NEUROSHARD_SANITIZED  // sanitizers need memory of their own
BOOST_AUTO_TEST_CASE(memory_that_runs_out_is_told_in_words) {
  const Outcome outcome =
      shell("ulimit -v 200000; neuroshard tables generate --count 1000000 --output /dev/null");
  BOOST_TEST(outcome.exit_code == 1);
  BOOST_TEST(outcome.err == "neuroshard: out of memory\n");
}
#endif

BOOST_AUTO_TEST_SUITE_END()
