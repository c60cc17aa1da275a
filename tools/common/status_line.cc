#include "tools/common/status_line.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/common/display.h"
#include "tools/common/tool.h"

namespace pet::tool {
namespace {

std::string duration(double seconds) {
  if (seconds < 99.5) return fmt::format("{:.0f} s", std::max(1.0, std::ceil(seconds)));
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

/// Of the terminal; a longer line would be wrapped, and could not be redrawn.
size_t columnsOfTerminal() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return 79;
  return size.ws_col - 1U;
}

}  // namespace

std::optional<double> secondsLeft(double from, double share, double seconds) {
  constexpr double kFirst = 0.01;
  if (share < from + kFirst || share >= 1 || seconds < 1) return std::nullopt;
  return seconds * (1 - share) / (share - from);
}

std::string statusText(
    std::string_view task, double share, std::optional<double> left, std::string_view detail, size_t columns) {
  std::string text(task);
  if (share >= 0) text += fmt::format(", {:.0f} %", std::floor(100 * std::min(share, 1.0)));
  if (left) text += fmt::format(", {} left", duration(*left));
  if (!detail.empty()) text += fmt::format(": {}", detail);
  text.resize(cutTo(text, columns).size());
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';  // names may hold anything
  }
  return text;
}

StatusLine::StatusLine(bool quiet) : enabled_(!quiet && ::isatty(STDERR_FILENO) == 1) {
  const char* file = std::getenv("PET_LOG");
  if (!file || !*file) return;
  if (file == std::string_view("-")) enabled_ = false;  // one or the other
  log_ = file == std::string_view("-") ? stderr : std::fopen(file, "a");
}

StatusLine::~StatusLine() {
  clear();
  if (!log_) return;
  log("done");
  if (log_ != stderr) std::fclose(log_);
}

void StatusLine::log(std::string_view task) {
  if (!log_ || logged_ == task) return;
  logged_ = task;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  std::fputs(fmt::format("{:8.3f} s  {}\n", seconds, task).c_str(), log_);
  std::fflush(log_);
}

void StatusLine::show(std::string_view task, double share, std::string_view detail) {
  log(task);
  if (!enabled_) return;
  constexpr auto kPause = std::chrono::milliseconds(100);
  const auto now = Clock::now();
  const bool isNew = task != task_;
  if (shown_ && !isNew && now - drawn_ < kPause) return;
  if (isNew) {
    task_ = task;
    from_ = std::max(0.0, share);
    begin_ = now;
  }
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  note("\r\033[K" + statusText(task, share, secondsLeft(from_, share, seconds), detail, columnsOfTerminal()));
  shown_ = true;
  drawn_ = now;
}

void StatusLine::clear() {
  if (shown_) note("\r\033[K");
  shown_ = false;
}

void Progress::reach(size_t done, std::string_view detail) {
  done_ = done;
  const double share = total_ == 0 ? kUnknownShare : static_cast<double>(done) / static_cast<double>(total_);
  line_.show(task_, share, fmt::format("{} of {} {}", done, total_, detail));
}

}  // namespace pet::tool
