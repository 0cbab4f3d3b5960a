#include "apps/console/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "apps/console/output.h"
#include "apps/console/words.h"
#include "engine/core/decimal.h"

namespace neuroshard::apps {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr auto kQuietTime = milliseconds(2000);
constexpr auto kRedrawInterval = milliseconds(100);
constexpr auto kLineInterval = milliseconds(5000);  // of lines in a file, at least, ..
constexpr int kLineGrowth = 4;  // .. and such a part of the time that the last one came after
constexpr int kBarColumns = 24;

/// 75 -> "1:15", 4000 -> "1:06:40".
std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, 3.6e8)));
  const auto two_digits = [](std::int64_t value) {
    return (value < 10 ? "0" : "") + std::to_string(value);
  };
  const std::string minutes_seconds = two_digits(whole / 60 % 60) + ":" + two_digits(whole % 60);
  if (whole >= 3600) return std::to_string(whole / 3600) + ":" + minutes_seconds;
  return minutes_seconds.front() == '0' ? minutes_seconds.substr(1) : minutes_seconds;
}

void show(const std::string& text) {
  // A terminal that refuses a progress line is no reason to stop the work.
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

/// "120/500 samples  3.1/s  2:03 left". `rate` in units per second, 0 = not known yet; seconds pass
/// at their own: "2/4 s  0:02 left".
std::string numbers_text(std::int64_t done, std::int64_t total, std::string_view unit,
                         double rate) {
  std::string line = with_commas(done);
  if (total > 0) line += "/" + with_commas(total);
  line += " " + std::string(unit);
  if (unit == "s") {
    if (total > done) line += "  " + clock_text(static_cast<double>(total - done)) + " left";
  } else if (rate > 0) {
    line += "  " + fixed_decimals(rate, rate < 10 ? 1 : 0) + "/s";
    if (total > done) line += "  " + clock_text(static_cast<double>(total - done) / rate) + " left";
  }
  return line;
}

/// "sampling [####    ] 120/500 samples  3.1/s  2:03 left", at most console.width - 1 columns.
std::string bar_line(const Console& console, std::string_view phase, std::int64_t done,
                     std::int64_t total, const std::string& numbers) {
  std::string line(phase);
  if (total > 0) {
    const double share = static_cast<double>(done) / static_cast<double>(total);
    line += " [" + console.bar(share, kBarColumns) + "]";
  }
  line += " " + numbers;
  while (display_width(line) > console.width - 1) line.pop_back();
  return line;
}

}  // namespace

ProgressBar::ProgressBar()
    : console_(Console::of(STDERR_FILENO)), started_(Clock::now()), drawn_(started_) {}

ProgressBar::~ProgressBar() {
  if (visible_) show("\r\x1b[K");
}

bool ProgressBar::is_time(Clock::time_point now) const {
  if (console_.redraws) return now - started_ >= kQuietTime && now - drawn_ >= kRedrawInterval;
  const Clock::duration before = drawn_ - started_;
  return now - drawn_ >= std::max<Clock::duration>(kLineInterval, before / kLineGrowth);
}

void ProgressBar::update(std::string_view phase, std::int64_t done, std::int64_t total,
                         std::string_view unit) {
  const auto now = Clock::now();
  if (phase != phase_) {
    phase_ = phase;
    phase_began_ = now;
    phase_done_ = done;
  }
  if (!is_time(now)) return;
  const double seconds = duration<double>(now - phase_began_).count();
  const double rate = seconds > 0 ? static_cast<double>(done - phase_done_) / seconds : 0;
  const std::string numbers = numbers_text(done, total, unit, rate);
  drawn_ = now;
  if (!console_.redraws) {
    print_note(std::string(phase) + ": " + numbers);
    return;
  }
  show("\r" + bar_line(console_, phase, done, total, numbers) + "\x1b[K");
  visible_ = true;
}

}  // namespace neuroshard::apps
