#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <rapidcheck.h>

#include "ir/denote.h"
#include "ir/ops/digits.h"
#include "ir/program.h"
#include "ir/tensor.h"

// RapidCheck generators: expressions, bindings, and programs that are well formed at one binding of their symbols.
namespace pet::testing_support {

/// Of all sizes alike: RapidCheck would begin with the lowest numbers only.
inline int64_t draw(int64_t low, int64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}

template <class T>
const T& drawFrom(const std::vector<T>& values) {
  return values[static_cast<size_t>(draw(0, static_cast<int64_t>(values.size()) - 1))];
}

/// Groups of consecutive entries, some of them empty.
inline std::vector<std::vector<int>> drawGroups(const std::vector<int>& order) {
  std::vector<std::vector<int>> groups;
  for (int a : order) {
    if (groups.empty() || draw(0, 2) > 0) groups.emplace_back();
    groups.back().push_back(a);
  }
  if (draw(0, 3) == 0) groups.emplace_back();
  return groups;
}

/// A random Layout of a tensor of these extents, each cut into two digits where that goes.
inline LayoutSpec drawLayout(const Extents& extents) {
  LayoutSpec spec;
  for (int64_t e : extents) {
    spec.left.emplace_back();
    for (int64_t factor : {int64_t{2}, int64_t{3}}) {
      if (e % factor != 0 || draw(0, 1) == 0) continue;
      spec.left.back().push_back(static_cast<int>(spec.axes.size()));
      spec.axes.push_back({"a" + std::to_string(spec.axes.size()), Dim(factor)});
      e /= factor;
    }
    spec.left.back().push_back(static_cast<int>(spec.axes.size()));
    spec.axes.push_back({"a" + std::to_string(spec.axes.size()), Dim(e)});
  }
  std::vector<int> order(spec.axes.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int>(i);
  for (size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[static_cast<size_t>(draw(0, static_cast<int64_t>(i)))]);
  spec.right = drawGroups(order);
  return spec;
}

/// Quasi-affine in A, B, C, with divisions up to the given depth.
inline Expr drawExpr(int depth) {
  Expr sum = draw(-9, 9);
  for (int64_t terms = draw(0, 3); terms-- > 0;) {
    bool division = depth > 0 && draw(0, 2) == 0;
    Expr term =
        division ? floorDiv(drawExpr(depth - 1), draw(1, 8)) : Expr::variable(drawFrom<std::string>({"A", "B", "C"}));
    sum += term * draw(-6, 6);
  }
  return sum;
}

inline rc::Gen<Expr> randomExpr() {
  return rc::gen::exec([] { return drawExpr(2); });
}

inline rc::Gen<Bindings> randomBindings() {
  return rc::gen::exec([] { return Bindings{{"A", draw(-20, 20)}, {"B", draw(-20, 20)}, {"C", draw(-20, 20)}}; });
}

/// A program and the shapes at which it was built.
struct ProgramAtShape {
  Program program;
  Bindings symbols;
};

/// What random programs are made of: sums of products; functions, maxima and means as well; and those that have no
/// value for some arguments.
enum class Vocabulary { kSums, kFunctions, kPartial };

/// Adds one operator at a time, as long as all extents are in [1, kMost] at the binding and all obligations hold there.
class ProgramSource {
 public:
  explicit ProgramSource(Vocabulary vocabulary) : vocabulary_(vocabulary) {
    for (auto s : {"N", "C", "H", "W"})
      symbols_[s] = draw(1, 3);
    for (int64_t i = draw(1, 2); i-- > 0;)
      addInput(drawFrom(kShapes));
  }

  ProgramAtShape program(int operators) {
    for (int i = 0; i < operators; ++i)
      step();
    if (builder_.peek().node(values_.back()).op->name == "Input")
      values_.push_back(*builder_.add("Neg", {values_.back()}));
    return {ProgramBuilder(builder_).finish({values_.back()}), symbols_};
  }

 private:
  static constexpr int64_t kMost = 48;
  static Expr s(const char* name) { return Expr::variable(name); }
  const std::vector<Shape> kShapes = {
      {s("N"), s("C"), s("H"), s("W")},
      {s("N") * 2, s("C"), s("W") * 2},
      {Dim::product({s("N"), s("W") * 2}), s("C")},
      {s("N"), Dim::product({s("C"), s("H")}), s("W") + 1},
      {s("H"), s("H")},
      {Dim::product({3, s("N"), s("H")}), 4},
  };

  const Shape& shape(Value v) const { return builder_.shape(v); }
  int64_t at(const Dim& d) const { return d.evaluate(symbols_).value(); }

  Value addInput(const Shape& shape, bool constant = false) {
    Value v = builder_.input(fmt::format("x{}", inputs_++), shape, constant);
    values_.push_back(v);
    return v;
  }

  void step() {
    ProgramBuilder before = builder_;
    std::vector<Value> valuesBefore = values_;
    auto added = addOperator(drawFrom(values_));
    if (added && accepts(*added)) {
      values_.push_back(*added);
    } else {
      builder_ = std::move(before);
      values_ = std::move(valuesBefore);
    }
  }

  bool accepts(Value v) const {
    const Shape& out = shape(v);
    int64_t elements = 1;
    for (const Dim& d : out) {
      for (const Expr& atom : d.atoms()) {
        if (atom.evaluate(symbols_).value() < 1) return false;
      }
      elements *= at(d);
    }
    auto must = obligations(ProgramBuilder(builder_).finish({v}));
    return elements <= kMost && !out.empty() && out.size() <= 5 &&
           std::all_of(must.begin(), must.end(), [&](const Constraint& c) { return c.evaluate(symbols_) == true; });
  }

  Expected<Value> addOperator(Value x) {
    size_t rank = shape(x).size();
    if (vocabulary_ == Vocabulary::kPartial && draw(0, 3) == 0) return addPartial(x);
    if (vocabulary_ != Vocabulary::kSums && draw(0, 2) == 0) return addFunction(x);
    switch (draw(0, 10)) {
      case 0:
        return builder_.add("Layout", {x}, {{"layout", layout(shape(x))}});
      case 1: {
        std::vector<Expr> perm;
        for (size_t d : permutation(rank))
          perm.push_back(static_cast<int64_t>(d));
        return builder_.add("Transpose", {x}, {{"perm", perm}});
      }
      case 2:
        return slice(x);
      case 3:
        return pad(x);
      case 4:
        return builder_.add("Concat", {x, drawFrom(values_)}, {{"axis", axis(x)}});
      case 5: {  // a convolution without groups, a weight of its own
        Shape w{Expr(draw(1, 2)), rank > 1 ? shape(x)[1] : Dim(1)};
        std::vector<Expr> pads;
        for (size_t d = 2; d < rank; ++d)
          w.push_back(drawFrom<Expr>({1, 2, s("H")}));
        for (size_t d = 4; d < 2 * rank; ++d)
          pads.push_back(draw(0, 2));
        std::vector<Expr> strides(rank > 2 ? rank - 2 : 0, Expr(draw(1, 2)));
        return builder_.add("Conv", {x, addInput(w, true)}, {{"pads", pads}, {"strides", strides}});
      }
      case 6:
        return builder_.add("MatMul", {x, addInput({shape(x).back(), Expr(2)}, true)});
      case 7:
        return builder_.add(drawFrom<std::string>({"Add", "Sub"}), {x, drawFrom(values_)});
      case 8:
        return builder_.add("Mul", {x, drawFrom(values_)});
      case 9:
        return builder_.add("IndexMap", {x}, {{"map", indexMap(shape(x))}});
      default:
        return builder_.add("ReduceSum", {x}, {{"axes", std::vector<Expr>{axis(x)}}, {"keepdims", Expr(draw(0, 1))}});
    }
  }

  Expected<Value> addPartial(Value x) {
    switch (draw(0, 2)) {
      case 0:
        return builder_.add("Div", {drawFrom(values_), x});
      case 1:
        return builder_.add("Reciprocal", {x});
      default:
        return builder_.add("Sqrt", {x});
    }
  }

  Expected<Value> addFunction(Value x) {
    std::vector<Expr> one{axis(x)};
    switch (draw(0, 7)) {
      case 0:
        return builder_.add("Clip", {x}, {{"min", -2.0}, {"max", 3.0}});
      case 1:
        return pool("MaxPool", x, {});
      case 2:
        return pool("AveragePool", x, {{"count_include_pad", Expr(draw(0, 1))}});
      case 3:
        return builder_.add(drawFrom<std::string>({"ReduceMax", "ReduceMean"}), {x},
                            {{"axes", one}, {"keepdims", Expr(draw(0, 1))}});
      case 4:
        return builder_.add("Softmax", {x}, {{"axis", one[0]}});
      case 5:
        return builder_.add("Where", {drawFrom(values_), x, drawFrom(values_)});
      default:
        return builder_.add(drawFrom<std::string>({"Relu", "Relu", "Sigmoid", "Exp", "Square", "Tanh", "Not"}), {x});
    }
  }

  Expected<Value> pool(std::string_view op, Value x, Attributes attributes) {
    size_t spatial = shape(x).size() - std::min<size_t>(shape(x).size(), 2);
    int64_t kernel = draw(1, 3);
    std::vector<Expr> pads;
    for (size_t d = 0; d < 2 * spatial; ++d)
      pads.push_back(draw(0, kernel - 1));
    attributes.emplace("kernel_shape", std::vector<Expr>(spatial, kernel));
    attributes.emplace("strides", std::vector<Expr>(spatial, draw(1, 2)));
    attributes.emplace("pads", pads);
    return builder_.add(op, {x}, std::move(attributes));
  }

  Expr axis(Value x) const { return draw(0, static_cast<int64_t>(shape(x).size()) - 1); }

  static std::vector<size_t> permutation(size_t n) {
    std::vector<size_t> p;
    for (size_t i = 0; i < n; ++i)
      p.insert(p.begin() + static_cast<std::ptrdiff_t>(draw(0, static_cast<int64_t>(i))), i);
    return p;
  }

  Expected<Value> slice(Value x) {
    Expr a = axis(x);
    const Dim& d = shape(x)[static_cast<size_t>(a.constant())];
    Expr end = d.isAffine() ? d.affine() - draw(0, 2) : Expr(0);
    return builder_.add("Slice", {x},
                        {{"axes", std::vector<Expr>{a}},
                         {"starts", std::vector<Expr>{draw(0, 2)}},
                         {"ends", std::vector<Expr>{end}},
                         {"steps", std::vector<Expr>{draw(1, 2)}}});
  }

  Expected<Value> pad(Value x) {
    std::vector<Expr> pads;
    for (size_t d = 0; d < 2 * shape(x).size(); ++d)
      pads.push_back(drawFrom<Expr>({0, 0, 0, 1, 2, -1, s("H") - 1}));
    return builder_.add("Pad", {x}, {{"pads", pads}, {"mode", drawFrom<std::string>({"constant", "reflect", "edge"})}});
  }

  /// Splits every dimension into its atoms, and an even one into two axes; regroups all axes in any order.
  LayoutSpec layout(const Shape& shape) {
    LayoutSpec spec;
    auto axis = [&](const Dim& extent) {
      spec.left.back().push_back(static_cast<int>(spec.axes.size()));
      spec.axes.push_back({fmt::format("a{}", spec.axes.size()), extent});
    };
    for (const Dim& d : shape) {
      spec.left.emplace_back();
      auto half = divideByInner(d, 2);
      bool inner = half && draw(0, 1) == 0, outer = half && !inner && draw(0, 1) == 0;
      if (outer) axis(2);
      for (const Expr& atom : (inner || outer ? *half : d).atoms())
        axis(atom);
      if (inner) axis(2);
    }
    for (size_t a : permutation(spec.axes.size())) {
      if (spec.right.empty() || draw(0, 1) == 0) spec.right.emplace_back();
      spec.right.back().push_back(static_cast<int>(a));
    }
    return spec;
  }

  /// Reversed along some dimensions, repeated along others.
  IndexMapSpec indexMap(const Shape& shape) {
    IndexMapSpec map;
    for (const Dim& d : shape) {
      map.source.emplace_back();
      map.dims.emplace_back();
      for (const Expr& atom : d.atoms()) {
        std::string name = fmt::format("i{}_{}", map.dims.size(), map.dims.back().size());
        Expr i = Expr::variable(name);
        int64_t kind = d.isAffine() ? draw(0, 3) : 0;
        map.dims.back().push_back({name, kind == 1 ? Dim(atom * 2) : Dim(atom)});
        map.source.back().push_back(kind == 1 ? floorDiv(i, 2) : kind == 2 ? atom - 1 - i : kind == 3 ? i * 2 - 1 : i);
      }
    }
    if (draw(0, 2) == 0) map.guards.push_back(Constraint::le(1, Expr::variable(map.dims[0][0].name)));
    return map;
  }

  Vocabulary vocabulary_;
  Bindings symbols_;
  ProgramBuilder builder_;
  std::vector<Value> values_;
  int inputs_ = 0;
};

/// All symbols as they were drawn, but for one that varies (if any does).
inline ShapeClass classAround(const Bindings& symbols, const std::string& varying) {
  ShapeClass shapes;
  for (const auto& [name, value] : symbols) {
    Expr s = Expr::variable(name);
    shapes.symbols.push_back(name);
    if (name == varying) {
      shapes.constraints.push_back(Constraint::le(1, s));
      shapes.constraints.push_back(Constraint::le(s, 4));
    } else {
      shapes.constraints.push_back(Constraint::eq(s, value));
    }
  }
  return shapes;
}

inline rc::Gen<ProgramAtShape> randomProgram(int operators, Vocabulary vocabulary = Vocabulary::kSums) {
  return rc::gen::exec([=] { return ProgramSource(vocabulary).program(operators); });
}

}  // namespace pet::testing_support
