#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "ir/denote.h"
#include "synth/enumerate/plan.h"
#include "synth/enumerate/vote.h"

namespace pet {
namespace {

using Cut = AxisMove::Cut;
using PlaceOf = AxisMove::Place;

/// A named digit of an axis and the extent it has in the target's input or output.
struct Digit {
  std::string name;
  Dim extent = 1;
};

/// Everything that one axis contributes to the mutant.
struct AxisParts {
  Expr padBegin = 0, padEnd = 0;                      ///< explicit padding of x before the layout; negative crops
  std::optional<std::pair<int64_t, int64_t>> select;  ///< (start, step): a strided slice of x instead of a layout
  int64_t tiles = 0;                                  ///< overlapping windows along the axis, joined in the batch
  Expr tileStep, tileLength;
  std::vector<Digit> in, out;  ///< digits of x's and y's atom, outermost first
  std::vector<Digit> batch, batchOut;
  std::optional<Digit> group;
  std::vector<Digit> inChannels, outChannels;
  std::vector<LayoutAxis> weightIn, weightOut;
  Expr source = 0;  ///< the weight's digit
  std::vector<Constraint> guards;
  std::optional<Expr> crop;  ///< y's extent, where `out` gives more
};

/// One spatial dimension of the target.
struct Slot {
  std::vector<Digit> outer;
  std::optional<Digit> window, windowOut;  ///< the digit that the kernel slides over
  std::vector<Digit> inner;
  Expr taps = 1, padBegin = 0, padEnd = 0, needed = 1;
  int64_t stride = 1, dilation = 1;
  std::string tapName;

  std::vector<Digit> digits(bool output) const {
    std::vector<Digit> all = outer;
    if (window) all.push_back(output ? *windowOut : *window);
    all.insert(all.end(), inner.begin(), inner.end());
    if (all.empty()) all.push_back({"", 1});
    return all;
  }
};

LayoutAxis slotAxis(const Digit& d) {
  return {d.name, d.extent};
}

struct Failed {
  PlanFailure failure;
};

[[noreturn]] void stop(PlanFailure::Why why, std::string detail = "") {
  throw Failed{{why, std::move(detail)}};
}

class Builder {
 public:
  Builder(const Pattern& pattern, const MainOperator& analysed, const Plan& plan)
      : pattern_(pattern), original_(analysed), plan_(plan) {}

  Mutant build() {
    deriveWhere();
    for (size_t i = 0; i < op_.axes.size(); ++i)
      parts_.push_back(partsOf(i));
    finishSlots();
    Program program = assemble();
    Mutant m{plan_, where_, shapes_, op_.program, program.withoutDeadNodes(), main_, 0};
    for (const Constraint& c : obligations(m.program)) {
      if (c.decided() == false) stop(PlanFailure::Why::kEmptyClass);
      m.shapes.require(c);
    }
    m.depth = depthOf(m.program);
    return m;
  }

 private:
  const AxisMove& move(size_t i) const { return plan_.moves[i]; }
  const std::string& name(size_t i) const { return original_.axes[i].name; }

  // --- The specialisation: "N = 2 N2" where a cut needs a divisible extent, "R = 2P + 1" where tiles must keep their
  // size ---

  void substitute(const std::string& symbol, const Expr& value) {
    for (auto& [s, e] : where_)
      e = e.substitute({{symbol, value}});
    where_.emplace_back(symbol, value);
  }

  Expr current(const Expr& e) const { return e.substitute({where_.begin(), where_.end()}); }

  void divisible(const Expr& extent, int64_t factor) {
    Expr now = current(extent);
    if (now.dividedBy(factor)) return;
    auto symbol = now.asVariable();
    if (!symbol) stop(PlanFailure::Why::kNotApplicable);
    substitute(*symbol, Expr::variable(*symbol + std::to_string(factor)) * factor);
  }

  /// Makes two extents equal by solving for a symbol with coefficient ±1, the kernel's first.
  void equalise(const Expr& a, const Expr& b, const Expr& taps) {
    Expr difference = current(a - b);
    if (difference == Expr(0)) return;
    auto solve = [&](const std::string& symbol) {
      int64_t c = difference.coefficient(symbol);
      if (c != 1 && c != -1) return false;
      Expr rest = difference - Expr::variable(symbol) * c;
      if (rest.mentions(symbol)) return false;
      substitute(symbol, rest * -c);
      return true;
    };
    for (const std::string& s : current(taps).variables()) {
      if (solve(s)) return;
    }
    stop(PlanFailure::Why::kNotApplicable);
  }

