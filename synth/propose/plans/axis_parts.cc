#include "synth/propose/plans/axis_parts.h"

#include <algorithm>

#include "synth/propose/plans/failure.h"

namespace pet {
namespace {

using Cut = AxisMove::Cut;
using Place = AxisMove::Place;
using Why = PlanFailure::Why;

LayoutAxis layoutAxis(const Digit& d) {
  return {d.name, d.extent};
}

class Derivation {
 public:
  Derivation(const Specialised& pattern, const Plan& plan, VoteTable& votes)
      : pattern_(pattern), plan_(plan), votes_(votes) {}

  Parts run() {
    constexpr size_t kFewestSlots = 2;
    parts_.slots.resize(std::max(kFewestSlots, pattern_.op.ofKind(Axis::Kind::kWindow).size()));
    for (size_t i = 0; i < pattern_.op.axes.size(); ++i)
      parts_.axes.push_back(partsOf(i));
    return std::move(parts_);
  }

 private:
  const Axis& axis(size_t i) const { return pattern_.op.axes[i]; }
  const AxisMove& move(size_t i) const { return plan_.moves[i]; }

  AxisParts partsOf(size_t i) {
    switch (axis(i).kind) {
      case Axis::Kind::kEqual:
        return equalParts(axis(i), move(i));
      case Axis::Kind::kGroup:
        return groupParts(axis(i), move(i));
      case Axis::Kind::kReduce:
      case Axis::Kind::kOut:
        return channelParts(axis(i), move(i));
      case Axis::Kind::kWindow:
        return windowParts(i);
    }
    stop(Why::kNotApplicable, "an axis of an unknown kind");
  }

  // --- Axes that do not slide ---

  void placeInSlot(const AxisMove& m, const Digit& d) {
    Slot& slot = parts_.slots[static_cast<size_t>(m.slot)];
    if (m.innermost && !d.extent.asConstant()) stop(Why::kNotApplicable, "an inner digit of symbolic extent");
    (m.innermost ? slot.inner : slot.outer).push_back(d);
    slot.separated = slot.separated || m.separator;
  }

  AxisParts equalParts(const Axis& a, const AxisMove& m) {
    AxisParts p;
    Digit whole{a.name, Dim(a.inExtent)};
    if (m.cut == Cut::kKeep && m.place == Place::kBatch) {
      p.in = p.out = p.batch = {whole};
    } else if (m.cut == Cut::kKeep || m.cut == Cut::kMerge) {
      p.in = p.out = {whole};
      placeInSlot(m, whole);
    } else if (m.cut == Cut::kInner) {
      Digit rest{a.name, Dim(*a.inExtent.dividedBy(m.factor))}, part{"p" + a.name, Dim(m.factor)};
      p.in = p.out = {rest, part};
      p.batch = {rest};
      placeInSlot(m, part);
    } else {
      stop(Why::kNotApplicable, "no such cut of a batch axis");
    }
    return p;
  }

  /// The part pg that leaves the group axis is a channel on both sides; blocks off the diagonal are zero.
  static AxisParts groupParts(const Axis& a, const AxisMove& m) {
    AxisParts p;
    Digit group{a.name, Dim(a.inExtent)};
    p.source = Expr::variable(a.name);
    if (m.cut == Cut::kKeep) {
      p.in = p.out = {group};
      p.group = group;
      return p;
    }
    Expr partExtent = a.inExtent;
    if (m.cut == Cut::kInner) {
      partExtent = m.factor;
      group.extent = Dim(*a.inExtent.dividedBy(m.factor));
      p.group = group;
      p.in = p.out = {group};
    }
    Digit in{"p" + a.name, Dim(partExtent)}, out{"o" + a.name, Dim(partExtent)};
    p.in.push_back(in);
    p.out.push_back(out);
    p.inChannels = {in};
    p.outChannels = {out};
    p.weightIn = {layoutAxis(in)};
    p.weightOut = {layoutAxis(out)};
    Expr at = Expr::variable(out.name);
    p.source = m.cut == Cut::kInner ? Expr::variable(a.name) * m.factor + at : at;
    p.guards = {Constraint::eq(Expr::variable(in.name), at)};
    return p;
  }

  static AxisParts channelParts(const Axis& a, const AxisMove& m) {
    bool out = a.kind == Axis::Kind::kOut;
    Expr have = out ? a.outExtent : a.inExtent, extent = have;
    AxisParts p;
    if (m.cut == Cut::kMultiple) {
      extent = ceilDiv(have, m.factor) * m.factor;
      if (!out) p.padEnd = extent - have;
    } else if (m.cut != Cut::kKeep) {
      stop(Why::kNotApplicable, "no such cut of channels");
    }
    Digit d{a.name, Dim(extent)};
    (out ? p.out : p.in) = {d};
    (out ? p.outChannels : p.inChannels) = {d};
    (out ? p.weightOut : p.weightIn) = {layoutAxis(d)};
    p.source = Expr::variable(a.name);
    return p;
  }

