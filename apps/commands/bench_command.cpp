#include <string>

#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/console/words.h"
#include "apps/make_commands.h"
#include "engine/core/decimal.h"
#include "engine/planner/bench_signature.h"

namespace neuroshard::apps {
namespace {

Result<BenchSignature> signature_with_progress() {
  ProgressBar progress;
  return bench_signature(&progress);
}

class BenchCommand final : public Command {
 public:
  void declare(FlagSet&) override {}

  Status run(const FlagSet&) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const BenchSignature signature, signature_with_progress());
    const double per_second = static_cast<double>(signature.evaluations) / signature.seconds;
    print_note(with_commas(signature.evaluations) + " plans evaluated in " +
               fixed_decimals(signature.seconds, 2) + " s, " +
               with_commas(static_cast<std::int64_t>(per_second)) +
               " a second (scalar kernels, one thread)");
    return print("Bench: " + signature.text() + "\n");
  }
};

}  // namespace

std::unique_ptr<Command> make_bench_command() { return std::make_unique<BenchCommand>(); }

}  // namespace neuroshard::apps
