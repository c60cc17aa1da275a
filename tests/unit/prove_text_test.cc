// tests/prove/*/*.pet, one case a file: a pattern, a rule without a proof, and the verdict in the file's head:
//
//   # expect: proved
//   # expect: outside [0:2M:2, 0:F, 0:H, W - Q:W]        one line per box; together exactly the set of positions
//   # expect: outside z: [0:N, 0:F]                      the same, of one of several outputs
//   # expect: unknown a monomial occurs more than once   a part of the reason
//   # expect: obligation 2Q <= W                         the class does not imply it
//   # expect: refuted y[0, 0] = -1 in the pattern        a part of the witness; what the prover says does not matter
//   # expect: error 12:5: MatMul of [N, C] and [D, F]    a part of the reader's message
//   # numerics: conditioned 4, spreads NaN               of what is proved: what is derived from the programs
//
// What is proved is proved again from its record by rules/check, and no verdict may contradict evaluation. decide(),
// which also evaluates, says the same or refutes; each of its witnesses is evaluated again.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "rules/check/check.h"
#include "rules/exhaustive.h"
#include "rules/text.h"
#include "synth/judge/decide.h"
#include "synth/numerics/numerics.h"
#include "synth/prove/boxes.h"
#include "tests/unit/prove_cases.h"
#include "tests/unit/text_file.h"

