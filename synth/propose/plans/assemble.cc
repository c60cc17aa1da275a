#include "synth/propose/plans/assemble.h"

#include <algorithm>

#include <fmt/format.h>

#include "synth/analysis/operators.h"
#include "synth/propose/plans/failure.h"
#include "synth/propose/plans/weights.h"

namespace pet {
namespace {

using Why = PlanFailure::Why;
using Digits = std::vector<Digit>;
using Groups = std::vector<Digits>;  ///< the digits of each dimension

Digits joined(Digits a, const Digits& b) {
  a.insert(a.end(), b.begin(), b.end());
  if (a.empty()) a.push_back({"", 1});
  return a;
}

bool sameNames(const Groups& a, const Groups& b) {
  auto name = [](const Digit& x, const Digit& y) { return x.name == y.name; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const Digits& x, const Digits& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), name);
  });
}

LayoutSpec layoutSpec(const Groups& from, const Groups& to) {
  LayoutSpec spec;
  auto axisOf = [&](const Digit& d) {
    for (size_t a = 0; a < spec.axes.size(); ++a) {
      if (!d.name.empty() && spec.axes[a].name == d.name) return static_cast<int>(a);
    }
    spec.axes.push_back({d.name.empty() ? fmt::format("_{}", spec.axes.size()) : d.name, d.extent});
    return static_cast<int>(spec.axes.size()) - 1;
  };
  for (auto [side, groups] : {std::pair{&spec.left, &from}, {&spec.right, &to}}) {
    for (const Digits& group : *groups) {
      side->emplace_back();
      for (const Digit& d : group)
        side->back().push_back(axisOf(d));
    }
  }
  return spec;
}

class Assembler {
 public:
  Assembler(const MainOperator& op, Target target, Parts parts) : op_(op), target_(target), parts_(std::move(parts)) {}

  Assembled run() {
    for (Value v : op_.program.inputs())
      builder_.input(op_.program.name(v), op_.program.shape(v), v == op_.w);
    Value x = tile(slice(pad(input(op_.x)))), u = weights(input(op_.w));
    Value y = crop(multiplies(target_) ? product(x, u) : convolution(x, u));
    return {std::move(builder_).finish({y}).withoutDeadNodes(), main_};
  }

 private:
  Value input(Value v) const { return *builder_.peek().find(op_.program.name(v)); }

  Value add(std::string_view op, std::vector<Value> operands, Attributes attributes, std::string valueName) {
    auto v = builder_.add(op, std::move(operands), std::move(attributes), std::move(valueName));
    if (!v) stop(Why::kShape, v.error().what);
    return *v;
  }

  Value addMain(std::string_view op, std::vector<Value> operands, Attributes attributes, std::string valueName) {
    Value v = add(op, std::move(operands), std::move(attributes), std::move(valueName));
    main_ = builder_.peek().name(v);
    return v;
  }

  /// A Layout from groups to groups of digits, or nothing when they are the same.
  Value layout(Value v, const Groups& from, const Groups& to, std::string valueName) {
    return sameNames(from, to) ? v : add("Layout", {v}, {{"layout", layoutSpec(from, to)}}, std::move(valueName));
  }

  // --- In front of the operator ---

  Value pad(Value x) {
    const Shape& shape = builder_.shape(x);
    std::vector<Expr> pads(2 * shape.size(), Expr(0));
    for (size_t i = 0; i < parts_.axes.size(); ++i) {
      if (op_.axes[i].in.dim < 0) continue;
      auto d = static_cast<size_t>(op_.axes[i].in.dim);
      pads[d] += parts_.axes[i].padBegin;
      pads[shape.size() + d] += parts_.axes[i].padEnd;
    }
    if (std::all_of(pads.begin(), pads.end(), [](const Expr& e) { return e == Expr(0); })) return x;
    return add("Pad", {x}, {{"pads", pads}}, "xp");
  }