  void deriveWhere() {
    for (size_t i = 0; i < original_.axes.size(); ++i) {
      const Axis& axis = original_.axes[i];
      const AxisMove& m = move(i);
      bool window = axis.kind == Axis::Kind::kWindow;
      if (axis.kind == Axis::Kind::kEqual && m.cut == Cut::kInner) divisible(axis.inExtent, m.factor);
      if (axis.kind == Axis::Kind::kGroup && m.cut == Cut::kInner) divisible(axis.inExtent, m.factor);
      if (window && m.cut == Cut::kOuter) {
        equalise(axis.outExtent, axis.inExtent, axis.taps);
        divisible(axis.inExtent, m.factor);
      }
      if (window && m.cut == Cut::kInner && !m.inChannel && !m.outChannel) {
        for (const auto& [term, c] : axis.relation.terms()) {  // a phase stays a phase only if the shift is a multiple
          if (term.division || term.name == "v" || term.name == "x" || term.name == "r") continue;
          if (c % m.factor != 0) divisible(Expr::variable(term.name), m.factor);
        }
      }
    }
    std::map<std::string, Expr> by(where_.begin(), where_.end());
    auto source = pattern_.program.substitute(by);
    if (!source) stop(PlanFailure::Why::kShape, source.error().what);
    auto analysed = analyse(*source);
    if (!analysed || analysed->axes.size() != original_.axes.size()) stop(PlanFailure::Why::kNotApplicable);
    op_ = std::move(*analysed);
    std::set<std::string> symbols;
    for (const std::string& s : pattern_.shapes.symbols) {
      if (!by.contains(s)) symbols.insert(s);
    }
    for (const auto& [s, e] : where_)
      e.collectVariables(symbols);
    for (const auto& [s, e] : where_)
      symbols.erase(s);
    shapes_.symbols.assign(symbols.begin(), symbols.end());
    for (const Constraint& c : pattern_.shapes.constraints) {
      Constraint now = c.substitute(by);
      if (now.decided() == false) stop(PlanFailure::Why::kEmptyClass);
      shapes_.require(now);
    }
    context_.emplace(shapes_);
  }

  // --- What each axis contributes ---

  bool slides() const { return plan_.target == Target::kConv || plan_.target == Target::kConvTranspose; }
  bool offsets() const { return plan_.target == Target::kConvOffset || plan_.target == Target::kMatMulOffset; }
  bool matmul() const {
    return plan_.target == Target::kMatMulLeft || plan_.target == Target::kMatMulRight ||
           plan_.target == Target::kMatMulOffset;
  }

  AxisParts partsOf(size_t i) {
    switch (op_.axes[i].kind) {
      case Axis::Kind::kEqual:
        return equalParts(i);
      case Axis::Kind::kGroup:
        return groupParts(i);
      case Axis::Kind::kReduce:
      case Axis::Kind::kOut:
        return channelParts(i);
      case Axis::Kind::kWindow:
        return windowParts(i);
    }
    stop(PlanFailure::Why::kNotApplicable);
  }

  Slot& slot(int s) { return slots_[static_cast<size_t>(s)]; }

  void placeInSlot(const AxisMove& m, const Digit& d) {
    if (m.innermost && !d.extent.asConstant()) stop(PlanFailure::Why::kNotApplicable);
    (m.innermost ? slot(m.slot).inner : slot(m.slot).outer).push_back(d);
    separated_[static_cast<size_t>(m.slot)] = separated_[static_cast<size_t>(m.slot)] || m.separator;
  }

  AxisParts equalParts(size_t i) {
    const Axis& axis = op_.axes[i];
    const AxisMove& m = move(i);
    AxisParts p;
    Digit whole{name(i), Dim(axis.inExtent)};
    if (m.cut == Cut::kKeep) {
      p.in = p.out = {whole};
      if (m.place == PlaceOf::kBatch) {
        p.batch = {whole};
      } else {
        placeInSlot(m, whole);
      }
    } else if (m.cut == Cut::kMerge) {
      p.in = p.out = {whole};
      placeInSlot(m, whole);
    } else if (m.cut == Cut::kInner) {
      Digit rest{name(i), Dim(*axis.inExtent.dividedBy(m.factor))}, part{"p" + name(i), Dim(m.factor)};
      p.in = p.out = {rest, part};
      p.batch = {rest};
      placeInSlot(m, part);
    } else {
      stop(PlanFailure::Why::kNotApplicable);
    }
    p.batchOut = p.batch;
    return p;
  }

  AxisParts groupParts(size_t i) {
    const Axis& axis = op_.axes[i];
    const AxisMove& m = move(i);
    AxisParts p;
    Digit group{name(i), Dim(axis.inExtent)};
    p.source = Expr::variable(name(i));
    if (m.cut == Cut::kKeep) {
      p.in = p.out = {group};
      p.group = group;
      return p;
    }
    // The part pg that leaves the group axis is a channel on both sides; blocks off the diagonal are zero.
    std::string inName = "p" + name(i), outName = "o" + name(i);
    Expr partExtent = axis.inExtent;
    if (m.cut == Cut::kInner) {
      partExtent = m.factor;
      group.extent = Dim(*axis.inExtent.dividedBy(m.factor));
      p.group = group;
      p.in = p.out = {group};
    }
    p.in.push_back({inName, Dim(partExtent)});
    p.out.push_back({outName, Dim(partExtent)});
    p.inChannels = {p.in.back()};
    p.outChannels = {p.out.back()};
    p.weightIn.push_back(slotAxis(p.in.back()));
    p.weightOut.push_back(slotAxis(p.out.back()));
    Expr out = Expr::variable(outName);
    p.source = m.cut == Cut::kInner ? Expr::variable(name(i)) * m.factor + out : out;
    p.guards = {Constraint::eq(Expr::variable(inName), out)};
    return p;
  }

