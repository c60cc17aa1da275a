// Random claims about programs with partial functions, cancelling pairs, masks and zero weights: wherever the pattern
// has a value and the verdict says equal, the candidate has one, and it is the same. The judge goes element by element.

#include <iostream>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "ir/text.h"
#include "rules/check/check.h"
#include "synth/judge/decide.h"
#include "tests/unit/definedness.h"
#include "tests/unit/random_programs.h"

namespace pet::definedness_property_test {
namespace {

using testing_support::DefinednessEvaluator;
using testing_support::draw;
using testing_support::drawFrom;
using testing_support::PartialTensor;
using testing_support::ProgramAtShape;

struct Claim {
  Program pattern, candidate;
};

/// Builds both sides of a claim over one random program.
class ClaimSource {
 public:
  explicit ClaimSource(const Program& base) : base_(base), y_(base.outputs()[0]) {
    for (size_t n = 0; n < base.nodes().size(); ++n) {
      if (base.nodes()[n].shapes[0] == base.shape(y_)) alike_.push_back({static_cast<int>(n), 0});
    }
  }

  std::optional<Claim> draw() {
    Expected<Program> a = base_, b = base_;
    Value t = drawFrom(alike_), u = drawFrom(alike_);
    auto f = drawFrom<std::string>({"Sqrt", "Reciprocal", "Exp", "Square"});
    switch (testing_support::draw(0, 4)) {
      case 0:  // y and y + f(t) - f(t)
        b = write([&](ProgramBuilder& p) {
          return add(p, "Sub", {add(p, "Add", {y_, add(p, f, {t})}), add(p, f, {t})});
        });
        break;
      case 1: {  // a choice as itself and as a sum of products with masks
        a = write([&](ProgramBuilder& p) { return add(p, "Where", {u, y_, add(p, f, {t})}); });
        b = write([&](ProgramBuilder& p) {
          auto no = add(p, "Not", {u}), yes = add(p, "Not", {no});
          return add(p, "Add", {add(p, "Mul", {yes, y_}), add(p, "Mul", {no, add(p, f, {t})})});
        });
        break;
      }
      case 2:  // a weight of zero
        b = write([&](ProgramBuilder& p) {
          auto zero = add(p, "Sub", {u, u});
          return add(p, "Add", {y_, add(p, "Mul", {add(p, f, {t}), zero})});
        });
        break;
      case 3:  // the same along both orders
        a = write([&](ProgramBuilder& p) { return add(p, "Mul", {add(p, f, {t}), y_}); });
        b = write([&](ProgramBuilder& p) { return add(p, "Mul", {y_, add(p, f, {t})}); });
        break;
      default: {  // a function before and behind a transposition
        std::vector<Expr> reversed;
        for (size_t d = base_.shape(y_).size(); d-- > 0;)
          reversed.push_back(static_cast<int64_t>(d));
        a = write([&](ProgramBuilder& p) { return add(p, f, {add(p, "Transpose", {t}, {{"perm", reversed}})}); });
        b = write([&](ProgramBuilder& p) { return add(p, "Transpose", {add(p, f, {t})}, {{"perm", reversed}}); });
      }
    }
    if (!a || !b) return std::nullopt;
    if (testing_support::draw(0, 1) == 0) std::swap(*a, *b);
    return Claim{std::move(*a), std::move(*b)};
  }

 private:
  const Program& base_;
  Value y_;
  std::vector<Value> alike_;
  bool failed_ = false;

  Value add(ProgramBuilder& p, std::string_view op, std::vector<Value> operands, Attributes attributes = {}) {
    auto added = p.add(op, std::move(operands), std::move(attributes));
    failed_ = failed_ || !added;
    return added ? *added : y_;
  }

