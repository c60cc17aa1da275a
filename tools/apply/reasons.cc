#include "tools/apply/reasons.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "ir/shell.h"

namespace pet::tool {
namespace {

struct Row {
  ReasonKind kind;
  std::string_view id, sentence;
  std::string_view option = {};  ///< {}: the reason's value
};

constexpr Row kRows[] = {
    {ReasonKind::kUnbounded, "unbounded", "its intermediate values may grow without bound", "--numerics any"},
    {ReasonKind::kRoundsTooMuch, "rounding", "it may round more than is allowed", "--max-rel-error {}"},
    {ReasonKind::kGrowth, "growth", "the weights would grow more than is allowed", "--max-growth {}"},
    {ReasonKind::kOpenSizes, "open-sizes", "it does not hold for every size that the model leaves open", "--assume {}"},
    {ReasonKind::kExpectedSizes, "expected-sizes", "it is faster at some of the expected sizes only", "--expect {}"},
    {ReasonKind::kFloatOnly, "float-only", "its gain is known in float only, not in the model's type", "--measure"},
    {ReasonKind::kOtherCpus, "other-cpus",
     "its gain was timed on other CPUs, and is too small to be sure of on this one", "--measure"},
    {ReasonKind::kUnsure, "unsure", "its gain is not sure at these sizes", "--measure"},
    {ReasonKind::kOtherPreferred, "other-preferred", "another rule was chosen there"},
    {ReasonKind::kNoGain, "no-gain", "it is not expected to be faster at these sizes"},
    {ReasonKind::kTimedHere, "timed-here", "it is not faster on this machine"},
    {ReasonKind::kNotTimed, "not-timed", "it could not be timed on this machine"},
    {ReasonKind::kInexact, "inexact", "the result was less exact than is allowed"},
    {ReasonKind::kOpset, "opset", "it needs operators of a later opset"},
    {ReasonKind::kFarSizes, "far-sizes", "it was not tuned at sizes like these"},
    {ReasonKind::kNotTuned, "not-tuned", "it was not tuned on this device"},
    {ReasonKind::kNoSizes, "no-sizes", "no sizes were found at which the model runs"},
    {ReasonKind::kReplaceable, "replaceable", "it needs weights, and a caller may replace the model's",
     "--freeze-inputs"},
    {ReasonKind::kVariable, "not-weights", "it needs weights, and the model computes them"},
    {ReasonKind::kLiveOut, "live-out", "an intermediate result is used elsewhere, too"},
    {ReasonKind::kOtherSizes, "other-sizes", "it is for other sizes"},
    {ReasonKind::kOtherValues, "other-values", "it is for other values of a constant"},
    {ReasonKind::kQuantized, "quantized", "the model is quantized there"},
    {ReasonKind::kNotWritten, "not-written", "it cannot be written in this model"},
    {ReasonKind::kEntangled, "entangled", "its results need each other"},
    {ReasonKind::kOtherShape, "other-shape", "it is for other ranks or attributes"},
    {ReasonKind::kNothingToDo, "nothing-to-do", "it would change nothing"},
};

const Row& rowOf(ReasonKind kind) {
  return *std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.kind == kind; });
}

/// The smaller, the nearer to firing. Of what an option would make fire, what saves the most seconds.
auto order(const Reason& reason, double minGain) {
  const bool slow = reason.ratio && *reason.ratio < minGain;
  const ReasonKind kind = slow && reason.kind < ReasonKind::kNoGain ? ReasonKind::kNoGain : reason.kind;
  const bool fires = wouldFire(reason, minGain);
  return std::tuple(!fires, fires ? -reason.saves : 0.0, kind, -reason.ratio.value_or(0));
}

/// What an option would save that does away with all of these.
void addSavings(RefusalGroup& group, double minGain) {
  std::map<std::string_view, double> saves;
  for (const Refused* r : group.members) {
    if (wouldFire(r->reason, minGain)) saves[r->site] = std::max(saves[r->site], r->reason.saves);
  }
  group.sites = saves.size();
  for (const auto& [site, seconds] : saves)
    group.saves += seconds;
}

}  // namespace

std::string_view idOf(ReasonKind kind) {
  return rowOf(kind).id;
}

std::string sentenceOf(const Reason& reason) {
  const std::string said(rowOf(reason.kind).sentence);
  switch (reason.kind) {
    case ReasonKind::kOpset:
      return fmt::format("it needs operators of opset {}", reason.value.value_or("later"));
    case ReasonKind::kNoGain:
    case ReasonKind::kTimedHere:
      return reason.ratio ? fmt::format("{} ({:.2f})", said, *reason.ratio) : said;
    default:
      return said;
  }
}

std::string optionOf(const Reason& reason) {
  const std::string_view option = rowOf(reason.kind).option;
  const size_t place = option.find("{}");
  if (place == std::string_view::npos) return std::string(option);
  return reason.value ? std::string(option.substr(0, place)) + shellWord(*reason.value) : "";
}

bool isUntuned(ReasonKind kind) {
  return kind == ReasonKind::kNotTuned || kind == ReasonKind::kFarSizes;
}

bool wouldFire(const Reason& reason, double minGain) {
  return isUnlocked(reason.kind) && reason.ratio.value_or(0) >= minGain;
}

bool isNearer(const Refused& a, const Refused& b, double minGain) {
  return order(a.reason, minGain) < order(b.reason, minGain);
}

std::vector<RefusalGroup> grouped(const std::vector<Refused>& refused, double minGain) {
  std::map<std::tuple<bool, ReasonKind, std::string>, RefusalGroup> byReason;
  for (const Refused& r : refused) {
    const bool fires = wouldFire(r.reason, minGain);
    byReason[{!fires, r.reason.kind, optionOf(r.reason)}].members.push_back(&r);
  }
  std::vector<RefusalGroup> groups;
  for (auto& [key, group] : byReason) {
    std::stable_sort(group.members.begin(), group.members.end(),
                     [&](const Refused* a, const Refused* b) { return isNearer(*a, *b, minGain); });
    group.reason = group.members[0]->reason;
    addSavings(group, minGain);
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(), [&](const RefusalGroup& a, const RefusalGroup& b) {
    return std::tuple(-a.saves, order(a.reason, minGain)) < std::tuple(-b.saves, order(b.reason, minGain));
  });
  return groups;
}

}  // namespace pet::tool
