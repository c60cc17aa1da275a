#include "synth/graph/skeleton.h"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "ir/ops/digits.h"
#include "synth/enumerate/plan.h"
#include "synth/graph/linear_part.h"
#include "synth/shapes.h"

namespace pet {
namespace {

/// What is added behind the operator: one number per channel, or one per position.
enum class Bias { kNone, kChannel, kPosition };

/// A value that is added to a program under construction.
using Make = std::function<Expected<Value>(ProgramBuilder&)>;

/// What may stand before a hole.
struct Operand {
  std::string name;
  Shape shape;
  Make make;
  std::optional<Value> own;  ///< the pattern's value that it is
};

/// What may stand behind holes: the pattern's outputs from values of these shapes.
struct Behind {
  std::string name;
  std::vector<Shape> wanted;
  std::function<Expected<std::vector<Value>>(ProgramBuilder&, const std::vector<Value>&)> make;
};

/// An operator with an open weight between an operand and a wanted shape.
struct Linear {
  std::string name;
  std::vector<std::pair<Shape, std::vector<HoleTaps>>> holes;
  /// From the operand and the holes.
  std::function<Expected<Value>(ProgramBuilder&, Value, const std::vector<Value>&)> make;
};

bool isImage(const Shape& s) {
  return s.size() >= 3;
}

/// Where channels are: dimension 1 of N C H W, the last one of a matrix.
size_t channelAxis(const Shape& s) {
  return isImage(s) ? 1 : s.size() - 1;
}

/// Equal but for the channels.
bool alike(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d) {
    if (d != channelAxis(a) && a[d] != b[d]) return false;
  }
  return true;
}

/// The sum of the channels; nullopt where that is no dimension.
std::optional<Dim> joinedChannels(const std::vector<Shape>& shapes) {
  Expr sum = 0;
  for (const Shape& s : shapes) {
    const Dim& d = s[channelAxis(s)];
    if (!alike(s, shapes[0]) || !d.isAffine()) return std::nullopt;
    sum += d.affine();
  }
  return Dim(sum);
}

/// What a rule does, in a word.
std::string familyOf(const Behind& behind, const Operand& before, const Linear& form) {
  if (behind.name == "split") return form.name.find("-g") == std::string::npos ? "merged-siblings" : "grouped-siblings";
  if (behind.name == "sum") return "split-inputs";
  if (behind.name == "d2s") return "sub-pixel";
  if (before.name == "concat") return "joined-inputs";
  if (!behind.name.empty() || before.name.find('(') != std::string::npos) return "exchanged";
  return form.name.starts_with("convtranspose") ? "kernel-between-pixels" : "fused-weights";
}

/// Extents at which a window's steps are compared with what it steps over.
constexpr int64_t kTypicalExtent = 64;
/// Positions at the borders, at most.
constexpr int64_t kMostBorder = 16;

class Enumerator {
 public:
  Enumerator(const Pattern& pattern, int depth) : program_(pattern.program), depth_(depth) {
    if (auto shape = typicalShape(poly::Context(pattern.shapes), program_, kTypicalExtent)) typical_ = *shape;
    collectAttributes();
  }

  std::vector<SkeletonForms> run() {
    std::vector<Operand> operands = before();
    for (const Behind& b : behind()) {
      if (b.wanted.size() == 1) {
        for (const Operand& o : operands) {
          for (const Linear& l : linear(o.shape, b.wanted[0])) {
            if (!isPattern(b, o, l)) keep(b, {&o}, {&l});
          }
        }
        continue;
      }
      siblings(b, operands);
    }
    auto byName = [](const SkeletonForms& a, const SkeletonForms& b) { return a[0].name < b[0].name; };
    std::sort(skeletons_.begin(), skeletons_.end(), byName);
    return std::move(skeletons_);
  }

 private:
  /// The operator is the pattern's own, where it stands: it would get its own weights.
  bool isPattern(const Behind& behind, const Operand& operand, const Linear& form) const {
    if (!behind.name.empty() || !operand.own) return false;
    const Node& n = program_.node(program_.outputs()[0]);
    return !n.operands.empty() && n.operands[0] == *operand.own && form.name == nameOf(n);
  }

