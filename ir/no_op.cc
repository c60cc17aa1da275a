#include "ir/no_op.h"

#include <algorithm>
#include <limits>

#include "ir/layout_algebra.h"
#include "ir/ops/resize.h"

namespace pet {
namespace {

bool always(const OpView&) {
  return true;
}

/// Of operators that only leave out, repeat or regroup.
bool keepsShape(const OpView& v) {
  return v.outputs[0] == v.operands[0];
}

bool padsNothing(const OpView& v) {
  const std::vector<Expr>& pads = v.list("pads");
  return std::all_of(pads.begin(), pads.end(), [](const Expr& e) { return e == Expr(0); });
}

bool joinsOne(const OpView& v) {
  return v.operands.size() == 1;
}

bool keepsOrder(const OpView& v) {
  const std::vector<Expr>& perm = v.list("perm");
  for (size_t d = 0; d < perm.size(); ++d) {
    if (perm[d] != Expr(static_cast<int64_t>(d))) return false;
  }
  return perm.size() == v.operands[0].size();
}

bool keepsPlaces(const OpView& v) {
  return keepsShape(v) && movesNothing(std::get<LayoutSpec>(v.attributes.find("layout")->second));
}

bool keepsPixels(const OpView& v) {
  for (size_t d = 0; d < v.outputs[0].size(); ++d) {
    if (!keeps(v, d)) return false;
  }
  return true;
}

bool hasNoBounds(const OpView& v) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  return v.number("min") == -kNone && v.number("max") == kNone;
}

struct Case {
  OpName op;
  bool (*holds)(const OpView&);
};

constexpr Case kCases[] = {
    {ops::kClip, hasNoBounds},     {ops::kConcat, joinsOne},      {ops::kExpand, keepsShape},
    {ops::kFlatten, keepsShape},   {ops::kIdentity, always},      {ops::kLayout, keepsPlaces},
    {ops::kPad, padsNothing},      {ops::kReshape, keepsShape},   {ops::kResize, keepsPixels},
    {ops::kSlice, keepsShape},     {ops::kSqueeze, keepsShape},   {ops::kTile, keepsShape},
    {ops::kTranspose, keepsOrder}, {ops::kUnsqueeze, keepsShape},
};

const Case* caseOf(std::string_view op) {
  const auto* it = std::find_if(std::begin(kCases), std::end(kCases), [&](const Case& c) { return c.op.text == op; });
  return it == std::end(kCases) ? nullptr : it;
}

}  // namespace

bool isNoOp(const OpRow& op, const OpView& view) {
  const Case* known = caseOf(op.name);
  return known && known->holds(view);
}

bool mayBeNoOp(std::string_view op) {
  return caseOf(op) != nullptr;
}

}  // namespace pet
