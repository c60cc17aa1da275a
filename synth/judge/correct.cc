#include "synth/judge/correct.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/denote.h"
#include "synth/analysis/axes.h"
#include "synth/analysis/typical_shape.h"
#include "synth/judge/strips.h"

namespace pet {
namespace {

/// Builds the candidate with its strips recomputed. What holds at the typical shape alone becomes a condition of the
/// class.
class Corrector {
 public:
  Corrector(const poly::Context& context, const Uncorrected& candidate, const MainOperator& source, WriteBack where)
      : candidate_(candidate),
        main_(candidate.main.value_or(candidate.program.outputs()[0])),
        source_(source),
        cover_(context, candidate, source, where),
        shapes_(candidate.shapes) {}

  Corrected run(const poly::Set& bad) {
    auto strips = cover_.of(bad);
    for (const Strip& strip : strips) {
      for (const Constraint& c : strip.when)
        shapes_.require(c);
    }
    Program replacement = build(strips);
    Corrected result{shapes_, std::move(replacement), boxes_};
    for (const Constraint& c : obligations(result.replacement)) {
      if (c.decided() == false) stop("an extent of the correction is never positive");
      result.shapes.require(c);
    }
    return result;
  }

 private:
  Program build(const std::vector<Strip>& strips) {
    ProgramBuilder b;
    std::map<Value, Value> renamed;
    for (size_t i = 0; i < candidate_.program.nodes().size(); ++i) {
      const Node& n = candidate_.program.nodes()[i];
      const int node = static_cast<int>(i);
      if (n.is(ops::kInput)) {
        renamed[{node, 0}] = b.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1));
        continue;
      }
      std::vector<Value> operands;
      for (Value v : n.operands)
        operands.push_back(renamed.at(v));
      const Value first = copied(b, n, std::move(operands));
      for (int o = 0; o < static_cast<int>(n.shapes.size()); ++o)
        renamed[{node, o}] = {first.node, o};
      if (main_.node == node) renamed[main_] = writeBack(b, renamed[main_], strips, true);
    }
    Value y = renamed.at(candidate_.program.outputs()[0]);
    y = writeBack(b, y, strips, false);
    Program program = std::move(b).finish({y}).withoutDeadNodes();
    if (!program.find(candidate_.program.name(main_))) stop("the corrections recompute everything");
    return program;
  }

  Value add(ProgramBuilder& b,
            std::string_view op,
            std::vector<Value> operands,
            Attributes attributes,
            std::string name = "") {
    if (name.empty()) name = fmt::format("c{}", ++names_);
    auto v = b.add(op, std::move(operands), std::move(attributes), std::move(name));
    if (!v) stop(v.error().what);
    return *v;
  }

  Value slice(ProgramBuilder& b, Value v, size_t dim, const Expr& lower, const Expr& upper, int64_t step = 1) {
    if (lower == Expr(0) && step == 1 && Dim(upper) == b.shape(v)[dim]) return v;
    Attributes a{{"axes", std::vector<Expr>{static_cast<int64_t>(dim)}},
                 {"starts", std::vector<Expr>{lower}},
                 {"ends", std::vector<Expr>{upper}}};
    if (step != 1) a.emplace("steps", std::vector<Expr>{step});
    return add(b, "Slice", {v}, a);
  }

  /// Replaces the strips of one coordinate system, dimension by dimension: Concat of what stays and what is recomputed.
  Value writeBack(ProgramBuilder& b, Value v, const std::vector<Strip>& strips, bool beforeLayout) {
    for (size_t dim = 0; dim < b.shape(v).size(); ++dim) {
      std::vector<Strip> here;
      for (const Strip& s : strips) {
        if (s.dim == dim && s.beforeLayout == beforeLayout) here.push_back(s);
      }
      if (here.empty()) continue;
      sortAndMerge(here);
      Expr extent = b.shape(v)[dim].affine();
      if (!beforeLayout && near(0, here.front().lower)) here.front().lower = 0;
      if (!beforeLayout && near(here.back().upper, extent)) here.back().upper = extent;
      std::vector<Value> parts;
      Expr done = 0;
      for (const Strip& s : here) {
        if (!(s.lower == done)) parts.push_back(slice(b, v, dim, done, s.lower));
        parts.push_back(recompute(b, s, b.shape(v)));
        done = s.upper;
      }
      if (!(done == extent)) parts.push_back(slice(b, v, dim, done, extent));
      v = add(b, "Concat", parts, {{"axis", Expr(static_cast<int64_t>(dim))}});
    }
    return v;
  }

