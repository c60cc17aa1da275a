// Random pairs of programs: what the prover says never contradicts evaluation.

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ir/evaluate.h"
#include "ir/text.h"
#include "synth/prove/pairing.h"
#include "synth/prove/prove.h"
#include "tests/unit/access_check.h"
#include "tests/unit/least_share.h"
#include "tests/unit/random_programs.h"

namespace pet::prove_property_test {
namespace {

using testing_support::classAround;
using testing_support::draw;
using testing_support::drawFrom;
using testing_support::ProgramAtShape;
using testing_support::randomProgram;
using testing_support::randomTensor;
using testing_support::Vocabulary;

/// The same program over inputs that are moved, and moved back where they are read.
std::optional<Program> moved(const Program& p) {
  ProgramBuilder b;
  std::map<Value, Value> now;
  for (size_t i = 0; i < p.nodes().size(); ++i) {
    const Node& n = p.nodes()[i];
    std::vector<Value> operands;
    for (Value v : n.operands)
      operands.push_back(now.at(v));
    Expected<Value> value = Value{};
    if (n.op->name == "Input") {
      std::vector<Expr> perm;
      for (size_t d = n.shapes[0].size(); d-- > 0;)
        perm.push_back(static_cast<int64_t>(d));
      value = b.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1));
      for (int times = 0; value && times < 2; ++times)
        value = b.add("Transpose", {*value}, {{"perm", perm}});
    } else {
      value = b.add(*n.op, operands, n.attributes, n.names);
    }
    if (!value) return std::nullopt;
    now[{static_cast<int>(i), 0}] = *value;
  }
  return std::move(b).finish({now.at(p.outputs()[0])});
}

/// The same function in other words: something and its inverse behind the output.
std::optional<Program> reworded(const Program& p) {
  Value y = p.outputs()[0];
  const Shape& shape = p.shape(y);
  ProgramBuilder b(p);
  std::vector<Expr> reversed, zeros(2 * shape.size(), 0);
  for (size_t d = shape.size(); d-- > 0;)
    reversed.push_back(static_cast<int64_t>(d));
  auto twice = [&](std::string_view op, const Attributes& attributes) -> Expected<Value> {
    auto once = b.add(op, {y}, attributes);
    return once ? b.add(op, {*once}, attributes) : once;
  };
  Expected<Value> z = y;
  auto axis = static_cast<size_t>(draw(0, static_cast<int64_t>(shape.size()) - 1));
  switch (draw(0, 3)) {
    case 0:
      z = twice("Neg", {});
      break;
    case 3:
      return moved(p);
    case 1:
      z = twice("Transpose", {{"perm", reversed}});
      break;
    default: {
      if (!shape[axis].isAffine()) return std::nullopt;
      std::vector<Expr> pads = zeros;
      pads[axis] = 1;
      auto padded = b.add("Pad", {y}, {{"pads", pads}});
      pads[axis] = -1;
      z = padded ? b.add("Pad", {*padded}, {{"pads", pads}}) : padded;
    }
  }
  if (!z) return std::nullopt;
  return std::move(b).finish({*z});
}