  // --- Axes that slide ---

  Slot& slotOf(size_t i) {  // window axes stand in their slots in order, or exchanged
    size_t n = 0;
    for (size_t k = 0; k < i; ++k)
      n += axis(k).kind == Axis::Kind::kWindow;
    return parts_.slots[plan_.exchanged ? 1 - n : n];
  }

  Vote voteOn(const Axis& a, const WindowCut& cut) const {
    auto vote = votes_.window(pattern_.shapes, a, cut);
    if (!vote) stop(Why::kNoVote, a.name + ": " + vote.error());
    return *vote;
  }

  AxisParts windowParts(size_t i) {
    const AxisMove& m = move(i);
    if (m.cut == Cut::kWhole) return wholeParts(axis(i));
    if (m.cut == Cut::kTiles) return tileParts(i);
    WindowCut cut;
    cut.transposed = plan_.target == Target::kConvTranspose;
    cut.stride = m.stride;
    cut.dilation = m.dilation;
    if (m.cut == Cut::kInner) {
      bool channels = m.place == Place::kChannels;
      cut.equal = !channels;
      cut.inFactor = !channels || m.inChannel ? m.factor : 1;
      cut.outFactor = !channels || m.outChannel ? m.factor : 1;
    }
    if (m.shifted) cut.shift = shiftOf(axis(i));
    Axis tile = axis(i);  // an outer cut leaves the window's relation as it is, on smaller extents
    if (m.cut == Cut::kOuter) {
      tile.inExtent = *tile.inExtent.dividedBy(m.factor);
      tile.outExtent = *tile.outExtent.dividedBy(m.factor);
    }
    return cutParts(i, tile, cut, voteOn(tile, cut));
  }

  /// -(x - v·stride) at the first tap: how far the window starts before its output.
  Expr shiftOf(const Axis& a) const {
    WindowCut same;
    same.stride = -a.relation.coefficient("v");
    same.dilation = std::max<int64_t>(1, -a.relation.coefficient("r"));
    if (same.stride < 1) stop(Why::kNotApplicable, a.name + ": the input is not read from left to right");
    Vote vote = voteOn(a, same);
    if (vote.padBegin == Expr(0)) stop(Why::kNotApplicable, a.name + ": no pad to move in front of the cut");
    return vote.padBegin;
  }

  AxisParts cutParts(size_t i, const Axis& a, const WindowCut& cut, const Vote& vote) {
    const AxisMove& m = move(i);
    AxisParts p;
    Slot& own = slotOf(i);
    Expr rest = ceilDiv(a.inExtent + cut.shift, cut.inFactor);  // a's extent
    Expr restOut = ceilDiv(a.outExtent, cut.outFactor);         // a' positions that are needed
    fillSlot(own, i, vote, restOut);
    own.padBegin = vote.padBegin;
    if (m.shifted) {  // the input is padded or cropped to exactly what the target reads
      rest = (restOut - 1) * m.stride + (vote.taps - 1) * m.dilation + 1 - own.padBegin;
    }
    own.window = Digit{a.name, Dim(rest)};
    own.windowOut = Digit{a.name, Dim(restOut)};
    own.keepsOwnPads = m.cut == Cut::kKeep;
    own.exactInput = m.shifted;
    p.padBegin = cut.shift;
    p.padEnd = rest * cut.inFactor - a.inExtent - cut.shift;
    p.in = {*own.window};
    p.out = {*own.windowOut};
    Expr fi = 0, fo = 0;
    if (m.cut == Cut::kOuter || cut.equal) {
      Digit part{"p" + a.name, Dim(m.factor)};
      for (auto* digits : {&p.in, &p.out})
        digits->insert(m.cut == Cut::kOuter ? digits->begin() : digits->end(), part);
      if (m.place == Place::kBatch) {
        p.batch = {part};
      } else {
        placeInSlot(m, part);
      }
      if (vote.source.mentions("fi") || vote.source.mentions("fo"))
        stop(Why::kNoVote, a.name + ": the weights differ from phase to phase");
    } else {
      fi = inputDigit(p, a, cut, vote);
      fo = outputDigit(p, a, cut);
    }
    placeWeights(p, own, vote, fi, fo);
    if (!slides(plan_.target)) pointwise(p, own);
    return p;
  }

  void fillSlot(Slot& own, size_t i, const Vote& vote, const Expr& needed) const {
    own.axis = i;
    own.taps = vote.taps;
    own.stride = move(i).stride;
    own.dilation = move(i).dilation;
    own.needed = needed;
    own.tapName = "q" + axis(i).name;
  }

