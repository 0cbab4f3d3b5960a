// What the simulator says of measurements that others have published, under profiles that may still
// be sought: scripts/calibrate_profiles.py fits them with it, scripts/validation.py reports with
// it.
//
//   published_bench --cases FILE [--threads N] < FOLDERS
//
// For every line of standard input, a folder with NAME.json of each profile that the cases name (""
// for the built-in ones), one line of JSON: the simulated figures of all cases, in order.
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "bench/published/cases.h"
#include "bench/support/flags.h"
#include "io/text.h"

namespace neuroshard::bench {
namespace {

struct Flags {
  std::string cases;
  std::int32_t threads = 1;
};

Result<std::map<std::string, ChosenProfile>> load_profiles(const std::vector<Case>& cases,
                                                           const std::string& folder) {
  std::map<std::string, ChosenProfile> profiles;
  for (const Case& one : cases) {
    if (profiles.contains(one.profile)) continue;
    std::string name = one.profile;
    if (!folder.empty()) {
      const std::size_t plus = name.find('+');
      const std::string links = plus == std::string::npos ? "" : name.substr(plus);
      name = folder + "/" + name.substr(0, plus) + ".json" + links;
    }
    NEUROSHARD_ASSIGN_OR_RETURN(ChosenProfile chosen, choose_profile(name));
    profiles.emplace(one.profile, std::move(chosen));
  }
  return profiles;
}

void print_line(const std::vector<double>& figures) {
  std::string line = "[";
  for (const double figure : figures) {
    line += (line.size() > 1 ? ", " : "") + io::format_number(figure);
  }
  std::printf("%s]\n", line.c_str());
  std::fflush(stdout);
}

Status run(const Flags& flags) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Case> cases, read_cases(flags.cases));
  ThreadPool pool(flags.threads);
  for (std::string folder; std::getline(std::cin, folder);) {
    NEUROSHARD_ASSIGN_OR_RETURN(const auto profiles, load_profiles(cases, folder));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> figures,
                                simulate_cases(cases, profiles, pool));
    print_line(figures);
  }
  return {};
}

int main_of(const std::vector<std::string>& words) {
  Flags own;
  apps::FlagSet flags;
  flags.text("cases", "FILE", "the measurements to simulate", &own.cases).required();
  flags.integer("threads", "that simulate", &own.threads, 1, 1024);
  if (const auto code = read_flags(flags, "Published measurements, simulated.", words))
    return *code;
  return exit_code_of(run(own));
}

}  // namespace
}  // namespace neuroshard::bench

int main(int argc, char** argv) { return neuroshard::bench::main_of({argv, argv + argc}); }
