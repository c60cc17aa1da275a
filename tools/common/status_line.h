#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "ir/progress.h"

namespace pet::tool {

/// How long a task takes that went from one share to another in so many seconds; nullopt before a second and a
/// hundredth of it.
std::optional<double> secondsLeft(double from, double share, double seconds);

/// "checking the sites, 37 %, 12 s left: conv3": one line of at most `columns` characters, whatever the names hold.
std::string statusText(
    std::string_view task, double share, std::optional<double> left, std::string_view detail, size_t columns);

/// What is being done, on the last line of a terminal (and each task that begins, with the seconds since the start, in
/// the file that $PET_LOG names; "-": on standard error): redrawn in place, some times a second, and removed before
/// anything else is said. Nothing where standard error is no terminal, or `quiet`. Not for several threads.
class StatusLine {
 public:
  explicit StatusLine(bool quiet = false);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// `task`: one that is not the last begins now. `share` of it that is done, from 0 to 1, or kUnknownShare.
  void show(std::string_view task, double share = kUnknownShare, std::string_view detail = "");
  void clear();

 private:
  void log(std::string_view task);

  using Clock = std::chrono::steady_clock;
  bool enabled_, shown_ = false;
  std::FILE* log_ = nullptr;
  std::string logged_;
  const Clock::time_point start_ = Clock::now();
  std::string task_;
  double from_ = 0;  ///< the share with which it began
  Clock::time_point begin_, drawn_;
};

/// The same for a task of so many steps.
class Progress {
 public:
  Progress(std::string task, size_t total, bool quiet = false) : line_(quiet), task_(std::move(task)), total_(total) {}
  /// One more is done, or about to be; `detail` says which.
  void step(std::string_view detail = "") { reach(done_ + 1, detail); }
  void reach(size_t done, std::string_view detail = "");
  /// Removes the line, before something else is printed.
  void clear() { line_.clear(); }

 private:
  StatusLine line_;
  std::string task_;
  size_t total_, done_ = 0;
};

}  // namespace pet::tool