  /// What lies between is not worth a slice of its own: after the layout it is recomputed as well.
  bool near(const Expr& upper, const Expr& lower) const {
    return *lower.evaluate(cover_.typical()) - *upper.evaluate(cover_.typical()) <= 1;
  }

  /// In their order at the typical shape, which becomes a condition where the class does not imply it.
  void sortAndMerge(std::vector<Strip>& strips) {
    std::sort(strips.begin(), strips.end(), [&](const Strip& a, const Strip& b) {
      return *a.lower.evaluate(cover_.typical()) < *b.lower.evaluate(cover_.typical());
    });
    std::vector<Strip> merged;
    for (const Strip& s : strips) {
      if (merged.empty()) {
        merged.push_back(s);
        continue;
      }
      Strip& last = merged.back();
      if (firstHolds(Constraint::le(last.upper, s.lower), Constraint::le(s.lower, last.upper))) {
        if (s.beforeLayout || !near(last.upper, s.lower)) {
          merged.push_back(s);
          continue;
        }
      } else if (!firstHolds(Constraint::le(last.lower, s.lower), Constraint::le(s.lower, last.lower))) {
        last.lower = s.lower;
      }
      if (firstHolds(Constraint::le(last.upper, s.upper), Constraint::le(s.upper, last.upper))) last.upper = s.upper;
    }
    strips = merged;
  }

  Value recompute(ProgramBuilder& b, const Strip& s, const Shape& shape) {
    auto [box, when] = cover_.boxOf(s);
    for (const Constraint& c : when)
      shapes_.require(c);
    boxes_.push_back(box);
    Value v = patternOn(b, box);
    const Shape& got = b.shape(v);
    for (size_t d = 0; d < shape.size(); ++d) {
      Dim want = d == s.dim ? Dim(s.upper - s.lower) : shape[d];
      if (got.size() != shape.size() || got[d] != want) {
        stop(fmt::format("a correction of shape {} does not fit its strip", str(got)));
      }
    }
    return v;
  }

  // --- The pattern's operator on the part of the input that a box reads ---

  struct WindowSlice {
    Expr begin, end, padBegin, padEnd;
    int64_t step = 1, stride = 1, dilation = 1;
  };

  /// Which of two inequalities that cover all shapes holds: over the class, else at the typical shape, to which the
  /// class is then restricted.
  bool firstHolds(const Constraint& first, const Constraint& second) {
    poly::Context context(shapes_);
    if (context.implies(first)) return true;
    if (context.implies(second)) return false;
    bool typically = first.evaluate(cover_.typical()) == true;
    shapes_.require(typically ? first : second);
    return typically;
  }

  WindowSlice windowSlice(const Axis& axis, const BoxRange& range) {
    int64_t sv = -axis.relation.coefficient("v"), sr = -axis.relation.coefficient("r");
    if (axis.relation.coefficient("x") != 1 || sv < 1 || sr < 0)
      stop("corrections for this operator's windows are not derived");
    sr = std::max<int64_t>(sr, 1);
    Expr offset = -axis.relation.substitute({{"v", 0}, {"x", 0}, {"r", 0}});
    Expr first = range.lower * sv + offset;  // x at the box's first output and the first tap
    Expr count = ceilDiv(range.upper - range.lower, range.step);
    WindowSlice s;
    s.step = range.step == 1 ? 1 : std::gcd(sv * range.step, sr);
    s.stride = sv * range.step / s.step;
    s.dilation = sr / s.step;
    Expr span = (count - 1) * s.stride + (axis.taps - 1) * s.dilation + 1;  // positions read, in steps
    if (firstHolds(Constraint::le(first, 0), Constraint::le(0, first))) {
      s.padBegin = ceilDiv(-first, s.step);
      s.begin = first + s.padBegin * s.step;
    } else {
      s.begin = first;
    }
    Expr last = first + (span - 1) * s.step + 1;  // one behind the last position read
    if (firstHolds(Constraint::le(axis.inExtent, last), Constraint::le(last, axis.inExtent))) {
      s.end = axis.inExtent;
      s.padEnd = span - s.padBegin - ceilDiv(s.end - s.begin, s.step);
    } else {
      s.end = last;
    }
    return s;
  }

