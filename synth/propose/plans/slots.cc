#include "synth/propose/plans/slots.h"

#include "synth/propose/plans/failure.h"

namespace pet {
namespace {

using Why = PlanFailure::Why;

Expr reachOf(const Slot& s) {
  return (s.taps - 1) * s.dilation;
}

Expr outputOf(const Slot& s, Target target, const Expr& padEnd) {
  Expr in = s.window->extent.affine();
  if (target == Target::kConvTranspose) return (in - 1) * s.stride + reachOf(s) + 1 - s.padBegin - padEnd;
  return floorDiv(in + s.padBegin + padEnd - reachOf(s) - 1, s.stride) + 1;
}

/// The pad that gives exactly the needed outputs: the pattern's own where that does it, so that attributes stay simple.
Expr endPad(const MainOperator& op, const Slot& slot, Target target) {
  Expr in = slot.window->extent.affine();
  Expr fit = target == Target::kConvTranspose
               ? (in - 1) * slot.stride + reachOf(slot) + 1 - slot.padBegin - slot.needed
               : (slot.needed - 1) * slot.stride + reachOf(slot) + 1 - in - slot.padBegin;
  if (!fit.hasDivision()) return fit;
  const Node& node = op.program.node(op.y);
  std::vector<Expr> choices{slot.padBegin};
  if (auto it = node.attributes.find("pads"); it != node.attributes.end() && slot.keepsOwnPads) {
    const auto& pads = std::get<std::vector<Expr>>(it->second);
    choices.push_back(pads[pads.size() / 2 + static_cast<size_t>(op.axes[*slot.axis].in.dim) - 2]);
  }
  for (const Expr& choice : choices) {
    if (outputOf(slot, target, choice) == slot.needed) return choice;
  }
  return fit;
}

/// Several images in one slot: the operator keeps the extent, so that their digits stay apart; a separator holds as
/// many zeros as a window reaches over its image's border.
void shareSlot(Slot& slot, Target target, AxisParts& p) {
  if (slot.stride != 1 || target != Target::kConv) stop(Why::kNotApplicable, "images share a slot of a Conv only");
  if (slot.exactInput) stop(Why::kNotApplicable, "the input holds no room for other images");
  if (slot.separated) {
    if (!p.select && p.in.size() != 1) stop(Why::kNotApplicable, "a separator between the digits of a cut");
    if (slot.padBegin == Expr(0)) stop(Why::kNotApplicable, "nothing to separate");
    p.padEnd += slot.padBegin;
    slot.window->extent = slot.window->extent.affine() + slot.padBegin;
    p.in[0].extent = slot.window->extent;
  }
  slot.padEnd = reachOf(slot) - slot.padBegin;
  slot.windowOut->extent = slot.window->extent;
  for (Digit& d : p.out) {
    if (d.name == slot.windowOut->name) d.extent = slot.windowOut->extent;
  }
}

/// Inner digits stand between the positions of a window, so it steps over them.
void stepOver(Slot& slot) {
  int64_t count = 1;
  for (const Digit& d : slot.inner)
    count *= d.extent.asConstant().value_or(1);
  if (count > 1 && slot.stride != 1) stop(Why::kNotApplicable, "a stride over inner digits");
  slot.padBegin = slot.padBegin * count;
  slot.padEnd = slot.padEnd * count;
  slot.dilation *= count;
}

}  // namespace

void finishSlots(const Specialised& pattern, Target target, Parts& parts) {
  for (Slot& slot : parts.slots) {
    if (!slot.window) continue;
    bool shared = !slot.inner.empty() || !slot.outer.empty();
    if (shared && !slides(target)) stop(Why::kNotApplicable, "the target does not slide");
    if (!slot.outer.empty()) {
      shareSlot(slot, target, parts.axes[*slot.axis]);
    } else if (!slot.exactInput) {
      slot.padEnd = endPad(pattern.op, slot, target);
    }
    stepOver(slot);
  }
}

}  // namespace pet
