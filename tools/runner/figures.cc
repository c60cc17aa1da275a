#include "tools/runner/figures.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pet::runner {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double secondsNow(bool processorTime) {
  timespec now{};
  clock_gettime(processorTime ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double maxAbs(const Session& session) {
  double largest = 0;
  for (const Constant& tensor : session.outputs()) {
    for (double x : numbersOf(tensor))
      largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : kInfinite;
  }
  return largest;
}

Expected<double> maxAbsDiff(const Session& first, const Session& session) {
  auto sorted = [](std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    return names;
  };
  if (sorted(first.outputNames()) != sorted(session.outputNames())) {
    return fail(ErrorKind::kModel, fmt::format("{}: its outputs are {}, the first model's {}", session.path(),
                                               fmt::join(sorted(session.outputNames()), ", "),
                                               fmt::join(sorted(first.outputNames()), ", ")));
  }
  double worst = 0;
  const auto wantedNames = first.outputNames(), names = session.outputNames();
  for (size_t i = 0; i < wantedNames.size(); ++i) {
    auto at = std::find(names.begin(), names.end(), wantedNames[i]) - names.begin();
    const Constant &wanted = first.outputs()[i], &found = session.outputs()[static_cast<size_t>(at)];
    if (wanted.extents != found.extents || wanted.element != found.element) {
      return fail(ErrorKind::kModel, fmt::format("{}: output {} is {}{}, the first model's {}{}", session.path(),
                                                 wantedNames[i], session::numpyName(found.element), str(found.extents),
                                                 session::numpyName(wanted.element), str(wanted.extents)));
    }
    const std::vector<double> a = numbersOf(wanted), b = numbersOf(found);
    for (size_t k = 0; k < a.size(); ++k) {
      const double difference = std::abs(b[k] - a[k]);
      worst = std::isfinite(difference) ? std::max(worst, difference) : kInfinite;
    }
  }
  return worst;
}

Expected<std::vector<std::vector<double>>> timeInTurns(std::vector<Session>& sessions, const TimingOptions& options) {
  std::vector<std::vector<double>> samples(sessions.size());
  auto start = std::chrono::steady_clock::now();
  for (int64_t k = 0; k < options.warmup + options.runs; ++k) {
    bool warming = k < options.warmup;
    bool least = warming ? k == 0 : k - options.warmup < 3;
    if (!least && secondsSince(start) > options.budgetSeconds) continue;
    for (size_t turn = 0; turn < sessions.size(); ++turn) {
      size_t index = (static_cast<size_t>(k) + turn) % sessions.size();
      if (options.flush) options.flush();
      const double begin = secondsNow(options.processorTime);
      auto ran = sessions[index].again();
      double seconds = secondsNow(options.processorTime) - begin;
      if (!ran) return tl::unexpected(ran.error());
      if (*ran && !options.processorTime) seconds = **ran;
      if (!warming) samples[index].push_back(seconds);
    }
  }
  return samples;
}

uint32_t crc32(const void* bytes, size_t count) {
  const auto* data = static_cast<const unsigned char*>(bytes);
  uint32_t crc = ~uint32_t{0};
  for (size_t i = 0; i < count; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320U : 0);
  }
  return ~crc;
}

}  // namespace pet::runner