/// One number of the statements is another one, or one grows and another one shrinks.
std::optional<Program> damaged(const Program& p) {
  std::string text = print(p);
  std::vector<size_t> places;
  for (size_t i = text.find(" = "); i < text.size(); ++i) {
    bool isNumber = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (isNumber && std::string_view(" [=").find(text[i - 1]) != std::string_view::npos) places.push_back(i);
  }
  if (places.empty()) return std::nullopt;
  if (draw(0, 1) == 0) {
    text[drawFrom(places)] = static_cast<char>('0' + draw(0, 3));
  } else {
    ++text[drawFrom(places)];
    --text[drawFrom(places)];
  }
  auto parsed = parseProgram(text, "damaged");
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

/// Another program with the pattern's output shape: reworded, damaged, or both.
Program candidateOf(const Program& pattern) {
  bool rewords = draw(0, 3) == 0, damages = !rewords || draw(0, 1) == 0;
  Program start = rewords ? reworded(pattern).value_or(pattern) : pattern;
  for (int attempt = 0; damages && attempt < 40; ++attempt) {
    auto candidate = damaged(start);
    if (!candidate || print(*candidate) == print(start)) continue;
    if (candidate->shape(candidate->outputs()[0]) == pattern.shape(pattern.outputs()[0])) return *candidate;
  }
  return start;
}

bool obligationsHold(const ShapeClass& shapes, const Program& pattern, const Program& candidate) {
  poly::Context context(shapes);
  return !failedObligation(context, pattern) && !failedObligation(context, candidate);
}

std::vector<Bindings> membersOf(const ShapeClass& shapes, Bindings at) {
  std::vector<Bindings> members;
  for (auto& symbol : at) {
    int64_t& value = symbol.second;
    int64_t drawn = value;
    for (value = 1; value <= 4; ++value) {
      if (shapes.contains(at) && std::find(members.begin(), members.end(), at) == members.end()) members.push_back(at);
    }
    value = drawn;
  }
  return members;
}

/// The positions at which a verdict allows a difference, at one shape.
class Allowed {
 public:
  Allowed(const poly::Context& context, const Equality& verdict, const Shape& output, const Bindings& symbols)
      : extents_(testing_support::atomExtents(output, symbols)), at_(symbols) {
    for (size_t i = 0; i < extents_.size(); ++i)
      names_.push_back("v" + std::to_string(i));
    if (const auto* outside = std::get_if<ProvedOutside>(&verdict)) {
      bad_ = outside->bad.constraints(names_, context.set(names_, {}));
    }
  }

  bool contains(int64_t offset) {
    for (size_t i = extents_.size(); i-- > 0;) {
      at_[names_[i]] = offset % extents_[i];
      offset /= extents_[i];
    }
    auto holds = [&](const Constraint& c) { return c.evaluate(at_).value(); };
    return std::any_of(bad_.begin(), bad_.end(),
                       [&](const auto& all) { return std::all_of(all.begin(), all.end(), holds); });
  }

 private:
  Extents extents_;
  Bindings at_;
  std::vector<std::string> names_;
  std::vector<poly::Conjunction> bad_;
};

template <class T>
bool isComputedOver(const Program& p) {
  return std::all_of(p.nodes().begin(), p.nodes().end(),
                     [](const Node& n) { return n.op->name == "Input" || n.op->kernels.get<T>() != nullptr; });
}

template <class T>
Tensor<T> randomValues(const Extents& extents, std::mt19937_64& random) {
  if constexpr (std::is_same_v<T, Fp>) return randomTensor(extents, random);
  Tensor<T> t(extents);
  for (T& e : t.data)
    e = T(static_cast<int64_t>(random() % 9) - 4) / 2;
  return t;
}

/// Doubles are equal up to rounding; where the pattern has no number there is nothing to compare.
template <class T>
bool areEqual(T want, T got) {
  if constexpr (std::is_same_v<T, Fp>) {
    return want == got;
  } else {
    return !std::isfinite(want) || std::abs(want - got) <= 1e-9 * (1 + std::abs(want));
  }
}

template <class T>
Tensor<T> valueOf(const Program& p, const Bindings& symbols, const std::map<std::string, Tensor<T>>& inputs) {
  auto results = evaluate<T>(p, symbols, inputs);
  if (!results) RC_FAIL(results.error().message());
  return results->front();
}

template <class T>
void expectAllowed(const poly::Context& context,
                   const Equality& verdict,
                   const Program& pattern,
                   const Program& candidate,
                   const Bindings& symbols,
                   std::mt19937_64& random) {
  std::map<std::string, Tensor<T>> inputs;
  for (Value v : pattern.inputs())
    inputs[pattern.name(v)] = randomValues<T>(evaluate(pattern.shape(v), symbols).value(), random);
  Tensor<T> want = valueOf(pattern, symbols, inputs), got = valueOf(candidate, symbols, inputs);
  Allowed allowed(context, verdict, pattern.shape(pattern.outputs()[0]), symbols);
  RC_ASSERT(want.extents == got.extents);
  for (size_t i = 0; i < want.data.size(); ++i) {
    bool fine = areEqual(want.data[i], got.data[i]) || allowed.contains(static_cast<int64_t>(i));
    if (!fine) RC_LOG() << "differ at " << i;
    RC_ASSERT(fine);
  }
}

struct Decided {
  static constexpr int kLeastPercent = 80;
  static constexpr const char* kWhat = "are proved, everywhere or outside boxes";
};
using ProveProperty = testing_support::LeastShare<Decided>;

RC_GTEST_FIXTURE_PROP(ProveProperty, VerdictsAgreeWithEvaluation, ()) {
  bool functions = draw(0, 1) == 1;
  ProgramAtShape p = *randomProgram(functions ? 4 : 3, functions ? Vocabulary::kFunctions : Vocabulary::kSums);
  const Program& pattern = p.program;
  Program candidate = candidateOf(pattern);
  RC_LOG() << print(pattern) << "\n" << print(candidate);
  ShapeClass shapes = classAround(p.symbols, drawFrom<std::string>({"N", "C", "H", "W"}));
  if (!obligationsHold(shapes, pattern, candidate)) shapes = classAround(p.symbols, "");
  bool sound = obligationsHold(shapes, pattern, candidate);
  RC_CLASSIFY(!sound, "an obligation does not hold");
  if (!sound) return;

  poly::Context context(shapes, 1'000'000);
  Equality verdict = proveEqual(context, pattern, candidate);
  count(!std::holds_alternative<Unknown>(verdict));
  std::string kind = functions ? "functions: " : "";
  RC_CLASSIFY(std::holds_alternative<Proved>(verdict), kind + "proved");
  RC_CLASSIFY(std::holds_alternative<ProvedOutside>(verdict), kind + "outside");
  if (const auto* unknown = std::get_if<Unknown>(&verdict)) {
    RC_CLASSIFY(true, kind + "unknown: " + unknown->reason);
    return;
  }
  std::mt19937_64 random(static_cast<uint64_t>(draw(0, 1000)));
  bool exact = isComputedOver<Fp>(pattern) && isComputedOver<Fp>(candidate);
  for (const Bindings& symbols : membersOf(shapes, p.symbols)) {
    if (exact) {
      expectAllowed<Fp>(context, verdict, pattern, candidate, symbols, random);
    } else {
      expectAllowed<double>(context, verdict, pattern, candidate, symbols, random);
    }
  }
}

// By axis groups or as wholes: where there is an answer by groups, it is the answer.
struct Grouped {
  static constexpr int kLeastPercent = 20;
  static constexpr const char* kWhat = "are compared by axis groups";
};
using GroupsProperty = testing_support::LeastShare<Grouped>;

RC_GTEST_FIXTURE_PROP(GroupsProperty, AgreesWithWholePieces, ()) {
  ProgramAtShape p = *randomProgram(3);
  Program candidate = candidateOf(p.program);
  RC_LOG() << print(p.program) << "\n" << print(candidate);
  ShapeClass shapes = classAround(p.symbols, drawFrom<std::string>({"N", "C", "H", "W"}));
  NameSource names;
  auto a = denote(p.program, p.program.outputs()[0], names), b = denote(candidate, candidate.outputs()[0], names);
  constexpr size_t kWhole = 64;  // pairs of pieces, from which on the matcher looks for groups itself
  if (!a || !b || a->pieces.size() * b->pieces.size() >= kWhole) return;
  poly::Context context(shapes);
  auto grouped = bijectionByGroups(context, *a, *b);
  count(grouped.has_value());
  if (!grouped) return;
  auto whole = Matcher(context, *a, *b, {}).compareOutputs();
  RC_CLASSIFY(whole && !whole->isEmpty(), "groups, bad somewhere");
  RC_ASSERT(whole && whole->isSubset(grouped->bad) && grouped->bad.isSubset(*whole));
}

}  // namespace
}  // namespace pet::prove_property_test