  AxisParts channelParts(size_t i) {
    const Axis& axis = op_.axes[i];
    const AxisMove& m = move(i);
    bool out = axis.kind == Axis::Kind::kOut;
    Expr have = out ? axis.outExtent : axis.inExtent, extent = have;
    AxisParts p;
    if (m.cut == Cut::kMultiple) {
      extent = ceilDiv(have, m.factor) * m.factor;
      if (out) {
        p.crop = have;
      } else {
        p.padEnd = extent - have;
      }
    } else if (m.cut != Cut::kKeep) {
      stop(PlanFailure::Why::kNotApplicable);
    }
    Digit d{name(i), Dim(extent)};
    (out ? p.out : p.in) = {d};
    (out ? p.outChannels : p.inChannels) = {d};
    (out ? p.weightOut : p.weightIn).push_back(slotAxis(d));
    p.source = Expr::variable(name(i));
    return p;
  }

  int slotOf(size_t i) const {  // window axes stand in their slots in order, or exchanged
    int n = 0;
    for (size_t k = 0; k < i; ++k)
      n += op_.axes[k].kind == Axis::Kind::kWindow;
    return plan_.exchanged ? 1 - n : n;
  }

  AxisParts windowParts(size_t i) {
    const Axis& axis = op_.axes[i];
    const AxisMove& m = move(i);
    if (m.cut == Cut::kWhole) return wholeParts(i);
    if (m.cut == Cut::kTiles) return tileParts(i);
    WindowCut cut;
    cut.transposed = plan_.target == Target::kConvTranspose;
    cut.stride = m.stride;
    cut.dilation = m.dilation;
    if (m.cut == Cut::kInner) {
      bool channels = m.place == PlaceOf::kChannels;
      cut.equal = !channels;
      cut.inFactor = !channels || m.inChannel ? m.factor : 1;
      cut.outFactor = !channels || m.outChannel ? m.factor : 1;
    }
    if (m.shifted) cut.shift = shiftOf(axis);
    Axis tile = axis;  // an outer cut leaves the window's relation as it is, on smaller extents
    if (m.cut == Cut::kOuter) {
      tile.inExtent = *axis.inExtent.dividedBy(m.factor);
      tile.outExtent = *axis.outExtent.dividedBy(m.factor);
    }
    auto vote = voteWindow(*context_, tile, cut);
    if (!vote) stop(PlanFailure::Why::kNoVote);
    return cutParts(i, tile, cut, *vote);
  }

  /// -(x - v·stride) at the first tap: how far the window starts before its output.
  Expr shiftOf(const Axis& axis) const {
    WindowCut same;
    same.stride = -axis.relation.coefficient("v");
    same.dilation = std::max<int64_t>(1, -axis.relation.coefficient("r"));
    if (same.stride < 1) stop(PlanFailure::Why::kNotApplicable);
    auto vote = voteWindow(*context_, axis, same);
    if (!vote) stop(PlanFailure::Why::kNoVote);
    if (vote->padBegin == Expr(0)) stop(PlanFailure::Why::kNotApplicable);
    return vote->padBegin * same.dilation;
  }

  AxisParts cutParts(size_t i, const Axis& axis, const WindowCut& cut, const Vote& vote) {
    const AxisMove& m = move(i);
    AxisParts p;
    int s = slotOf(i);
    Slot& own = slot(s);
    Expr rest = ceilDiv(axis.inExtent + cut.shift, cut.inFactor);  // a's extent
    Expr restOut = ceilDiv(axis.outExtent, cut.outFactor);         // a' positions that are needed
    own.taps = vote.taps;
    own.stride = m.stride;
    own.dilation = m.dilation;
    own.padBegin = vote.padBegin * m.dilation;
    own.tapName = axis.name.empty() ? "" : "q" + name(i);
    if (m.shifted) {  // the input is padded or cropped to exactly what the target reads
      rest = (restOut - 1) * m.stride + (vote.taps - 1) * m.dilation + 1 - own.padBegin;
      own.padEnd = 0;
    }
    own.needed = restOut;
    own.window = Digit{name(i), Dim(rest)};
    own.windowOut = Digit{name(i), Dim(restOut)};
    if (m.cut == Cut::kKeep) keepsOwnPads_[static_cast<size_t>(s)] = i;
    exactInput_[static_cast<size_t>(s)] = m.shifted;
    p.padBegin = cut.shift;
    p.padEnd = rest * cut.inFactor - axis.inExtent - cut.shift;
    p.in = {*own.window};
    p.out = {*own.windowOut};
    Expr fi = 0, fo = 0;
    if (m.cut == Cut::kOuter) {
      Digit part{"p" + name(i), Dim(m.factor)};
      p.in.insert(p.in.begin(), part);
      p.out.insert(p.out.begin(), part);
      placePart(i, p, part);
    } else if (cut.equal) {
      Digit part{"p" + name(i), Dim(m.factor)};
      p.in.push_back(part);
      p.out.push_back(part);
      placePart(i, p, part);
      if (vote.source.mentions("fi") || vote.source.mentions("fo")) stop(PlanFailure::Why::kNoVote);
    } else {
      if (cut.inFactor > 1 && vote.selected) {
        p.select = {{*vote.selected, cut.inFactor}};
        fi = *vote.selected;
      } else if (cut.inFactor > 1) {
        Digit part{"p" + name(i), Dim(cut.inFactor)};
        p.in.push_back(part);
        p.inChannels = {part};
        p.weightIn.push_back(slotAxis(part));
        fi = Expr::variable(part.name);
      }
      if (cut.outFactor > 1) {
        Digit part{"o" + name(i), Dim(cut.outFactor)};
        p.out.push_back(part);
        p.outChannels = {part};
        p.weightOut.push_back(slotAxis(part));
        fo = Expr::variable(part.name);
      }
    }
    std::map<std::string, Expr> names{
        {"q", own.taps == Expr(1) ? Expr(0) : Expr::variable(own.tapName)}, {"fi", fi}, {"fo", fo}};
    p.source = vote.source.substitute(names);
    for (const Constraint& g : vote.guards) {
      Constraint now = g.substitute(names);
      if (now.decided() != true) p.guards.push_back(now);
    }
    p.crop = op_.axes[i].outExtent;
    if (!slides()) pointwise(p, own);
    return p;
  }