namespace pet::prove_text_test {
namespace {

using ::testing::HasSubstr;
using testing_support::textOf;

struct Expectation {
  std::string verdict;             ///< the first word
  std::vector<std::string> lines;  ///< what follows it, on each line that starts so
};

Expectation expectationOf(const std::string& text) {
  Expectation e;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::string start = "# expect: ";
    if (line.rfind(start, 0) != 0) continue;
    size_t space = line.find(' ', start.size());
    std::string verdict = line.substr(start.size(), space - start.size());
    EXPECT_TRUE(e.verdict.empty() || e.verdict == verdict) << "two verdicts";
    e.verdict = verdict;
    if (space != std::string::npos) e.lines.push_back(line.substr(space + 1));
  }
  return e;
}

/// The positions of a box over the digits v0, v1, …
poly::Conjunction positionsOf(const Box& box) {
  poly::Conjunction all;
  for (size_t d = 0; d < box.ranges.size(); ++d) {
    const BoxRange& r = box.ranges[d];
    Expr v = Expr::variable("v" + std::to_string(d));
    all.push_back(Constraint::le(r.lower, v));
    all.push_back(Constraint::lt(v, r.upper));
    all.push_back(Constraint::eq(modulo(v - r.lower, r.step), 0));
  }
  return all;
}

/// Reads "[0:N, 1:W:2]" as the reader of rules does.
Box boxOf(const std::string& text) {
  auto set = parseRules("pattern p {\n shape\n y = Constant() value=0\n}\nrule r of p {\n box " + text +
                            "\n replacement { y = Constant() value=0 }\n}",
                        text);
  EXPECT_TRUE(set) << (set ? "" : set.error().message());
  return set ? set->rules[0].boxes[0] : Box();
}

std::string describe(const Equality& e) {
  if (const auto* unknown = std::get_if<Unknown>(&e)) return "unknown " + unknown->reason;
  if (const auto* outside = std::get_if<ProvedOutside>(&e)) return "outside " + outside->bad.str();
  return "proved";
}

void expectBoxes(
    const poly::Context& context, const ProvedOutside& outside, const Shape& output, Rule& rule, const Expectation& e) {
  size_t digits = wholeOf(output).ranges.size();
  std::vector<std::string> variables;
  for (size_t d = 0; d < digits; ++d)
    variables.push_back("v" + std::to_string(d));
  poly::Set expected = context.emptySet(static_cast<int>(digits));
  for (const std::string& line : e.lines) {
    rule.boxes.push_back(boxOf(line));
    ASSERT_EQ(rule.boxes.back().ranges.size(), digits) << line;
    expected = expected.unite(context.set(variables, positionsOf(rule.boxes.back())));
  }
  EXPECT_TRUE(expected.isSubset(outside.bad)) << "more than is wrong: " << outside.bad.str();
  EXPECT_TRUE(outside.bad.isSubset(expected)) << "less than is wrong: " << outside.bad.str();
  std::vector<Box> boxes = boxesOf(context, outside.bad, output);
  poly::Set derived = positionsOf(context, boxes, output);
  EXPECT_TRUE(derived.isSubset(expected) && expected.isSubset(derived)) << "derived boxes: " << derived.str();
  EXPECT_LE(boxes.size(), e.lines.size()) << "more boxes than there need be";
}

Program onlyOutput(const Program& program, size_t output) {
  return ProgramBuilder(program).finish({program.outputs()[output]}).withoutDeadNodes();
}

/// "[0:N]" of "y: [0:N]".
std::string withoutName(const std::string& line, const std::string& output) {
  EXPECT_EQ(line.rfind(output + ": ", 0), 0U) << line;
  return line.substr(output.size() + 2);
}

/// What the head says of the numerics; empty if nothing.
std::string numericsIn(const std::string& text) {
  const std::string start = "# numerics: ";
  size_t at = text.find(start);
  return at == std::string::npos ? "" : text.substr(at + start.size(), text.find('\n', at) - at - start.size());
}

/// The record proves the rule without isl and survives its text form; so do its numerics.
void expectRecord(const Pattern& pattern, Rule rule, const std::vector<Proof>& proofs, const Numerics& numerics) {
  rule.proofs = proofs;
  rule.numerics = numerics;
  CheckReport report = checkRule(pattern, rule);
  EXPECT_TRUE(report.proved()) << report.reason();
  auto again = parseRules(print(pattern) + print(rule), "again");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(print(again->rules[0]), print(rule));
  EXPECT_EQ(again->rules[0].proofs, proofs);
}

/// The programs differ at the witness, which is a member of the class.
void expectWitness(const Program& source, const Rule& rule, const Witness& w) {
  EXPECT_TRUE(rule.shapes.contains(w.symbols)) << shapeText(w.symbols);
  std::map<std::string, Tensor<double>> inputs;
  for (const auto& [name, x] : w.inputs)
    inputs.emplace(name, Tensor<double>(x.extents, {x.data.begin(), x.data.end()}));
  for (Value v : source.inputs()) {  // where extents differ, any values do
    inputs.emplace(source.name(v), Tensor<double>(evaluate(source.shape(v), w.symbols).value()));
  }
  auto a = evaluate<double>(source, w.symbols, inputs), b = evaluate<double>(rule.replacement, w.symbols, inputs);
  ASSERT_TRUE(a && b);
  size_t o = 0;
  while (o + 1 < source.outputs().size() && source.name(source.outputs()[o]) != w.output)
    ++o;
  EXPECT_EQ(source.name(source.outputs()[o]), w.output);
  EXPECT_EQ((*a)[o].extents, w.patternExtents);
  EXPECT_EQ((*b)[o].extents, w.candidateExtents);
  if (w.patternExtents != w.candidateExtents) return;
  int64_t at = 0;
  for (size_t d = 0; d < w.position.size(); ++d)
    at = at * w.patternExtents[d] + w.position[d];
  EXPECT_GT(std::abs((*a)[o].data[static_cast<size_t>(at)] - (*b)[o].data[static_cast<size_t>(at)]), 1e-6);
}

/// decide() agrees with what the prover is expected to say.
void expectDecision(const Pattern& pattern, const Program& source, const Rule& rule, const Expectation& e) {
  Decision decision = decide(pattern, rule);
  std::string text = verdictOf(decision) + "\n" + explain(decision);
  bool proves = e.verdict == "proved";
  EXPECT_EQ(std::holds_alternative<Proved>(decision), proves) << text;
  if (e.verdict == "obligation") {
    ASSERT_TRUE(std::holds_alternative<Violated>(decision)) << text;
    const auto& v = std::get<Violated>(decision);
    EXPECT_EQ(v.obligation.str(), e.lines[0]);
    ASSERT_TRUE(v.member);
    EXPECT_TRUE(rule.shapes.contains(*v.member) && v.obligation.evaluate(*v.member) == false) << text;
  }
  if (e.verdict == "refuted") {
    ASSERT_TRUE(std::holds_alternative<Refuted>(decision)) << text;
    for (const std::string& line : e.lines)
      EXPECT_THAT(text, HasSubstr(line));
  }
  if (const auto* r = std::get_if<Refuted>(&decision)) expectWitness(source, rule, r->witness);
  const auto* outside = std::get_if<ProvedOutsideBoxes>(&decision);
  if (outside && outside->witness) expectWitness(source, rule, *outside->witness);
}

class ProveText : public ::testing::TestWithParam<std::string> {};

TEST_P(ProveText, HasItsVerdict) {
  std::string text = textOf(GetParam());
  Expectation expected = expectationOf(text);
  ASSERT_TRUE(expected.verdict == "proved" || !expected.lines.empty()) << "the head says no more than a verdict";
  auto set = parseRules(text, "");
  if (expected.verdict == "error") {
    ASSERT_FALSE(set);
    EXPECT_THAT(set.error().message(), HasSubstr(expected.lines[0]));
    return;
  }
  ASSERT_TRUE(set) << set.error().message();
  ASSERT_EQ(set->rules.size(), 1U);
  Rule& rule = set->rules[0];
  Pattern pattern = *set->findPattern(rule.pattern);
  auto source = instantiate(pattern, rule);
  ASSERT_TRUE(source) << source.error().message();

  expectDecision(pattern, *source, rule, expected);
  if (expected.verdict == "refuted") return;

  poly::Context context(rule.shapes, 4'000'000);
  ASSERT_FALSE(context.set({}, {}).isEmpty()) << "the class is empty";
  auto failed = failedObligation(context, rule.replacement);
  if (!failed) failed = failedObligation(context, *source);
  if (expected.verdict == "obligation") {
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->str(), expected.lines[0]);
    return;
  }
  EXPECT_FALSE(failed) << "obligation " << failed->str();