  template <class F>
  Expected<Program> write(F f) {
    failed_ = false;
    ProgramBuilder p(base_);
    Value v = f(p);
    if (failed_) return fail(ErrorKind::kText, "the operands do not fit");
    return std::move(p).finish({v});
  }
};

std::map<std::string, Tensor<double>> drawInputs(const Program& program,
                                                 const Bindings& symbols,
                                                 std::mt19937_64& random) {
  std::map<std::string, Tensor<double>> inputs;
  for (Value v : program.inputs()) {
    Tensor<double> x(evaluate(program.shape(v), symbols).value());
    for (double& e : x.data)
      e = static_cast<double>(static_cast<int64_t>(random() % 7) - 3) / 2;
    inputs.emplace(program.name(v), std::move(x));
  }
  return inputs;
}

/// The boxes of what is proved outside boxes; all positions otherwise count as claimed.
bool isClaimed(const poly::Set& bad,
               const std::vector<std::string>& names,
               const std::vector<int64_t>& position,
               const poly::Context& context,
               const Bindings& symbols) {
  poly::Conjunction here;
  for (size_t i = 0; i < names.size(); ++i)
    here.push_back(Constraint::eq(Expr::variable(names[i]), position[i]));
  return bad.intersect(context.set(names, here)).at(symbols).isEmpty();
}

void expectNoContradiction(const Claim& claim, const ShapeClass& shapes, const Bindings& symbols, const Equality& e) {
  poly::Context context(shapes);
  const Shape& output = claim.pattern.shape(claim.pattern.outputs()[0]);
  Extents extents = testing_support::atomExtents(output, symbols);
  std::vector<std::string> names;
  for (size_t i = 0; i < extents.size(); ++i)
    names.push_back("v" + std::to_string(i));
  const auto* outside = std::get_if<ProvedOutside>(&e);
  std::mt19937_64 random(static_cast<uint64_t>(draw(0, 1000)));
  for (int times = 0; times < 3; ++times) {
    auto inputs = drawInputs(claim.pattern, symbols, random);
    DefinednessEvaluator judge(claim.pattern, symbols, true), other(claim.candidate, symbols, false);
    PartialTensor want = judge.run(inputs), got = other.run(inputs);
    double noise = 1e-9 * std::max(judge.largest(), other.largest());
    testing_support::eachPosition(extents, [&](const std::vector<int64_t>& position, size_t i) {
      if (!want.defined[i] || !std::isfinite(want.values.data[i])) return true;
      bool right = got.defined[i] && std::abs(got.values.data[i] - want.values.data[i]) <= noise;
      if (right || (outside && !isClaimed(outside->bad, names, position, context, symbols))) return true;
      RC_LOG() << "at " << str(Extents(position)) << (got.defined[i] ? ": values differ" : ": no value");
      RC_FAIL("a verdict that is wrong");
      return false;
    });
  }
}

struct Tally {
  int asked = 0, proved = 0, undefined = 0;
};

bool obligationsHold(const ShapeClass& shapes, const Claim& claim) {
  poly::Context context(shapes);
  return !failedObligation(context, claim.pattern) && !failedObligation(context, claim.candidate);
}

/// The record holds for the checker, too.
void expectRecord(const Claim& claim, const ShapeClass& shapes, const Proved& proved) {
  Pattern pattern{"p", shapes, claim.pattern};
  Rule rule;
  rule.name = "r";
  rule.pattern = "p";
  rule.shapes = shapes;
  rule.mutant = rule.replacement = claim.candidate;
  rule.proofs = proved.proofs;
  rule.numerics = {.kind = Numerics::Kind::kUnbounded, .kappa = 1, .spreadsNan = true};  // not what is asked here
  CheckReport report = checkRule(pattern, rule);
  RC_LOG() << report.reason();
  RC_ASSERT(report.proved());
}

void oneClaim(Tally& tally) {
  ProgramAtShape p = *testing_support::randomProgram(3, testing_support::Vocabulary::kPartial);
  auto claim = ClaimSource(p.program).draw();
  if (!claim) return;
  RC_LOG() << print(claim->pattern) << "\n" << print(claim->candidate);
  ShapeClass shapes = testing_support::classAround(p.symbols, drawFrom<std::string>({"N", "C", "H", "W"}));
  if (!obligationsHold(shapes, *claim)) shapes = testing_support::classAround(p.symbols, "");
  if (!obligationsHold(shapes, *claim)) return;
  ++tally.asked;
  Equality verdict = proveEqual(poly::Context(shapes, 1'000'000), claim->pattern, claim->candidate);
  if (const auto* unknown = std::get_if<Unknown>(&verdict)) {
    tally.undefined += unknown->reason.find("may have no value") != std::string::npos;
    return;
  }
  expectNoContradiction(*claim, shapes, p.symbols, verdict);
  const auto* proved = std::get_if<Proved>(&verdict);
  if (!proved) return;
  ++tally.proved;
  if (draw(0, 9) == 0) expectRecord(*claim, shapes, *proved);
}

TEST(DefinednessProperty, VerdictsAgreeWithEvaluation) {
  Tally tally;
  bool holds = rc::check("no verdict contradicts evaluation", [&] {
    for (int i = 0; i < 10; ++i)  // RapidCheck's 100 cases are 1,000 claims
      oneClaim(tally);
  });
  EXPECT_TRUE(holds);
  std::cout << fmt::format("{} claims: {} proved, {} unknown for want of a value\n", tally.asked, tally.proved,
                           tally.undefined);
  EXPECT_GE(tally.asked, 500);
  EXPECT_GE(tally.proved, tally.asked / 3);
  EXPECT_GE(tally.undefined, tally.asked / 20);
}

}  // namespace
}  // namespace pet::definedness_property_test