  /// The name that a pattern's operator has as a form.
  static std::string nameOf(const Node& n) {
    if (n.op->name == "MatMul") return "matmul";
    if (n.op->name != "Conv" && n.op->name != "ConvTranspose") return "";
    auto first = [&](const char* list) { return n.list(list)[0].asConstant().value_or(0); };
    return windowName(n.op->name == "ConvTranspose", first("strides"), first("dilations"), n.scalar("group"));
  }
  static std::string windowName(bool transposed, int64_t stride, int64_t dilation, const Expr& group) {
    std::string name = transposed ? "convtranspose" : "conv";
    if (stride > 1) name += fmt::format("-s{}", stride);
    if (dilation > 1) name += fmt::format("-d{}", dilation);
    if (group != Expr(1)) name += fmt::format("-g{}", group.str());
    return name;
  }

  // --- What the pattern is made of ---

  void collectAttributes() {
    for (const Node& n : program_.nodes()) {
      for (const auto& [name, into] : {std::pair{"strides", &strides_}, {"dilations", &dilations_}}) {
        auto it = n.attributes.find(name);
        if (it == n.attributes.end()) continue;
        const auto& list = std::get<std::vector<Expr>>(it->second);
        // Operators in a row multiply their strides.
        std::set<int64_t> products = *into;
        for (int64_t v : *into) {
          auto c = list.empty() ? std::nullopt : list[0].asConstant();
          if (c && v * *c <= 8) products.insert(v * *c);
        }
        *into = std::move(products);
      }
      if (n.op->name == "ConvTranspose" || n.op->name == "Resize") upsamples_ = true;
      auto group = n.attributes.find("group");
      if (group != n.attributes.end()) groups_.insert(std::get<Expr>(group->second));
    }
    std::set<Value> read(program_.outputs().begin(), program_.outputs().end());
    for (const Node& n : program_.nodes())
      read.insert(n.operands.begin(), n.operands.end());
    for (Value v : program_.inputs()) {
      if (!isConstant(program_, v) && read.contains(v)) activations_.push_back(v);
    }
    if (activations_.size() > 1) groups_.insert(static_cast<int64_t>(activations_.size()));
  }

  /// An operator without weights, linear in one activation and with one output.
  bool isWeightless(const Node& n) const {
    return n.operands.size() == 1 && n.names.size() == 1 && n.op->meaning == Meaning::kSum && n.op->access &&
           !n.op->facts.elementwise && !isConstant(program_, n.operands[0]);
  }

  // --- Before ---

  std::vector<Operand> before() const {
    std::vector<Operand> result;
    for (Value v : activations_)
      result.push_back(input(v));
    if (activations_.size() > 1) {
      if (auto o = concat()) result.push_back(std::move(*o));
    }
    // The pattern's own operators, on whatever has the shape of their operand but for the channels.
    for (size_t from = 0, rounds = 0; from < result.size() && rounds < 2; ++rounds) {
      size_t to = result.size();
      for (; from < to; ++from) {
        for (const Node& n : program_.nodes()) {
          if (!isWeightless(n) || !alike(program_.shape(n.operands[0]), result[from].shape)) continue;
          if (auto o = applied(n, result[from])) result.push_back(std::move(*o));
        }
      }
    }
    return result;
  }

  Operand input(Value v) const {
    std::string name = program_.name(v);
    return {name, program_.shape(v), [name](ProgramBuilder& b) -> Expected<Value> { return *b.peek().find(name); }, v};
  }

  std::optional<Operand> concat() const {
    std::vector<Shape> shapes;
    for (Value v : activations_)
      shapes.push_back(program_.shape(v));
    auto channels = joinedChannels(shapes);
    if (!channels) return std::nullopt;
    Shape shape = shapes[0];
    auto axis = channelAxis(shape);
    shape[axis] = *channels;
    auto values = activations_;
    const Program& p = program_;
    return Operand{"concat", shape, [&p, values, axis](ProgramBuilder& b) {
                     std::vector<Value> parts;
                     for (Value v : values)
                       parts.push_back(*b.peek().find(p.name(v)));
                     return b.add("Concat", std::move(parts), {{"axis", Expr(static_cast<int64_t>(axis))}});
                   }, {}};
  }

  std::optional<Operand> applied(const Node& n, const Operand& to) const {
    Attributes attributes = onOperand(*n.op, n.attributes, to.shape);
    ProgramBuilder probe;
    auto shaped = probe.add(*n.op, {probe.input("x", to.shape)}, attributes);
    if (!shaped) return std::nullopt;
    auto make = [op = n.op, attributes, inner = to.make](ProgramBuilder& b) -> Expected<Value> {
      auto x = inner(b);
      if (!x) return x;
      return b.add(*op, {*x}, attributes);
    };
    std::optional<Value> own;
    if (to.own == n.operands[0]) own = Value{static_cast<int>(&n - program_.nodes().data()), 0};
    return Operand{fmt::format("{}({})", n.op->name, to.name), probe.shape(*shaped), std::move(make), own};
  }