  /// The target does not slide: without taps the axis passes as it is; in the offset forms the taps become output
  /// channels.
  void pointwise(AxisParts& p, const Slot& own) {
    bool trivial = own.taps == Expr(1) && own.padBegin == Expr(0) && own.stride == 1;
    if (trivial) return;
    if (!offsets() || !own.outer.empty()) stop(PlanFailure::Why::kNotApplicable);
    tapsOut_.push_back({own.tapName, Dim(own.taps)});
    p.weightOut.push_back(slotAxis(tapsOut_.back()));
  }

  void placePart(size_t i, AxisParts& p, const Digit& part) {
    const AxisMove& m = move(i);
    if (m.place == PlaceOf::kBatch) {
      p.batch = p.batchOut = {part};
    } else {
      placeInSlot(m, part);
    }
  }

  AxisParts wholeParts(size_t i) {
    const Axis& axis = op_.axes[i];
    auto vote = voteWhole(*context_, axis);
    if (!vote) stop(PlanFailure::Why::kNoVote);
    AxisParts p;
    Digit in{name(i), Dim(axis.inExtent)}, out{"o" + name(i), Dim(axis.outExtent)};
    p.in = p.inChannels = {in};
    p.out = p.outChannels = {out};
    p.weightIn.push_back(slotAxis(in));
    p.weightOut.push_back(slotAxis(out));
    std::map<std::string, Expr> names{{"fi", Expr::variable(in.name)}, {"fo", Expr::variable(out.name)}};
    p.source = vote->source.substitute(names);
    for (const Constraint& g : vote->guards)
      p.guards.push_back(g.substitute(names));
    return p;
  }

  /// Tiles of T = ceil(out / k) outputs, each with the inputs it reads: x padded to what all tiles together read.
  AxisParts tileParts(size_t i) {
    const Axis& axis = op_.axes[i];
    const AxisMove& m = move(i);
    WindowCut same;
    same.stride = m.stride;
    same.dilation = m.dilation;
    auto vote = voteWindow(*context_, axis, same);
    if (!vote || plan_.target != Target::kConv) stop(PlanFailure::Why::kNoVote);
    AxisParts p;
    Slot& own = slot(slotOf(i));
    Expr tile = ceilDiv(axis.outExtent, m.factor), reach = (vote->taps - 1) * m.dilation;
    own.taps = vote->taps;
    own.stride = m.stride;
    own.dilation = m.dilation;
    own.needed = tile;
    own.tapName = "q" + name(i);
    exactInput_[static_cast<size_t>(slotOf(i))] = true;
    p.tiles = m.factor;
    p.tileStep = tile * m.stride;
    p.tileLength = (tile - 1) * m.stride + reach + 1;
    p.padBegin = vote->padBegin * m.dilation;
    p.padEnd = (tile * m.factor - 1) * m.stride + reach + 1 - p.padBegin - axis.inExtent;
    own.window = Digit{name(i), Dim(p.tileLength)};
    own.windowOut = Digit{name(i), Dim(tile)};
    Digit part{"p" + name(i), Dim(m.factor)};
    p.in = {*own.window};
    p.out = {part, *own.windowOut};
    p.batch = {};
    p.batchOut = {part};
    p.source = vote->source.substitute({{"q", own.taps == Expr(1) ? Expr(0) : Expr::variable(own.tapName)}});
    p.guards = vote->guards;
    p.crop = axis.outExtent;
    return p;
  }

  // --- Pads at the end of each slot, separators ---

  Expr outputOf(const Slot& s, const Expr& padEnd) const {
    Expr reach = (s.taps - 1) * s.dilation, in = s.window->extent.affine();
    if (plan_.target == Target::kConvTranspose) return (in - 1) * s.stride + reach + 1 - s.padBegin - padEnd;
    return floorDiv(in + s.padBegin + padEnd - reach - 1, s.stride) + 1;
  }