  Equality verdict = proveEqual(context, *source, rule.replacement);
  if (expected.verdict == "proved") {
    ASSERT_TRUE(std::holds_alternative<Proved>(verdict)) << describe(verdict);
    rule.proofs = std::get<Proved>(verdict).proofs;
    Numerics numerics = numericsOf(context, pattern, rule);
    expectRecord(pattern, rule, std::get<Proved>(verdict).proofs, numerics);
    if (auto said = numericsIn(text); !said.empty()) {
      EXPECT_EQ(numerics.str(), said);
    }
  } else if (expected.verdict == "outside") {
    ASSERT_TRUE(std::holds_alternative<ProvedOutside>(verdict)) << describe(verdict);
    const auto& outside = std::get<ProvedOutside>(verdict);
    Value output = source->outputs()[outside.output];
    if (source->outputs().size() > 1) {  // only of one output there are boxes
      for (std::string& line : expected.lines)
        line = withoutName(line, source->name(output));
      rule.mutant = onlyOutput(rule.replacement, outside.output);
      pattern.program = onlyOutput(pattern.program, outside.output);
      *source = onlyOutput(*source, outside.output);
    }
    expectBoxes(context, outside, source->shape(source->outputs()[0]), rule, expected);
    rule.replacement = *source;  // nothing corrects the boxes here
  } else {
    ASSERT_EQ(expected.verdict, "unknown");
    ASSERT_TRUE(std::holds_alternative<Unknown>(verdict)) << describe(verdict);
    EXPECT_THAT(std::get<Unknown>(verdict).reason, HasSubstr(expected.lines[0]));
    return;
  }
  Evaluation evaluation = evaluateRule(pattern, rule);
  if (evaluation.shapes == 0)  // the smallest member is large
    evaluation = evaluateRule(pattern, rule, {.shapes = 5, .shapeWork = 1'000'000, .ruleWork = 10'000'000});
  EXPECT_TRUE(evaluation.holds()) << evaluation.str();
}

std::vector<std::string> caseFiles() {
  std::vector<std::filesystem::path> files = testing_support::proveCases();
  return {files.begin(), files.end()};
}

INSTANTIATE_TEST_SUITE_P(prove, ProveText, ::testing::ValuesIn(caseFiles()), testing_support::nameOfFile);

}  // namespace
}  // namespace pet::prove_text_test