  // --- Behind ---

  const Shape& output(size_t o) const { return program_.shape(program_.outputs()[o]); }

  std::vector<Behind> behind() const {
    std::vector<Behind> result;
    if (program_.outputs().size() > 1) {
      if (auto b = split()) result.push_back(std::move(*b));
      return result;
    }
    result.push_back({"", {output(0)}, [](ProgramBuilder&, const std::vector<Value>& v) -> Expected<std::vector<Value>> {
                        return v;
                      }});
    if (auto b = last()) result.push_back(std::move(*b));
    if (auto b = depthToSpace()) result.push_back(std::move(*b));
    if (activations_.size() > 1) result.push_back(sum(activations_.size()));
    return result;
  }

  std::optional<Behind> split() const {
    std::vector<Shape> shapes;
    std::vector<Expr> parts;
    for (size_t o = 0; o < program_.outputs().size(); ++o)
      shapes.push_back(output(o));
    auto channels = joinedChannels(shapes);
    if (!channels) return std::nullopt;
    auto axis = channelAxis(shapes[0]);
    for (const Shape& s : shapes)
      parts.push_back(s[axis].affine());
    Shape wanted = shapes[0];
    wanted[axis] = *channels;
    return Behind{"split", {wanted}, [axis, parts](ProgramBuilder& b, const std::vector<Value>& v) -> Expected<std::vector<Value>> {
                    auto s = b.add("Split", {v[0]}, {{"axis", Expr(static_cast<int64_t>(axis))}, {"split", parts}});
                    if (!s) return tl::unexpected(s.error());
                    std::vector<Value> outputs;
                    for (size_t i = 0; i < parts.size(); ++i)
                      outputs.push_back({s->node, static_cast<int>(i)});
                    return outputs;
                  }};
  }

  /// The pattern's last operator, if it has no weights and keeps the channels.
  std::optional<Behind> last() const {
    const Node& n = program_.node(program_.outputs()[0]);
    if (n.op->name == "Input" || !isWeightless(n)) return std::nullopt;
    const Shape& inside = program_.shape(n.operands[0]);
    if (inside.size() != output(0).size() || inside[channelAxis(inside)] != output(0)[channelAxis(inside)])
      return std::nullopt;  // it is no operator of each channel by itself
    return Behind{std::string(n.op->name), {inside},
                  [op = n.op, attributes = n.attributes](ProgramBuilder& b, const std::vector<Value>& v) {
                    return one(b.add(*op, {v[0]}, attributes));
                  }};
  }

  /// Blocks of two positions come as channels; what is too much at the end is cut off.
  std::optional<Behind> depthToSpace() const {
    const Shape& y = output(0);
    if (!upsamples_ || y.size() != 4 || !y[1].isAffine() || !y[2].isAffine() || !y[3].isAffine()) return std::nullopt;
    Shape wanted{y[0], Dim(y[1].affine() * 4), Dim(ceilDiv(y[2].affine(), 2)), Dim(ceilDiv(y[3].affine(), 2))};
    return Behind{"d2s", {wanted}, [y](ProgramBuilder& b, const std::vector<Value>& v) -> Expected<std::vector<Value>> {
                    auto u = b.add("DepthToSpace", {v[0]}, {{"blocksize", Expr(2)}});
                    if (!u || b.shape(*u) == y) return one(u);
                    return one(b.add("Slice", {*u},
                                     {{"axes", std::vector<Expr>{2, 3}},
                                      {"starts", std::vector<Expr>{0, 0}},
                                      {"ends", std::vector<Expr>{y[2].affine(), y[3].affine()}}}));
                  }};
  }

  Behind sum(size_t n) const {
    return {"sum", std::vector<Shape>(n, output(0)), [](ProgramBuilder& b, const std::vector<Value>& v) {
              Expected<Value> total = v[0];
              for (size_t i = 1; i < v.size() && total; ++i)
                total = b.add("Add", {*total, v[i]});
              return one(total);
            }};
  }

  static Expected<std::vector<Value>> one(const Expected<Value>& v) {
    if (!v) return tl::unexpected(v.error());
    return std::vector<Value>{*v};
  }