  void finishSlots() {
    for (size_t s = 0; s < 2; ++s) {
      Slot& slot = slots_[s];
      int64_t innerCount = 1;
      for (const Digit& d : slot.inner)
        innerCount *= d.extent.asConstant().value_or(1);
      if (!slot.window) continue;
      if (!slot.inner.empty() || !slot.outer.empty()) {
        if (!slides()) stop(PlanFailure::Why::kNotApplicable);
      }
      Expr reach = (slot.taps - 1) * slot.dilation;
      if (!slot.outer.empty()) {
        shareSlot(s, reach);
      } else if (!exactInput_[s]) {
        slot.padEnd = endPad(s, reach);
      }
      slot.padBegin = slot.padBegin * innerCount;
      slot.padEnd = slot.padEnd * innerCount;
      slot.dilation *= innerCount;
      if (innerCount > 1 && slot.stride != 1) stop(PlanFailure::Why::kNotApplicable);
    }
  }

  /// The pad that gives exactly the needed outputs: the pattern's own where that does it, so that attributes stay
  /// simple.
  Expr endPad(size_t s, const Expr& reach) const {
    const Slot& slot = slots_[s];
    Expr fit = plan_.target == Target::kConvTranspose
                 ? (slot.window->extent.affine() - 1) * slot.stride + reach + 1 - slot.padBegin - slot.needed
                 : (slot.needed - 1) * slot.stride + reach + 1 - slot.window->extent.affine() - slot.padBegin;
    if (!fit.hasDivision()) return fit;
    const Node& node = op_.program.node(op_.y);
    std::vector<Expr> choices{slot.padBegin};
    if (auto it = node.attributes.find("pads"); it != node.attributes.end() && keepsOwnPads_[s]) {
      const auto& pads = std::get<std::vector<Expr>>(it->second);
      choices.push_back(pads[pads.size() / 2 + static_cast<size_t>(op_.axes[*keepsOwnPads_[s]].in.dim) - 2]);
    }
    for (const Expr& choice : choices) {
      if (outputOf(slot, choice) == slot.needed) return choice;
    }
    return fit;
  }

  /// Several pictures in one slot: the operator keeps the extent, so that their digits stay apart; a separator holds as
  /// many zeros as a window reaches over its picture's border.
  void shareSlot(size_t s, const Expr& reach) {
    Slot& slot = slots_[s];
    if (slot.stride != 1 || plan_.target != Target::kConv || exactInput_[s]) stop(PlanFailure::Why::kNotApplicable);
    if (separated_[s]) {
      AxisParts& p = parts_[*windowAxisOf(s)];
      if (!p.select && p.in.size() != 1) stop(PlanFailure::Why::kNotApplicable);
      if (slot.padBegin == Expr(0)) stop(PlanFailure::Why::kNotApplicable);
      Expr extent = slot.window->extent.affine() + slot.padBegin;
      p.padEnd += slot.padBegin;
      slot.window->extent = extent;
      p.in[0].extent = extent;
    }
    slot.padEnd = reach - slot.padBegin;
    slot.windowOut->extent = slot.window->extent;
    AxisParts& p = parts_[*windowAxisOf(s)];
    for (Digit& d : p.out) {
      if (d.name == slot.windowOut->name) d.extent = slot.windowOut->extent;
    }
  }

  std::optional<size_t> windowAxisOf(size_t s) const {
    for (size_t i = 0; i < op_.axes.size(); ++i) {
      if (op_.axes[i].kind == Axis::Kind::kWindow && static_cast<size_t>(slotOf(i)) == s && slots_[s].window &&
          slots_[s].window->name == name(i)) {
        return i;
      }
    }
    return std::nullopt;
  }

  // --- The program ---

  Value add(std::string_view op, std::vector<Value> operands, Attributes attributes, std::string valueName) {
    auto v = builder_.add(op, std::move(operands), std::move(attributes), std::move(valueName));
    if (!v) stop(PlanFailure::Why::kShape, v.error().what);
    return *v;
  }

  std::vector<Digit> collect(std::vector<Digit> AxisParts::*member) const {
    std::vector<Digit> all;
    for (const AxisParts& p : parts_)
      all.insert(all.end(), (p.*member).begin(), (p.*member).end());
    return all;
  }

  static std::vector<Digit> joined(std::vector<Digit> a, const std::vector<Digit>& b) {
    a.insert(a.end(), b.begin(), b.end());
    if (a.empty()) a.push_back({"", 1});
    return a;
  }

  /// A Layout from groups to groups of digits, or nothing when they are the same.
  Value layout(Value v,
               const std::vector<std::vector<Digit>>& from,
               const std::vector<std::vector<Digit>>& to,
               std::string valueName) {
    LayoutSpec spec;
    bool same = from.size() == to.size();
    auto axisOf = [&](const Digit& d) {
      for (size_t a = 0; a < spec.axes.size(); ++a) {
        if (!d.name.empty() && spec.axes[a].name == d.name) return static_cast<int>(a);
      }
      spec.axes.push_back({d.name.empty() ? fmt::format("_{}", spec.axes.size()) : d.name, d.extent});
      return static_cast<int>(spec.axes.size()) - 1;
    };
    auto groups = [&](const std::vector<std::vector<Digit>>& side) {
      std::vector<std::vector<int>> result;
      for (const auto& group : side) {
        result.emplace_back();
        for (const Digit& d : group)
          result.back().push_back(axisOf(d));
      }
      return result;
    };
    for (size_t g = 0; same && g < from.size(); ++g) {
      same = from[g].size() == to[g].size();
      for (size_t i = 0; same && i < from[g].size(); ++i)
        same = from[g][i].name == to[g][i].name;
    }
    if (same) return v;
    spec.left = groups(from);
    spec.right = groups(to);
    return add("Layout", {v}, {{"layout", spec}}, std::move(valueName));
  }