  Value slice(Value x) {
    std::vector<Expr> axes, starts, ends, steps;
    for (size_t i = 0; i < parts_.axes.size(); ++i) {
      const auto& select = parts_.axes[i].select;
      if (!select) continue;
      axes.emplace_back(op_.axes[i].in.dim);
      starts.emplace_back(select->first);
      ends.push_back(builder_.shape(x)[static_cast<size_t>(op_.axes[i].in.dim)].affine());
      steps.emplace_back(select->second);
    }
    if (axes.empty()) return x;
    return add("Slice", {x}, {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"steps", steps}}, "xs");
  }

  Value tile(Value x) {
    for (size_t i = 0; i < parts_.axes.size(); ++i) {
      const AxisParts& p = parts_.axes[i];
      if (p.tiles == 0) continue;
      std::vector<Value> tiles;
      for (int64_t k = 0; k < p.tiles; ++k) {
        Attributes a{{"axes", std::vector<Expr>{op_.axes[i].in.dim}},
                     {"starts", std::vector<Expr>{p.tileStep * k}},
                     {"ends", std::vector<Expr>{p.tileStep * k + p.tileLength}}};
        tiles.push_back(add("Slice", {x}, a, fmt::format("x{}{}", op_.axes[i].name, k)));
      }
      x = add("Concat", tiles, {{"axis", Expr(0)}}, "x" + op_.axes[i].name);
      tiled_.insert(tiled_.begin(), Digit{"p" + op_.axes[i].name, Dim(p.tiles)});
    }
    return x;
  }

  Value weights(Value w) {
    IndexMapSpec map = weightMap(op_, parts_, target_);
    return isIdentity(map, builder_.shape(w)) ? w : add("IndexMap", {w}, {{"map", map}}, "u");
  }

  // --- Digits of dimensions ---

  /// The digits of a tensor of the pattern, from those of its axes.
  Groups dimensions(const Shape& shape, DigitPlace Axis::*place, Digits AxisParts::*digits) const {
    Groups dims(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      for (size_t a = 0; a < shape[d].atoms().size(); ++a) {
        for (size_t i = 0; i < op_.axes.size(); ++i) {
          const DigitPlace& at = op_.axes[i].*place;
          if (at.dim != static_cast<int>(d) || at.atom != static_cast<int>(a)) continue;
          dims[d].insert(dims[d].end(), (parts_.axes[i].*digits).begin(), (parts_.axes[i].*digits).end());
        }
      }
      if (dims[d].empty()) dims[d].push_back({"", 1});
    }
    return dims;
  }

  Groups inputDigits(Value x) const {
    auto dims = dimensions(builder_.shape(x), &Axis::in, &AxisParts::in);
    dims[0].insert(dims[0].begin(), tiled_.begin(), tiled_.end());
    return dims;
  }

  Groups outputDigits() const { return dimensions(op_.program.shape(op_.y), &Axis::out, &AxisParts::out); }

  Digits batch() const {
    Digits all = tiled_;
    for (const AxisParts& p : parts_.axes)
      all.insert(all.end(), p.batch.begin(), p.batch.end());
    return all;
  }

  /// The slots as one list of digits.
  Digits positions(bool output) const {
    Digits all;
    for (const Slot& s : parts_.slots) {
      for (const Digit& d : s.digits(output)) {
        if (!d.name.empty()) all.push_back(d);
      }
    }
    return all;
  }

  Groups images(Digits channels, bool output) const {
    Groups dims{joined(batch(), {}), std::move(channels)};
    for (const Slot& s : parts_.slots)
      dims.push_back(s.digits(output));
    return dims;
  }

  // --- The operator and what follows ---

  Value convolution(Value x, Value u) {
    Value t = layout(x, inputDigits(x), images(channelsOf(op_, parts_, false), false), "t");
    Expr group = 1;
    for (const AxisParts& p : parts_.axes) {
      if (p.group) group = p.group->extent.affine();
    }
    Attributes a{{"group", group}};
    if (slides(target_)) addWindow(a);
    Value y = addMain(target_ == Target::kConvTranspose ? "ConvTranspose" : "Conv", {t, u}, a, "y1");
    if (offsets(target_)) y = offsetReduce(y);
    takeNaturalExtents(y);
    return layout(y, images(channelsAfterOffsets(op_, parts_), true), outputDigits(), "z");
  }

  Value product(Value x, Value u) {
    Digits before = positions(false), after = positions(true);
    Digits channelsIn = channelsOf(op_, parts_, false), channelsOut = channelsOf(op_, parts_, true);
    Value y;
    if (target_ == Target::kMatMulRight) {
      Value t = layout(x, inputDigits(x), {joined(batch(), before), channelsIn}, "t");
      y = addMain("MatMul", {t, u}, {}, "y1");
      return layout(y, {joined(batch(), after), channelsOut}, outputDigits(), "z");
    }
    if (before.empty()) stop(Why::kNotApplicable, "no positions to multiply");
    Value t = layout(x, inputDigits(x), {joined(batch(), {}), channelsIn, before}, "t");
    y = addMain("MatMul", {u, t}, {}, "y1");
    if (!offsets(target_)) return layout(y, {joined(batch(), {}), channelsOut, after}, outputDigits(), "z");
    // Positions must be apart again before the sum over offsets.
    y = layout(y, {joined(batch(), {}), channelsOut, before}, images(channelsOut, false), "ys");
    return layout(offsetReduce(y), images(channelsAfterOffsets(op_, parts_), true), outputDigits(), "z");
  }

  Value offsetReduce(Value v) {
    if (parts_.tapsOut.empty()) stop(Why::kNotApplicable, "no taps to sum over");
    std::vector<Expr> kernel;
    for (const Slot& s : parts_.slots)
      kernel.push_back(s.taps);
    Attributes a{{"kernel_shape", kernel}};
    addWindow(a);
    return addMain("OffsetReduce", {v}, a, "y2");
  }

  void addWindow(Attributes& into) const {
    std::vector<Expr> strides, dilations, begins, ends;
    for (const Slot& s : parts_.slots) {
      strides.emplace_back(s.stride);
      dilations.emplace_back(s.dilation);
      begins.push_back(s.padBegin);
      ends.push_back(s.padEnd);
    }
    begins.insert(begins.end(), ends.begin(), ends.end());
    into.emplace("strides", std::move(strides));
    into.emplace("dilations", std::move(dilations));
    into.emplace("pads", std::move(begins));
  }

  /// The target may give more positions than a lone window needs (a natural pad); the layout reads what is there.
  void takeNaturalExtents(Value y) {
    for (size_t s = 0; s < parts_.slots.size(); ++s) {
      Slot& slot = parts_.slots[s];
      if (!slot.window || !slot.outer.empty() || !slot.inner.empty()) continue;
      slot.windowOut->extent = builder_.shape(y)[2 + s];
      for (AxisParts& p : parts_.axes) {
        for (Digit& d : p.out) {
          if (d.name == slot.windowOut->name) d.extent = slot.windowOut->extent;
        }
      }
    }
  }

  Value crop(Value v) {
    const Shape &have = builder_.shape(v), &want = op_.program.shape(op_.y);
    if (have.size() != want.size()) stop(Why::kShape, fmt::format("{} is no {}", str(have), str(want)));
    std::vector<Expr> axes, starts, ends;
    for (size_t d = 0; d < want.size(); ++d) {
      if (have[d] == want[d]) continue;
      if (!have[d].isAffine() || !want[d].isAffine())
        stop(Why::kShape, fmt::format("{} is not cropped to {}", have[d].str(), want[d].str()));
      axes.emplace_back(static_cast<int64_t>(d));
      starts.emplace_back(0);
      ends.push_back(want[d].affine());
    }
    if (axes.empty()) return v;
    return add("Slice", {v}, {{"axes", axes}, {"starts", starts}, {"ends", ends}}, "y");
  }

  const MainOperator& op_;
  Target target_;
  Parts parts_;
  Digits tiled_;
  ProgramBuilder builder_;
  std::string main_;
};

}  // namespace

Assembled assemble(const Specialised& pattern, Target target, Parts parts) {
  return Assembler(pattern.op, target, std::move(parts)).run();
}

}  // namespace pet
