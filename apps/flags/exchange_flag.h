#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/flags/flags.h"
#include "engine/core/exchange_format.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/formats/plan_export.h"

namespace neuroshard::apps {

/// What --exchange says.
struct ExchangeAsked {
  ExchangeFormat format{};
  bool any = false;  ///< auto: whichever costs least
};

/// --exchange FORMAT[,BACKWARD]|auto; nothing stays nothing when it is not given. `more`: what else
/// there is to say of it.
FlagSet::Flag& declare_exchange(FlagSet& flags, std::optional<std::string>* out,
                                const std::string& more = "");
/// What the flag says or, without it, `otherwise`. Errors: kInvalidInput naming the flag.
Result<ExchangeAsked> exchange_of(const std::optional<std::string>& word,
                                  const ExchangeFormat& otherwise = {});

/// Keeps to what plans for `target` have a place for: fp32 alone, or all. Other formats are refused
/// there, and `auto` becomes fp32, with a note.
Status keep_to_target(const std::string& target, const Workload& workload, std::int32_t devices,
                      const io::PlanExportOptions& options, ExchangeAsked* asked);

/// A line for people on what a format means for who trains; "" of fp32 both ways.
std::string exchange_text(const ExchangeFormat& format);

}  // namespace neuroshard::apps