  /// The input's digit becomes channels, or one of its values is selected. Returns what stands for "fi".
  static Expr inputDigit(AxisParts& p, const Axis& a, const WindowCut& cut, const Vote& vote) {
    if (cut.inFactor == 1) return 0;
    if (vote.selected) {
      p.select = {{*vote.selected, cut.inFactor}};
      return *vote.selected;
    }
    Digit part{"p" + a.name, Dim(cut.inFactor)};
    p.in.push_back(part);
    p.inChannels = {part};
    p.weightIn.push_back(layoutAxis(part));
    return Expr::variable(part.name);
  }

  static Expr outputDigit(AxisParts& p, const Axis& a, const WindowCut& cut) {
    if (cut.outFactor == 1) return 0;
    Digit part{"o" + a.name, Dim(cut.outFactor)};
    p.out.push_back(part);
    p.outChannels = {part};
    p.weightOut.push_back(layoutAxis(part));
    return Expr::variable(part.name);
  }

  static void placeWeights(AxisParts& p, const Slot& own, const Vote& vote, const Expr& fi, const Expr& fo) {
    std::map<std::string, Expr> names{
        {"q", own.taps == Expr(1) ? Expr(0) : Expr::variable(own.tapName)}, {"fi", fi}, {"fo", fo}};
    p.source = vote.source.substitute(names);
    for (const Constraint& g : vote.guards) {
      Constraint now = g.substitute(names);
      if (now.decided() != true) p.guards.push_back(now);
    }
  }

  /// The target does not slide: without taps the axis passes as it is; in the offset forms the taps become output
  /// channels.
  void pointwise(AxisParts& p, const Slot& own) {
    bool trivial = own.taps == Expr(1) && own.padBegin == Expr(0) && own.stride == 1;
    if (trivial) return;
    if (!offsets(plan_.target)) stop(Why::kNotApplicable, "the target does not slide");
    if (!own.outer.empty()) stop(Why::kNotApplicable, "several images under one sum over offsets");
    parts_.tapsOut.push_back({own.tapName, Dim(own.taps)});
    p.weightOut.push_back(layoutAxis(parts_.tapsOut.back()));
  }

  AxisParts wholeParts(const Axis& a) const {
    auto vote = votes_.whole(pattern_.shapes, a);
    if (!vote) stop(Why::kNoVote, a.name + ": " + vote.error());
    AxisParts p;
    Digit in{a.name, Dim(a.inExtent)}, out{"o" + a.name, Dim(a.outExtent)};
    p.in = p.inChannels = {in};
    p.out = p.outChannels = {out};
    p.weightIn = {layoutAxis(in)};
    p.weightOut = {layoutAxis(out)};
    placeWeights(p, Slot{}, *vote, Expr::variable(in.name), Expr::variable(out.name));
    return p;
  }

  /// Tiles of T = ceil(out / k) outputs, each with the inputs it reads: x padded to what all tiles together read.
  AxisParts tileParts(size_t i) {
    const Axis& a = axis(i);
    const AxisMove& m = move(i);
    if (plan_.target != Target::kConv) stop(Why::kNotApplicable, "only a Conv reads a tile's halo");
    WindowCut same;
    same.stride = m.stride;
    same.dilation = m.dilation;
    Vote vote = voteOn(a, same);
    AxisParts p;
    Slot& own = slotOf(i);
    Expr tile = ceilDiv(a.outExtent, m.factor), reach = (vote.taps - 1) * m.dilation;
    fillSlot(own, i, vote, tile);
    own.exactInput = true;
    p.tiles = m.factor;
    p.tileStep = tile * m.stride;
    p.tileLength = (tile - 1) * m.stride + reach + 1;
    p.padBegin = vote.padBegin;
    p.padEnd = (tile * m.factor - 1) * m.stride + reach + 1 - p.padBegin - a.inExtent;
    own.window = Digit{a.name, Dim(p.tileLength)};
    own.windowOut = Digit{a.name, Dim(tile)};
    p.in = {*own.window};
    p.out = {Digit{"p" + a.name, Dim(m.factor)}, *own.windowOut};
    placeWeights(p, own, vote, 0, 0);
    return p;
  }

  const Specialised& pattern_;
  const Plan& plan_;
  VoteTable& votes_;
  Parts parts_;
};

}  // namespace

std::vector<Digit> Slot::digits(bool output) const {
  std::vector<Digit> all = outer;
  if (window) all.push_back(output ? *windowOut : *window);
  all.insert(all.end(), inner.begin(), inner.end());
  if (all.empty()) all.push_back({"", 1});
  return all;
}

Parts deriveParts(const Specialised& pattern, const Plan& plan, VoteTable& votes) {
  return Derivation(pattern, plan, votes).run();
}

}  // namespace pet
