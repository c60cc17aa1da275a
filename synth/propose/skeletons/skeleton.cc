#include "synth/propose/skeletons/skeleton.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/join.h"
#include "synth/analysis/depth.h"
#include "synth/propose/skeletons/arrange.h"

namespace pet {
namespace {

/// What is added behind the operator: one number per channel, or one per position.
enum class Bias { kNone, kChannel, kPosition };

/// What a rule does, in a word, where the arrangement does not say it.
std::string familyOf(const Arrangement& a, const LinearOperator& op) {
  if (!a.family.empty()) return a.family;
  const std::string &behind = a.behind.name, &before = a.operands[0].name;
  if (behind == "split") return op.name.find("-g") == std::string::npos ? "merged-siblings" : "grouped-siblings";
  if (behind == "d2s") return "sub-pixel";
  if (before == "concat") return "joined-inputs";
  if (!behind.empty() || before.find('(') != std::string::npos) return "exchanged";
  return op.name.starts_with("convtranspose") ? "kernel-between-pixels" : "fused-weights";
}

class Enumerator {
 public:
  Enumerator(const PatternFacts& facts, int size) : facts_(facts), size_(size) {}

  std::vector<SkeletonVariants> run(const std::vector<Arrangement>& arrangements) {
    for (const Arrangement& a : arrangements) {
      for (const auto& operators : operatorsFor(a)) {
        if (!isPattern(a, operators[0])) keep(a, operators);
      }
    }
    auto byName = [](const SkeletonVariants& a, const SkeletonVariants& b) { return a[0].name < b[0].name; };
    std::sort(skeletons_.begin(), skeletons_.end(), byName);
    return std::move(skeletons_);
  }

 private:
  /// One operator for each operand, all of one name.
  std::vector<std::vector<LinearOperator>> operatorsFor(const Arrangement& a) {
    std::vector<std::vector<LinearOperator>> result;
    for (const LinearOperator& only : a.operators)
      result.emplace_back(a.operands.size(), only);
    if (!result.empty()) return result;
    for (LinearOperator& first : linearOperators(facts_, a.operands[0].shape, a.behind.wanted[0], nextSymbol_)) {
      if (a.operands.size() > 1 && first.name == "scale") continue;
      result.push_back({std::move(first)});
    }
    for (size_t i = 1; i < a.operands.size(); ++i) {
      const auto operators = linearOperators(facts_, a.operands[i].shape, a.behind.wanted[i], nextSymbol_);
      std::erase_if(result, [&](std::vector<LinearOperator>& own) {
        auto same = [&](const LinearOperator& f) { return f.name == own[0].name; };
        auto it = std::find_if(operators.begin(), operators.end(), same);
        if (it == operators.end()) return true;
        own.push_back(*it);
        return false;
      });
    }
    return result;
  }

  /// The operator is the pattern's own, where it stands: it would get its own weights.
  bool isPattern(const Arrangement& a, const LinearOperator& op) const {
    const Node& n = facts_.root();
    return a.behind.name.empty() && a.operands[0].own && !n.operands.empty() && n.operands[0] == *a.operands[0].own &&
           op.name == linearName(n);
  }

  void keep(const Arrangement& a, const std::vector<LinearOperator>& operators) {
    SkeletonVariants result;
    for (Bias bias : {Bias::kNone, Bias::kChannel, Bias::kPosition}) {
      auto s = build(a, operators, bias);
      if (s && operatorsOf(s->program) <= size_) result.push_back(std::move(*s));
    }
    if (!result.empty()) skeletons_.push_back(std::move(result));
  }

