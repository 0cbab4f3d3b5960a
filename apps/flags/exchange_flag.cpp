#include "apps/flags/exchange_flag.h"

#include <vector>

#include "apps/console/output.h"
#include "apps/console/words.h"
#include "engine/core/quoted_choices.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

constexpr const char* kAuto = "auto";

}  // namespace

FlagSet::Flag& declare_exchange(FlagSet& flags, std::optional<std::string>* out,
                                const std::string& more) {
  std::vector<std::string> words;
  for (const Precision precision : all_precisions()) words.emplace_back(to_string(precision));
  return flags
      .text("exchange", "FORMAT[,BACKWARD]",
            "in which numbers pooled embeddings, and BACKWARD their gradients, travel between the "
            "devices: " +
                join(words, ", ") + "; or auto: those that cost least" + more,
            out)
      .default_text("fp32");
}

Result<ExchangeAsked> exchange_of(const std::optional<std::string>& word,
                                  const ExchangeFormat& otherwise) {
  if (!word) return ExchangeAsked{otherwise, false};
  if (*word == kAuto) return ExchangeAsked{{}, true};
  const Result<ExchangeFormat> format = parse_exchange_format(*word);
  if (format.ok()) return ExchangeAsked{*format, false};
  return invalid_input("--exchange: found '" + io::printable(*word) +
                       "', expected FORMAT or FORMAT,BACKWARD of " +
                       quoted_choices(all_precisions()) + ", or 'auto'");
}

Status keep_to_target(const std::string& target, const Workload& workload, std::int32_t devices,
                      const io::PlanExportOptions& options, ExchangeAsked* asked) {
  constexpr ExchangeFormat kOther{Precision::kFp16, Precision::kFp16};
  const auto has_place_for = [&](const ExchangeFormat& format) {
    return io::check_exportable(target, workload, devices, options, format);
  };
  if (!has_place_for({}).ok() || has_place_for(kOther).ok()) return {};
  if (!asked->any) return has_place_for(asked->format);
  asked->any = false;
  print_note("--exchange: fp32, " + target + " has no place for others");
  return {};
}

std::string exchange_text(const ExchangeFormat& format) {
  if (is_exact(format)) return "";
  return "exchange " + std::string(to_string(format.forward)) + " forward, " +
         std::string(to_string(format.backward)) +
         " backward: lower precision changes what is trained, which no cost says; TorchRec's "
         "sharders need qcomm_registry() of the plan\n";
}

}  // namespace neuroshard::apps