  /// Digits of a tensor's dimensions, from those of its axes.
  std::vector<std::vector<Digit>> dimensions(const Shape& shape,
                                             DigitPlace Axis::*place,
                                             std::vector<Digit> AxisParts::*digits) const {
    std::vector<std::vector<Digit>> dims(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      for (size_t a = 0; a < shape[d].atoms().size(); ++a) {
        for (size_t i = 0; i < op_.axes.size(); ++i) {
          const DigitPlace& at = op_.axes[i].*place;
          if (at.dim != static_cast<int>(d) || at.atom != static_cast<int>(a)) continue;
          dims[d].insert(dims[d].end(), (parts_[i].*digits).begin(), (parts_[i].*digits).end());
        }
      }
      if (dims[d].empty()) dims[d].push_back({"", 1});
    }
    return dims;
  }

  Program assemble() {
    for (Value v : op_.program.inputs()) {
      builder_.input(op_.program.name(v), op_.program.shape(v), v == op_.w);
    }
    Value x = *builder_.peek().find(op_.program.name(op_.x)), w = *builder_.peek().find(op_.program.name(op_.w));
    Value t = tile(slice(pad(x)));
    Value u = weights(w);
    Value out = matmul() ? assembleMatMul(t, u) : assembleConv(t, u);
    return std::move(builder_).finish({crop(out)});
  }

  Value pad(Value x) {
    const Shape& shape = builder_.shape(x);
    std::vector<Expr> pads(2 * shape.size(), Expr(0));
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (op_.axes[i].in.dim < 0) continue;
      auto d = static_cast<size_t>(op_.axes[i].in.dim);
      pads[d] += parts_[i].padBegin;
      pads[shape.size() + d] += parts_[i].padEnd;
    }
    if (std::all_of(pads.begin(), pads.end(), [](const Expr& e) { return e == Expr(0); })) return x;
    return add("Pad", {x}, {{"pads", pads}}, "xp");
  }