  // --- The operator with the hole ---

  std::vector<Linear> linear(const Shape& x, const Shape& y) const {
    std::vector<Linear> result;
    if (x == y && isImage(x)) result.push_back(scale(x));
    if (x.size() != y.size() || x.size() < 2) return result;
    if (isImage(x) && std::all_of(x.begin() + 2, x.end(), [](const Dim& d) { return d.isAffine(); }) &&
        std::all_of(y.begin() + 2, y.end(), [](const Dim& d) { return d.isAffine(); }) && x[0] == y[0]) {
      for (const Expr& group : groups_) {
        for (int64_t dilation : dilations_) {
          for (int64_t stride : strides_) {
            if (auto l = window("Conv", x, y, group, stride, dilation)) result.push_back(std::move(*l));
          }
          if (auto l = window("ConvTranspose", x, y, group, 2, dilation); l && upsamples_)
            result.push_back(std::move(*l));
        }
      }
    }
    if (isImage(x) && x[0] == y[0] && std::equal(x.begin() + 2, x.end(), y.begin() + 2))
      result.push_back(pointwise(x, y));
    if (x.size() != 4 && std::equal(x.begin(), x.end() - 1, y.begin())) result.push_back(matmul(x, y));
    return result;
  }

  Linear scale(const Shape& x) const {
    Shape hole(x.size() - 1, Dim(1));
    hole[0] = x[1];
    return {"scale", {{hole, {}}}, [](ProgramBuilder& b, Value v, const std::vector<Value>& holes) {
              return b.add("Mul", {v, holes[0]});
            }};
  }

  /// A Conv with one tap: where several operators slide, a window's taps may not be determined.
  Linear pointwise(const Shape& x, const Shape& y) const {
    Shape hole(x.size(), Dim(1));
    hole[0] = y[1];
    hole[1] = x[1];
    return {"pointwise", {{hole, {}}}, [](ProgramBuilder& b, Value v, const std::vector<Value>& holes) {
              return b.add("Conv", {v, holes[0]});
            }};
  }

  Linear matmul(const Shape& x, const Shape& y) const {
    return {"matmul", {{Shape{x.back(), y.back()}, {}}}, [](ProgramBuilder& b, Value v, const std::vector<Value>& holes) {
              return b.add("MatMul", {v, holes[0]});
            }};
  }

  /// `stride` steps for each position of y lead over x, at usual shapes.
  bool covers(const Shape& x, const Shape& y, int64_t stride) const {
    for (size_t d = 2; d < x.size(); ++d) {
      auto over = x[d].evaluate(typical_), steps = y[d].evaluate(typical_);
      if (!over || !steps || std::abs(*over - *steps * stride) > kMostBorder) return false;
    }
    return true;
  }

  /// Pads at the end are such that the output has the extents that are wanted.
  std::optional<Linear> window(std::string op, const Shape& x, const Shape& y, const Expr& group, int64_t stride,
                               int64_t dilation) const {
    bool transposed = op == "ConvTranspose";
    if (!(transposed ? covers(y, x, stride) : covers(x, y, stride))) return std::nullopt;
    const Dim &in = x[1], &out = y[1];
    auto inner = divideByOuter(transposed ? out : in, group);
    if (!inner || !divideByOuter(transposed ? in : out, group)) return std::nullopt;
    Shape hole{transposed ? in : out, *inner};
    std::vector<HoleTaps> taps;
    std::vector<Expr> begins, ends;
    for (size_t d = 2; d < x.size(); ++d) {
      HoleTaps t{static_cast<int>(d), fmt::format("begin'{}", holes_), fmt::format("taps'{}", holes_), dilation};
      ++holes_;
      Expr reach = (Expr::variable(t.extent) - 1) * dilation, begin = Expr::variable(t.begin);
      const Expr &n = x[d].affine(), &v = y[d].affine();
      hole.emplace_back(Expr::variable(t.extent));
      begins.push_back(begin);
      ends.push_back(transposed ? (n - 1) * stride + reach + 1 - begin - v : (v - 1) * stride + reach + 1 - n - begin);
      taps.push_back(std::move(t));
    }
    begins.insert(begins.end(), ends.begin(), ends.end());
    Attributes attributes{{"strides", std::vector<Expr>(x.size() - 2, stride)},
                          {"dilations", std::vector<Expr>(x.size() - 2, dilation)},
                          {"pads", begins},
                          {"group", group}};
    return Linear{windowName(transposed, stride, dilation, group), {{hole, taps}},
                  [op, attributes](ProgramBuilder& b, Value v, const std::vector<Value>& holes) {
                    return b.add(op, {v, holes[0]}, attributes);
                  }};
  }

