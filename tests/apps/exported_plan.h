#pragma once

// A plan of the example's tables through the real command, and what becomes of it.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/process.h"

namespace neuroshard::test {

inline std::string example_tables() { return source_file("examples/dlrm_dcnv2.json"); }

/// The example's plan on 8 devices, in `folder`.
inline std::string plan_in(const TemporaryFolder& folder) {
  const std::string plan = folder.file("plan.json");
  const Outcome made =
      run_command({"plan", "--tables", example_tables(), "--devices", "8", "--device-memory",
                   "80GB", "--algorithm", "size-lookup-greedy", "--output", plan});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  return plan;
}

inline Outcome export_as(const std::string& plan, const std::vector<std::string>& flags) {
  std::vector<std::string> arguments{"export", "--tables", example_tables(), "--plan", plan};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return run_command(arguments);
}

inline Outcome simulated(const std::string& plan) {
  return run_command(
      {"simulate", "--tables", example_tables(), "--plan", plan, "--device-memory", "80GB"});
}

}  // namespace neuroshard::test