  Value slice(Value x) {
    std::vector<Expr> axes, starts, ends, steps;
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i].select) continue;
      axes.emplace_back(op_.axes[i].in.dim);
      starts.emplace_back(parts_[i].select->first);
      ends.push_back(builder_.shape(x)[static_cast<size_t>(op_.axes[i].in.dim)].affine());
      steps.emplace_back(parts_[i].select->second);
    }
    if (axes.empty()) return x;
    return add("Slice", {x}, {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"steps", steps}}, "xs");
  }

  Value tile(Value x) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      const AxisParts& p = parts_[i];
      if (p.tiles == 0) continue;
      std::vector<Value> tiles;
      for (int64_t k = 0; k < p.tiles; ++k) {
        Attributes a{{"axes", std::vector<Expr>{op_.axes[i].in.dim}},
                     {"starts", std::vector<Expr>{p.tileStep * k}},
                     {"ends", std::vector<Expr>{p.tileStep * k + p.tileLength}}};
        tiles.push_back(add("Slice", {x}, a, fmt::format("{}{}", "x" + name(i), k)));
      }
      x = add("Concat", tiles, {{"axis", Expr(0)}}, "x" + name(i));
      tiled_.insert(tiled_.begin(), Digit{"p" + name(i), Dim(p.tiles)});
    }
    return x;
  }

  /// The derived weight program: an IndexMap from the target's weight slots, or w itself.
  Value weights(Value w) {
    IndexMapSpec map;
    std::vector<LayoutAxis> group, out, in;
    const Shape& shape = builder_.shape(w);
    for (const Dim& d : shape)
      map.source.emplace_back(d.atoms().size(), Expr(0));
    for (size_t i = 0; i < parts_.size(); ++i) {
      const AxisParts& p = parts_[i];
      if (p.group) group.push_back({p.group->name, p.group->extent});
      out.insert(out.end(), p.weightOut.begin(), p.weightOut.end());
      in.insert(in.end(), p.weightIn.begin(), p.weightIn.end());
      const DigitPlace& at = op_.axes[i].weight;
      if (at.dim >= 0) map.source[static_cast<size_t>(at.dim)][static_cast<size_t>(at.atom)] = p.source;
      map.guards.insert(map.guards.end(), p.guards.begin(), p.guards.end());
    }
    // Output channels: digits of cut axes outside, the pattern's own channels inside, taps of an offset form innermost.
    orderChannels(out);
    orderChannels(in);
    if (out.empty()) out.push_back({"_o", Dim(1)});
    if (in.empty()) in.push_back({"_i", Dim(1)});
    auto withGroup = [&](std::vector<LayoutAxis> axes) {
      axes.insert(axes.begin(), group.begin(), group.end());
      return axes;
    };
    switch (plan_.target) {
      case Target::kConvTranspose:
        map.dims = {withGroup(in), out};
        break;
      case Target::kMatMulRight:
        map.dims = {in, out};
        break;
      default:
        map.dims = {withGroup(out), in};
    }
    if (!matmul()) {
      for (size_t s = 0; s < 2; ++s) {
        bool taps = slides() && slots_[s].taps != Expr(1);
        map.dims.push_back({{taps ? slots_[s].tapName : fmt::format("_{}", s), taps ? Dim(slots_[s].taps) : Dim(1)}});
      }
    }
    return isIdentity(map, shape) ? w : add("IndexMap", {w}, {{"map", map}}, "u");
  }

  void orderChannels(std::vector<LayoutAxis>& axes) const {
    auto rank = [&](const LayoutAxis& a) {
      if (std::any_of(tapsOut_.begin(), tapsOut_.end(), [&](const Digit& d) { return d.name == a.name; })) return 2;
      return a.name.size() > 1 && (a.name[0] == 'p' || a.name[0] == 'o') ? 0 : wholeAxis(a.name) ? 0 : 1;
    };
    std::stable_sort(axes.begin(), axes.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  }

  bool wholeAxis(const std::string& axisName) const {
    for (size_t i = 0; i < op_.axes.size(); ++i) {
      if (name(i) == axisName && op_.axes[i].kind == Axis::Kind::kWindow) return true;
    }
    return false;
  }

  static bool isIdentity(const IndexMapSpec& map, const Shape& shape) {
    if (!map.guards.empty() || map.dims.size() != shape.size()) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      std::vector<Dim> extents;
      std::vector<Expr> names;
      for (const LayoutAxis& a : map.dims[d]) {
        if (a.extent == Dim(1)) continue;
        extents.push_back(a.extent);
        names.push_back(Expr::variable(a.name));
      }
      Dim have = extents.empty() ? Dim(1) : Dim::product(extents);
      if (have != shape[d]) return false;
      if (names.empty() ? map.source[d] != std::vector<Expr>{0} : map.source[d] != names) return false;
    }
    return true;
  }

  std::vector<Digit> channels(bool output) const {
    std::vector<LayoutAxis> axes;
    for (const AxisParts& p : parts_) {
      for (const Digit& d : output ? p.outChannels : p.inChannels)
        axes.push_back({d.name, d.extent});
    }
    if (output && offsets()) {
      for (const Digit& d : tapsOut_)
        axes.push_back({d.name, d.extent});
    }
    orderChannels(axes);
    std::vector<Digit> result;
    for (const AxisParts& p : parts_) {
      if (p.group) result.push_back(*p.group);
    }
    for (const LayoutAxis& a : axes)
      result.push_back({a.name, a.extent});
    if (result.empty()) result.push_back({"", 1});
    return result;
  }

  Value assembleConv(Value t, Value u) {
    auto from = dimensions(builder_.shape(t), &Axis::in, &AxisParts::in);
    from[0].insert(from[0].begin(), tiled_.begin(), tiled_.end());
    auto batch = joined(tiled_, collect(&AxisParts::batch));
    t = layout(t, from, {batch, channels(false), slots_[0].digits(false), slots_[1].digits(false)}, "t");
    Expr group = 1;
    for (const AxisParts& p : parts_) {
      if (p.group) group = p.group->extent.affine();
    }
    std::vector<Expr> strides, dilations, pads;
    for (const Slot& s : slots_) {
      strides.emplace_back(slides() ? s.stride : 1);
      dilations.emplace_back(slides() ? s.dilation : 1);
    }
    for (bool end : {false, true}) {
      for (const Slot& s : slots_)
        pads.push_back(!slides() ? Expr(0) : end ? s.padEnd : s.padBegin);
    }
    Attributes a{{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", group}};
    main_ = add(plan_.target == Target::kConvTranspose ? "ConvTranspose" : "Conv", {t, u}, a, "y1");
    if (offsets()) main_ = offsetReduce(main_);
    // The target may give more positions than a lone window needs (a natural pad); the layout reads what is there.
    for (size_t s = 0; s < 2; ++s) {
      Slot& sl = slots_[s];
      if (sl.window && sl.outer.empty() && sl.inner.empty()) {
        Dim have = builder_.shape(main_)[2 + s];
        if (have != sl.windowOut->extent) resizeOut(s, have);
      }
    }
    auto outputs = dimensions(op_.program.shape(op_.y), &Axis::out, &AxisParts::out);
    return layout(main_, {batch, closingChannels(), slots_[0].digits(true), slots_[1].digits(true)}, outputs, "z");
  }

  /// After OffsetReduce the taps are gone.
  std::vector<Digit> closingChannels() const {
    auto all = channels(true);
    std::erase_if(all, [&](const Digit& d) {
      return std::any_of(tapsOut_.begin(), tapsOut_.end(), [&](const Digit& t) { return t.name == d.name; });
    });
    if (all.empty()) all.push_back({"", 1});
    return all;
  }

  void resizeOut(size_t s, const Dim& extent) {
    Slot& sl = slots_[s];
    sl.windowOut->extent = extent;
    for (AxisParts& p : parts_) {
      for (Digit& d : p.out) {
        if (d.name == sl.windowOut->name) d.extent = extent;
      }
    }
  }

  Value offsetReduce(Value v) {
    std::vector<Expr> kernel, strides, dilations, pads;
    for (const Slot& s : slots_) {
      kernel.push_back(s.taps);
      strides.emplace_back(s.stride);
      dilations.emplace_back(s.dilation);
    }
    for (bool end : {false, true}) {
      for (const Slot& s : slots_)
        pads.push_back(end ? s.padEnd : s.padBegin);
    }
    if (tapsOut_.empty()) stop(PlanFailure::Why::kNotApplicable);
    return add("OffsetReduce", {v},
               {{"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}}, "y2");
  }

  Value assembleMatMul(Value t, Value u) {
    auto from = dimensions(builder_.shape(t), &Axis::in, &AxisParts::in);
    auto batch = collect(&AxisParts::batch);
    std::vector<Digit> positions, positionsOut;
    for (const Slot& s : slots_) {
      for (const Digit& d : s.digits(false)) {
        if (!d.name.empty()) positions.push_back(d);
      }
      for (const Digit& d : s.digits(true)) {
        if (!d.name.empty()) positionsOut.push_back(d);
      }
    }
    auto outputs = dimensions(op_.program.shape(op_.y), &Axis::out, &AxisParts::out);
    std::vector<std::vector<Digit>> in, out;
    if (plan_.target == Target::kMatMulRight) {
      in = {joined(batch, positions), channels(false)};
      out = {joined(batch, positionsOut), channels(true)};
      main_ = add("MatMul", {layout(t, from, in, "t"), u}, {}, "y1");
    } else {
      if (positions.empty()) stop(PlanFailure::Why::kNotApplicable);
      in = {joined(batch, {}), channels(false), positions};
      out = {joined(batch, {}), channels(true), positionsOut};
      main_ = add("MatMul", {u, layout(t, from, in, "t")}, {}, "y1");
    }
    if (!offsets()) return layout(main_, out, outputs, "z");
    // The taps' product is one channel dimension; positions must be apart again before the sum over offsets.
    std::vector<std::vector<Digit>> apart{joined(batch, {}), channels(true), slots_[0].digits(false),
                                          slots_[1].digits(false)};
    Value separate = layout(main_, {joined(batch, {}), channels(true), positions}, apart, "ys");
    main_ = offsetReduce(separate);
    return layout(main_, {joined(batch, {}), closingChannels(), slots_[0].digits(true), slots_[1].digits(true)},
                  outputs, "z");
  }

  Value crop(Value v) {
    const Shape &have = builder_.shape(v), &want = op_.program.shape(op_.y);
    if (have.size() != want.size()) stop(PlanFailure::Why::kShape);
    std::vector<Expr> axes, starts, ends;
    for (size_t d = 0; d < want.size(); ++d) {
      if (have[d] == want[d]) continue;
      if (!have[d].isAffine() || !want[d].isAffine()) stop(PlanFailure::Why::kShape);
      axes.emplace_back(static_cast<int64_t>(d));
      starts.emplace_back(0);
      ends.push_back(want[d].affine());
    }
    if (axes.empty()) return v;
    return add("Slice", {v}, {{"axes", axes}, {"starts", starts}, {"ends", ends}}, "y");
  }

  const Pattern& pattern_;
  const MainOperator& original_;
  const Plan& plan_;
  std::vector<std::pair<std::string, Expr>> where_;
  ShapeClass shapes_;
  MainOperator op_;
  std::optional<poly::Context> context_;
  std::vector<AxisParts> parts_;
  std::array<Slot, 2> slots_;
  std::array<bool, 2> separated_{}, exactInput_{};
  std::array<std::optional<size_t>, 2> keepsOwnPads_;
  std::vector<Digit> tapsOut_, tiled_;
  ProgramBuilder builder_;
  Value main_;
};

}  // namespace

tl::expected<Mutant, PlanFailure> buildMutant(const Pattern& pattern, const MainOperator& analysed, const Plan& plan) {
  try {
    return Builder(pattern, analysed, plan).build();
  } catch (const Failed& f) {
    return tl::unexpected(f.failure);
  } catch (const poly::BudgetExceeded&) {
    return tl::unexpected(PlanFailure{PlanFailure::Why::kNoVote, "operation budget exceeded"});
  }
}

int depthOf(const Program& program) {
  // Every operator on activations counts one, a maximal chain of layout operators together one.
  int depth = 0;
  std::vector<bool> counted(program.nodes().size());
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    if (n.op->name == "Input" || isConstant(program, {static_cast<int>(i), 0})) continue;
    bool continues = n.op->layout && std::any_of(n.operands.begin(), n.operands.end(),
                                                 [&](Value v) { return program.node(v).op->layout; });
    bool sibling = n.op->layout &&
                   std::any_of(program.nodes().begin(), program.nodes().begin() + static_cast<std::ptrdiff_t>(i),
                               [&](const Node& o) { return o.op->layout && o.op == n.op && o.operands == n.operands; });
    if (!continues && !sibling) ++depth;
  }
  return depth;
}

}  // namespace pet