  // --- Put together ---

  /// The sum of one operator for each activation, each on an operand made of that one alone.
  void siblings(const Behind& b, const std::vector<Operand>& operands) {
    std::vector<const Operand*> own;
    std::vector<Linear> forms;
    for (size_t i = 0; i < b.wanted.size(); ++i) {
      const Operand& o = operands[i];  // the inputs come first
      auto all = linear(o.shape, b.wanted[i]);
      auto it = std::find_if(all.begin(), all.end(), [](const Linear& l) { return l.name != "scale"; });
      if (it == all.end()) return;
      own.push_back(&o);
      forms.push_back(std::move(*it));
    }
    std::vector<const Linear*> chosen;
    for (const Linear& l : forms)
      chosen.push_back(&l);
    keep(b, own, chosen);
  }

  void keep(const Behind& behind, const std::vector<const Operand*>& operands, const std::vector<const Linear*>& forms) {
    SkeletonForms result;
    for (Bias bias : {Bias::kNone, Bias::kChannel, Bias::kPosition}) {
      if (auto s = build(behind, operands, forms, bias)) result.push_back(std::move(*s));
    }
    if (!result.empty()) skeletons_.push_back(std::move(result));
  }

  std::optional<Skeleton> build(const Behind& behind, const std::vector<const Operand*>& operands, const std::vector<const Linear*>& forms, Bias bias) {
    Skeleton s;
    std::string inside;
    ProgramBuilder b;
    for (Value v : program_.inputs())
      b.input(program_.name(v), program_.shape(v), isConstant(program_, v));
    std::vector<Value> values;
    for (size_t i = 0; i < operands.size(); ++i) {
      inside += fmt::format("{}{}({})", inside.empty() ? "" : ",", forms[i]->name, operands[i]->name);
      std::vector<Value> holes;
      for (const auto& [shape, taps] : forms[i]->holes) {
        s.holes.push_back({fmt::format("hole'{}", s.holes.size()), taps});
        holes.push_back(b.input(s.holes.back().name, shape, true));
      }
      auto x = operands[i]->make(b);
      if (!x) return std::nullopt;
      auto y = forms[i]->make(b, *x, holes);
      if (!y) return std::nullopt;
      values.push_back(*y);
    }
    if (bias != Bias::kNone) {
      const Shape& y = b.shape(values[0]);
      if (bias == Bias::kPosition && !isImage(y)) return std::nullopt;
      inside += bias == Bias::kChannel ? "+bias" : "+map";
      Shape shape{y[channelAxis(y)]};
      if (bias == Bias::kPosition) shape.assign(y.begin() + 1, y.end());
      if (bias == Bias::kChannel && isImage(y)) shape.resize(y.size() - 1, Dim(1));
      s.holes.push_back({fmt::format("hole'{}", s.holes.size()), {}});
      auto sum = b.add("Add", {values[0], b.input(s.holes.back().name, shape, true)});
      if (!sum) return std::nullopt;
      values[0] = *sum;
    }
    auto outputs = behind.make(b, values);
    if (!outputs) return std::nullopt;
    for (size_t o = 0; o < outputs->size(); ++o) {
      if (b.shape((*outputs)[o]) != output(o)) return std::nullopt;
    }
    s.name = behind.name.empty() ? inside : fmt::format("{}({})", behind.name, inside);
    s.family = familyOf(behind, *operands[0], *forms[0]);
    s.program = std::move(b).finish(std::move(*outputs)).withoutDeadNodes();
    if (depthOf(s.program) > depth_) return std::nullopt;
    return s;
  }

  const Program& program_;
  int depth_;
  Bindings typical_;
  std::set<int64_t> strides_{1}, dilations_{1};
  std::set<Expr> groups_{Expr(1)};
  bool upsamples_ = false;
  std::vector<Value> activations_;
  mutable int holes_ = 0;
  std::vector<SkeletonForms> skeletons_;
};

}  // namespace

std::vector<SkeletonForms> enumerateSkeletons(const Pattern& pattern, int depth) {
  return Enumerator(pattern, depth).run();
}

}  // namespace pet
