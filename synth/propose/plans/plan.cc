#include "synth/propose/plans/plan.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "synth/propose/plans/axis_parts.h"

namespace pet {
namespace {

using Cut = AxisMove::Cut;
using Place = AxisMove::Place;

constexpr int64_t kFactors[] = {2, 4};     ///< images, phases and tiles
constexpr int64_t kMultiples[] = {4, 16};  ///< channels
constexpr int64_t kSteps[] = {1, 2};       ///< strides and dilations of the target
constexpr int64_t kBlock = 2;              ///< side of a block that becomes channels
constexpr int64_t kOutputBlock = 4;  ///< … of the output alone: a channel becomes the 16 that engines compute at once

/// Where nothing slides, a layout around the operator changes nothing but the layout: only the place of an axis is
/// varied.
std::vector<AxisMove> equalMoves(bool slides) {
  std::vector<AxisMove> moves{{}};
  for (int slot : {0, 1}) {
    moves.push_back({.place = Place::kSlot, .slot = slot});  // a batch axis as a spatial one
    if (!slides) continue;
    for (bool separator : {false, true}) {
      moves.push_back({.cut = Cut::kMerge, .place = Place::kSlot, .slot = slot, .separator = separator});
      for (int64_t k : kFactors) {
        moves.push_back({.cut = Cut::kInner, .factor = k, .place = Place::kSlot, .slot = slot, .separator = separator});
      }
    }
    for (int64_t k : kFactors) {
      moves.push_back({.cut = Cut::kInner, .factor = k, .place = Place::kSlot, .slot = slot, .innermost = true});
    }
  }
  return moves;
}

std::vector<AxisMove> groupMoves() {
  std::vector<AxisMove> moves{{}, {.cut = Cut::kWhole}};
  for (int64_t k : kFactors)
    moves.push_back({.cut = Cut::kInner, .factor = k});
  return moves;
}

std::vector<AxisMove> channelMoves() {
  std::vector<AxisMove> moves{{}};
  for (int64_t k : kMultiples)
    moves.push_back({.cut = Cut::kMultiple, .factor = k});
  return moves;
}

std::vector<AxisMove> windowMoves() {
  std::vector<AxisMove> moves{{.cut = Cut::kWhole}};
  auto withSteps = [&](const AxisMove& m) {
    for (int64_t stride : kSteps) {
      for (int64_t dilation : kSteps) {
        moves.push_back(m);
        moves.back().stride = stride;
        moves.back().dilation = dilation;
      }
    }
  };
  withSteps({});
  for (int64_t k : kFactors) {
    withSteps({.cut = Cut::kTiles, .factor = k});
    for (Cut cut : {Cut::kInner, Cut::kOuter}) {
      withSteps({.cut = cut, .factor = k, .place = Place::kBatch});
      for (int slot : {0, 1}) {
        for (bool separator : {false, true}) {
          withSteps({.cut = cut, .factor = k, .place = Place::kSlot, .slot = slot, .separator = separator});
        }
        withSteps({.cut = cut, .factor = k, .place = Place::kSlot, .slot = slot, .innermost = true});
      }
    }
  }
  for (bool shifted : {false, true}) {
    for (auto [in, out] : {std::pair{true, false}, {false, true}, {true, true}}) {
      withSteps({.cut = Cut::kInner,
                 .factor = kBlock,
                 .place = Place::kChannels,
                 .inChannel = in,
                 .outChannel = out,
                 .shifted = shifted});
    }
  }
  moves.push_back({.cut = Cut::kInner,
                   .factor = kOutputBlock,
                   .place = Place::kChannels,
                   .outChannel = true,
                   .stride = kOutputBlock});
  return moves;
}

std::vector<AxisMove> movesOf(Axis::Kind kind, bool slides) {
  switch (kind) {
    case Axis::Kind::kEqual:
      return equalMoves(slides);
    case Axis::Kind::kGroup:
      return groupMoves();
    case Axis::Kind::kReduce:
    case Axis::Kind::kOut:
      return channelMoves();
    case Axis::Kind::kWindow:
      return windowMoves();
  }
  return {};
}

/// The same move on the other window axis: slots trade places.
AxisMove mirrored(AxisMove m) {
  if (m.place == Place::kSlot) m.slot = 1 - m.slot;
  return m;
}

constexpr Target kTargets[] = {Target::kConv,       Target::kConvTranspose, Target::kMatMulRight,
                               Target::kMatMulLeft, Target::kConvOffset,    Target::kMatMulOffset};
constexpr std::string_view kTargetNames[] = {"conv",        "convtranspose", "matmul",
                                             "matmul-left", "conv+offset",   "matmul+offset"};

std::vector<size_t> windowAxes(const MainOperator& pattern) {
  std::vector<size_t> windows;
  for (size_t i = 0; i < pattern.axes.size(); ++i) {
    if (pattern.axes[i].kind == Axis::Kind::kWindow) windows.push_back(i);
  }
  return windows;
}

/// The moves that leave every axis as the pattern has it.
std::vector<AxisMove> baseMoves(const MainOperator& pattern, const std::vector<size_t>& windows) {
  std::vector<AxisMove> base(pattern.axes.size());
  size_t equals = 0;  // further batch axes stand in the slots that no window axis takes
  for (size_t i = 0; i < pattern.axes.size(); ++i) {
    if (pattern.axes[i].kind != Axis::Kind::kEqual) continue;
    if (equals > 0 && windows.size() + equals - 1 < 2) {
      base[i].place = Place::kSlot;
      base[i].slot = static_cast<int>(windows.size() + equals - 1);
    }
    ++equals;
  }
  // The pattern's own strides and dilations are what a kept window axis needs on a Conv; a ConvTranspose's likewise.
  for (size_t w : windows) {
    int64_t v = pattern.axes[w].relation.coefficient("v"), x = pattern.axes[w].relation.coefficient("x"),
            r = pattern.axes[w].relation.coefficient("r");
    base[w].stride = std::max(std::abs(v), std::abs(x));
    base[w].dilation = std::max<int64_t>(1, std::abs(r));
  }
  return base;
}

std::string moveName(const AxisMove& m) {
  std::string text;
  switch (m.cut) {
    case Cut::kKeep:
      text = m.place == Place::kSlot ? fmt::format("to{}", m.slot) : "keep";
      break;
    case Cut::kInner:
      text = fmt::format("in{}", m.factor);
      break;
    case Cut::kOuter:
      text = fmt::format("out{}", m.factor);
      break;
    case Cut::kTiles:
      text = fmt::format("halo{}", m.factor);
      break;
    case Cut::kWhole:
      return "whole";
    case Cut::kMerge:
      text = "merge";
      break;
    case Cut::kMultiple:
      return fmt::format("pad{}", m.factor);
  }
  if (m.cut != Cut::kKeep && m.cut != Cut::kTiles) {
    if (m.place == Place::kChannels) {
      text += fmt::format("-ch{}{}", m.inChannel ? "i" : "", m.outChannel ? "o" : "");
      if (m.shifted) text += "s";
    } else if (m.place == Place::kSlot) {
      text += fmt::format("-{}{}{}", m.innermost ? "inner" : "outer", m.slot, m.separator ? "-sep" : "");
    } else if (m.cut == Cut::kInner || m.cut == Cut::kOuter) {
      text += "-batch";
    }
  }
  if (m.stride != 1) text += fmt::format("-s{}", m.stride);
  if (m.dilation != 1) text += fmt::format("-d{}", m.dilation);
  return text;
}

}  // namespace

std::optional<std::string> whyNoPlans(const MainOperator& pattern) {
  size_t windows = windowAxes(pattern).size();
  if (windows <= 3) return std::nullopt;
  return fmt::format("it slides along {} dimensions, and the operators that could replace it along three at most",
                     windows);
}

/// Of an operator that slides along three dimensions: all three become blocks of channels alike, on a Conv of as many.
std::vector<Plan> plansOfVolumes(const MainOperator& pattern, const std::vector<size_t>& windows) {
  std::vector<Plan> plans;
  for (const AxisMove& m : windowMoves()) {
    if (m.place != Place::kChannels) continue;
    plans.push_back({Target::kConv, false, baseMoves(pattern, windows)});
    for (size_t i : windows)
      plans.back().moves[i] = m;
  }
  return plans;
}

// The space: one axis moves, or both window axes move alike (products of moves on unrelated axes are compositions of
// two rules); the axes that stay take any stride and dilation of the target; every target; window axes exchanged or
// not.
std::vector<Plan> enumeratePlans(const MainOperator& pattern) {
  if (whyNoPlans(pattern)) return {};
  auto windows = windowAxes(pattern);
  if (windows.size() == 3) return plansOfVolumes(pattern, windows);
  std::vector<std::vector<AxisMove>> combinations;
  auto base = baseMoves(pattern, windows);
  combinations.push_back(base);
  for (size_t i = 0; i < pattern.axes.size(); ++i) {
    for (const AxisMove& m : movesOf(pattern.axes[i].kind, !windows.empty())) {
      bool sharesWindow =
          m.cut == Cut::kKeep && m.place == Place::kSlot && static_cast<size_t>(m.slot) < windows.size();
      if (m == base[i] || sharesWindow) continue;  // the latter is kMerge
      combinations.push_back(base);
      combinations.back()[i] = m;
      if (windows.size() == 2 && i == windows[0]) {
        combinations.push_back(combinations.back());
        combinations.back()[windows[1]] = mirrored(m);
      }
    }
  }
  std::vector<Plan> plans;
  for (const auto& moves : combinations) {
    for (Target target : kTargets) {
      plans.push_back({target, false, moves});
      if (windows.size() == 2 && moves == base) plans.push_back({target, true, moves});
    }
  }
  return plans;
}

std::string planFamily(const MainOperator& pattern, const Plan& plan) {
  std::vector<std::string> words;
  auto add = [&](std::string word) {
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
  };
  for (size_t i = 0; i < plan.moves.size(); ++i) {
    const AxisMove& m = plan.moves[i];
    bool window = pattern.axes[i].kind == Axis::Kind::kWindow;
    if (m.cut == Cut::kTiles) add("tiles-with-halo");
    if (m.cut == Cut::kMultiple) add("padded-channels");
    if (m.cut == Cut::kWhole) add(window ? "toeplitz" : "dense-groups");
    if (m.cut == Cut::kMerge) add("images-side-by-side");
    if (m.cut == Cut::kOuter) add(m.place == Place::kBatch ? "tiles-in-batch" : "tiles-side-by-side");
    if (m.cut != Cut::kInner) continue;
    if (pattern.axes[i].kind == Axis::Kind::kGroup) {
      add("wider-groups");
    } else if (!window) {
      add(m.innermost ? "images-interleaved" : "images-side-by-side");
    } else if (m.place == Place::kChannels) {
      add(m.inChannel && m.outChannel ? "blocks-as-channels" : m.inChannel ? "space-to-depth" : "depth-to-space");
    } else {
      add(m.place == Place::kBatch ? "phases-in-batch" : m.innermost ? "phases-interleaved" : "phases-side-by-side");
    }
  }
  if (plan.exchanged) add("exchange");
  switch (plan.target) {
    case Target::kConv:
      if (words.empty()) add("conv");
      break;
    case Target::kConvTranspose:
      add("convtranspose");
      break;
    case Target::kMatMulRight:
    case Target::kMatMulLeft:
      add("matmul");
      break;
    case Target::kConvOffset:
    case Target::kMatMulOffset:
      add("offset-reduce");
      break;
  }
  return fmt::format("{}", fmt::join(words, "+"));
}

std::string planName(const MainOperator& pattern, const Plan& plan) {
  std::vector<std::string> parts;
  auto base = baseMoves(pattern, windowAxes(pattern));
  for (size_t i = 0; i < plan.moves.size(); ++i) {
    if (plan.moves[i] != base[i]) parts.push_back(pattern.axes[i].name + "." + moveName(plan.moves[i]));
  }
  if (plan.exchanged) parts.push_back("exchange");
  parts.emplace_back(kTargetNames[static_cast<size_t>(plan.target)]);
  return fmt::format("{}", fmt::join(parts, "_"));
}

std::vector<std::optional<size_t>> smallerPlans(const std::vector<Plan>& plans) {
  std::vector<std::optional<size_t>> smaller(plans.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    bool derived = plans[i].target == Target::kConvTranspose || offsets(plans[i].target);
    for (size_t j = 0; derived && j < plans.size(); ++j) {
      bool sameMoves = plans[j].target == Target::kConv && plans[j].exchanged == plans[i].exchanged &&
                       plans[j].moves == plans[i].moves;
      if (sameMoves) smaller[i] = j;
    }
  }
  return smaller;
}

}  // namespace pet
