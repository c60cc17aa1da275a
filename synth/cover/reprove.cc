#include "synth/cover/reprove.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "rules/rewrite/symbols.h"

namespace pet::cover {
namespace {

/// Why the two programs are not proved equal: "unknown: …".
std::optional<std::string> whyNotEqual(Program before,
                                       Program after,
                                       const ShapeClass& shapes,
                                       const DecideOptions& options) {
  rewrite::Claim claim = rewrite::claimOf({"step", std::move(before), std::move(after), shapes});
  Decision d = decide(claim.pattern, claim.rule, options);
  if (std::holds_alternative<Proved>(d)) return std::nullopt;
  std::string why = explain(d);
  return fmt::format("{}: {}", verdictOf(d), why.substr(0, why.find('\n')));
}

/// Where two programs over inputs of the same names begin to differ, from their outputs: both compute the same if both
/// values of each pair are equal, for what is above is one program on both sides.
class Differences {
 public:
  Differences(const Program& a, const Program& b) : a_(a), b_(b) {}

  std::vector<std::pair<Value, Value>> run() {
    for (size_t o = 0; o < std::min(a_.outputs().size(), b_.outputs().size()); ++o)
      descend(a_.outputs()[o], b_.outputs()[o]);
    return {pairs_.begin(), pairs_.end()};
  }

 private:
  bool isAlike(Value a, Value b) const {
    const Node &x = a_.node(a), &y = b_.node(b);
    if (x.op != y.op || a.output != b.output || x.operands.size() != y.operands.size()) return false;
    if (x.is(ops::kInput)) return a_.name(a) == b_.name(b);
    return std::equal(x.attributes.begin(), x.attributes.end(), y.attributes.begin(), y.attributes.end(),
                      [](const auto& l, const auto& r) {
                        return l.first == r.first &&
                               rewrite::canonicalText(l.second) == rewrite::canonicalText(r.second);
                      });
  }

  void descend(Value a, Value b) {
    if (!seen_.insert({a, b}).second) return;
    if (!isAlike(a, b)) {
      pairs_.insert({a, b});
      return;
    }
    for (size_t i = 0; i < a_.node(a).operands.size(); ++i)
      descend(a_.node(a).operands[i], b_.node(b).operands[i]);
  }

  const Program &a_, &b_;
  std::set<std::pair<Value, Value>> seen_, pairs_;
};

Program upTo(const Program& p, Value v) {
  return ProgramBuilder(p).finish({v}).withoutDeadNodes();
}

/// "step 2 is unknown: …" unless both programs are proved equal, as a whole or below what both have.
std::optional<std::string> faultOf(size_t number,
                                   const Program& before,
                                   const Program& after,
                                   const ShapeClass& shapes,
                                   const DecideOptions& options) {
  auto fault = whyNotEqual(before, after, shapes, options);
  if (!fault) return std::nullopt;
  auto pairs = Differences(before, after).run();
  bool proved = before.outputs().size() == after.outputs().size() &&
                std::all_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
                  return !whyNotEqual(upTo(before, pair.first), upTo(after, pair.second), shapes, options);
                });
  return proved ? std::nullopt : std::optional(fmt::format("step {} is {}", number, *fault));
}

}  // namespace

std::optional<std::string> faultOf(const Chain& chain,
                                   const Pattern& pattern,
                                   const Rule& rule,
                                   const DecideOptions& options) {
  auto before = instantiate(pattern, rule);
  if (!before) return before.error().message();
  // The first and the last program are as they were written.
  for (size_t i = 0; i + 1 < chain.steps.size(); ++i) {
    const Program& after = chain.steps[i].after;
    if (auto fault = faultOf(i + 1, *before, after, rule.shapes, options)) return fault;
    before = after;
  }
  return faultOf(chain.steps.size(), *before, rule.replacement, rule.shapes, options);
}

}  // namespace pet::cover