  std::optional<Skeleton> build(const Arrangement& a, const std::vector<LinearOperator>& operators, Bias bias) const {
    Skeleton s{nameOf(a, operators[0], bias), familyOf(a, operators[0]), {}, {}};
    ProgramBuilder b;
    for (Value v : facts_.program.inputs())
      b.input(facts_.program.name(v), facts_.program.shape(v), isConstant(facts_.program, v));
    std::vector<Value> values;
    for (size_t i = 0; i < operators.size(); ++i) {
      Value hole = addHole(b, s, operators[i].hole, operators[i].taps);
      auto x = a.operands[i].make(b);
      auto y = x ? operators[i].make(b, *x, hole) : x;
      if (!y) return std::nullopt;
      values.push_back(*y);
    }
    size_t biased = bias == Bias::kNone ? 0 : a.behind.joins ? values.size() : 1;
    for (size_t i = 0; i < biased; ++i) {
      auto shape = biasShape(b.shape(values[i]), bias);
      if (!shape) return std::nullopt;
      auto sum = b.add("Add", {values[i], addHole(b, s, *shape, {})});
      if (!sum) return std::nullopt;
      values[i] = *sum;
    }
    auto outputs = a.behind.make(b, values);
    if (!outputs) return std::nullopt;
    for (size_t o = 0; o < outputs->size(); ++o) {
      if (b.shape((*outputs)[o]) != facts_.output(o)) return std::nullopt;
    }
    s.program = std::move(b).finish(std::move(*outputs)).withoutDeadNodes();
    return s;
  }

  static Value addHole(ProgramBuilder& b, Skeleton& s, const Shape& shape, std::vector<HoleTaps> taps) {
    s.holes.push_back({fmt::format("hole'{}", s.holes.size()), std::move(taps)});
    return b.input(s.holes.back().name, shape, true);
  }

  static std::optional<Shape> biasShape(const Shape& y, Bias bias) {
    if (!isImage(y)) return bias == Bias::kChannel ? std::optional(Shape{y[channelAxis(y)]}) : std::nullopt;
    if (bias == Bias::kPosition) return Shape(y.begin() + 1, y.end());
    Shape shape(y.size() - 1, Dim(1));
    shape[0] = y[1];
    return shape;
  }

  static std::string nameOf(const Arrangement& a, const LinearOperator& op, Bias bias) {
    std::string name = a.name;
    if (name.empty()) name = joined(a.operands, ":", [](const Operand& o) { return o.name; });
    name = fmt::format("{}({}){}", op.name, name, bias == Bias::kNone ? "" : bias == Bias::kChannel ? "+bias" : "+map");
    return a.behind.name.empty() ? name : fmt::format("{}({})", a.behind.name, name);
  }

  const PatternFacts& facts_;
  int size_;
  int nextSymbol_ = 0;
  std::vector<SkeletonVariants> skeletons_;
};

std::vector<Arrangement> arrangementsOf(const PatternFacts& facts) {
  std::vector<Arrangement> result;
  const auto operands = operandsBefore(facts);
  for (const Behind& behind : endingsOf(facts)) {
    for (const Operand& o : operands)
      result.push_back({"", {o}, behind});
  }
  for (auto make : {sumsOverInputs, unequalGroups, phasesOf, framesOf, imagesOfRows, flippedKernels,
                    productsFromTheLeft, columnsOf}) {
    for (Arrangement& a : make(facts))
      result.push_back(std::move(a));
  }
  return result;
}

}  // namespace

Expected<std::vector<SkeletonSpace>> enumerateSkeletons(const Pattern& pattern, int size) {
  std::vector<SkeletonSpace> spaces;
  auto add = [&](Specialisation special, const auto& arrangements) -> Expected<void> {
    auto part = linearPart(special.pattern);
    if (!part) return tl::unexpected(part.error());
    PatternFacts facts(part->pattern);
    auto skeletons = Enumerator(facts, size).run(arrangements(facts));
    spaces.push_back({std::move(special), std::move(*part), std::move(skeletons)});
    return {};
  };
  if (auto ok = add({{}, pattern}, arrangementsOf); !ok) return tl::unexpected(ok.error());
  for (Pieces& p : kernelsInPieces(pattern)) {
    auto pieces = [&](const PatternFacts& facts) { return sumOfPieces(facts, p); };
    if (auto ok = add(std::move(p.special), pieces); !ok) return tl::unexpected(ok.error());
  }
  return spaces;
}

}  // namespace pet