  Value patternOn(ProgramBuilder& b, const Box& box) {
    const Program& p = source_.program;
    Value x = *b.peek().find(p.name(source_.x));
    const Node& op = p.node(source_.y);
    Attributes attributes = op.attributes;
    for (const Axis& axis : source_.axes) {
      if (axis.out.dim < 0) continue;
      const BoxRange& range = box.ranges[static_cast<size_t>(axis.out.dim)];
      bool whole = range.lower == Expr(0) && range.step == 1 && range.upper == axis.outExtent;
      if (whole) continue;
      auto dim = static_cast<size_t>(axis.in.dim);
      if (axis.kind == Axis::Kind::kEqual) {
        x = slice(b, x, dim, range.lower, range.upper, range.step);
      } else if (axis.kind == Axis::Kind::kWindow) {
        WindowSlice s = windowSlice(axis, range);
        x = slice(b, x, dim, s.begin, s.end, s.step);
        auto set = [&](std::string_view name, size_t i, const Expr& value) {
          std::get<std::vector<Expr>>(attributes.find(name)->second)[i] = value;
        };
        size_t spatial = p.shape(source_.x).size() - 2;
        set("strides", dim - 2, s.stride);
        set("dilations", dim - 2, s.dilation);
        set("pads", dim - 2, s.padBegin);
        set("pads", dim - 2 + spatial, s.padEnd);
      } else {
        stop("a strip along channels");
      }
    }
    return add(b, op.op->name, {x, *b.peek().find(p.name(source_.w))}, attributes);
  }

  const Uncorrected& candidate_;
  const Value main_;
  const MainOperator& source_;
  StripCover cover_;
  ShapeClass shapes_;
  std::vector<Box> boxes_;
  int names_ = 0;
};

}  // namespace

namespace {

tl::expected<Corrected, std::string> withStrips(const poly::Context& context,
                                                const Uncorrected& candidate,
                                                const MainOperator& source,
                                                const poly::Set& bad,
                                                WriteBack where) {
  try {
    return Corrector(context, candidate, source, where).run(bad);
  } catch (const NoCover& n) {
    return tl::unexpected(n.why);
  } catch (const poly::BudgetExceeded& e) {
    return tl::unexpected(std::string(e.what()));
  }
}

/// The product is computed by one operator, which can be asked for a part of its output.
bool isOneNode(const MainOperator& op) {
  return op.program.node(op.y).operands == std::vector{op.x, op.w};
}

/// The parts of a class outside the conjunction, as far as each is one constraint more.
std::vector<ShapeClass> outside(const ShapeClass& shapes, const poly::Conjunction& condition) {
  std::vector<ShapeClass> result;
  for (const Constraint& c : condition) {
    if (c.kind == Constraint::Kind::kZero) continue;
    result.push_back(shapes);
    result.back().require(Constraint::lt(c.expr, 0));
  }
  return result;
}

}  // namespace

std::vector<Correction> corrections(const poly::Context& context,
                                    const PatternInstance& source,
                                    const Uncorrected& candidate,
                                    const poly::Set& bad) {
  std::vector<Correction> all;
  if (source.main && isOneNode(*source.main)) {
    std::vector<WriteBack> places{WriteBack::kAfterLayout};
    if (candidate.main) places.insert(places.begin(), WriteBack::kBeforeLayout);
    for (WriteBack where : places)
      all.push_back([&, where] { return withStrips(context, candidate, *source.main, bad, where); });
  }
  if (auto condition = bad.symbolCondition()) {
    for (ShapeClass& part : outside(candidate.shapes, *condition)) {
      if (holdsUsualShape(source.program, candidate.shapes, part))
        all.push_back([&, part = std::move(part)] { return Corrected{part, candidate.program, {}}; });
    }
  }
  return all;
}

}  // namespace pet
