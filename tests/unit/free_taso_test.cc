#include <algorithm>

#include <gtest/gtest.h>

#include "rules/taso/substitutions.h"
#include "synth/free/free_search.h"
#include "synth/free/terms.h"
#include "tests/unit/taso_support.h"
#include "tests/unit/text_file.h"

// What TASO publishes against what free mode finds over TASO's vocabulary.
namespace pet::freemode::free_taso_test {
namespace {

/// TASO's numbers, once more.
bool means(const Step& s, const taso::Operator& op, int output) {
  const int kind[] = {16, 7, 12, 3, 18, 6, 17, 20, 8, 9, 13, 10, 15};  // in the order of OperatorKind
  int type = op.type == 19 ? 17 : op.type, activation = op.parameter(taso::kActivation, 0);
  if (kind[static_cast<int>(s.op.kind)] != type || s.output != output) return false;
  if (type == 12 || type == 13) return s.op.axis == op.parameter(taso::kAxis, -1);
  return type != 3 || s.op.activation == (activation == 2 ? Activation::kRelu : Activation::kNone);
}

/// One output of a substitution as an equality, its variables of given types.
class Reading {
 public:
  Reading(const Vocabulary& v, const std::vector<Step>& steps, const taso::Substitution& s)
      : v_(v), steps_(steps), s_(s) {
    for (const auto* side : {&s.source, &s.target}) {
      for (const taso::Operator& op : *side) {
        for (const taso::Tensor& t : op.inputs) {
          if (t.isVariable() && std::find(names_.begin(), names_.end(), t.op) == names_.end()) names_.push_back(t.op);
        }
      }
    }
  }
  size_t variables() const { return names_.size(); }

  Equality of(const taso::MappedOutput& m, const std::vector<Variable>& types) {
    e_ = {};
    e_.variables = types;
    constants_.clear();
    e_.left = operand(s_.source, {m.source, m.sourceOutput});
    e_.right = operand(s_.target, {m.target, m.targetOutput});
    return e_;
  }

 private:
  Operand operand(const std::vector<taso::Operator>& ops, const taso::Tensor& t) {
    if (t.isVariable()) {
      return variable(static_cast<size_t>(std::find(names_.begin(), names_.end(), t.op) - names_.begin()));
    }
    const taso::Operator& op = ops[static_cast<size_t>(t.op)];
    if (op.type >= 22) return constant(op.type);
    Operand a = operand(ops, op.inputs[0]), b = op.inputs.size() > 1 ? operand(ops, op.inputs[1]) : kNoOperand;
    auto step = std::find_if(steps_.begin(), steps_.end(), [&](const Step& s) { return means(s, op, t.output); });
    EXPECT_NE(step, steps_.end()) << op.type;
    e_.nodes.push_back({static_cast<uint32_t>(step - steps_.begin()), a, b});
    return static_cast<Operand>(e_.nodes.size() - 1);
  }

  Operand constant(int type) {
    const Constant kinds[] = {Constant::kEye, Constant::kIdentityKernel, Constant::kOnes, Constant::kMeanKernel};
    Constant kind = kinds[type - 22];
    auto [it, isNew] = constants_.emplace(kind, e_.variables.size());
    for (const Leaf& leaf : v_.leaves) {
      if (isNew && leaf.constant == kind) e_.variables.push_back({typeOf(leaf), kind});
    }
    return variable(it->second);
  }

  const Vocabulary& v_;
  const std::vector<Step>& steps_;
  const taso::Substitution& s_;
  std::vector<int> names_;
  std::map<Constant, size_t> constants_;
  Equality e_;
};

/// Of all choices of the vocabulary's types for the variables, those for which both sides mean something: does the
/// equality follow from the rules? nullopt if there is none.
std::optional<bool> follows(Reading& r,
                            const taso::MappedOutput& m,
                            const Vocabulary& v,
                            const Rewriting& rules,
                            const std::vector<Step>& steps) {
  std::vector<Variable> types;
  for (const LeafLine& line : v.leafLines) {
    if (v.leaves[line.first].constant == Constant::kNone) types.push_back({typeOf(v.leaves[line.first])});
  }
  std::optional<bool> answer;
  size_t choices = 1;
  for (size_t i = 0; i < r.variables(); ++i)
    choices *= types.size();
  for (size_t choice = 0; choice < choices && answer != true; ++choice) {
    std::vector<Variable> chosen;
    for (size_t i = 0, c = choice; i < r.variables(); ++i, c /= types.size())
      chosen.push_back(types[c % types.size()]);
    Equality e = r.of(m, chosen);
    Terms terms(steps);
    std::vector<TermId> variables;
    auto left = terms.of(e, e.left, variables), right = terms.of(e, e.right, variables);
    if (!left || !right || !terms[*left].type.sameExtents(terms[*right].type)) continue;
    answer = rules.derive(e).how != Derived::kNot;
  }
  return answer;
}

/// Fourteen of their outputs read one value twice, as feature map and as kernel: the vocabulary has no such graphs.
TEST(FreeTaso, EveryPublishedSubstitutionFollowsFromTheRulesOfDepthThree) {
  const std::string data = std::string(PET_SOURCE_DIR) + "/tests/data/";
  auto v = parseVocabulary(testing_support::textOf(data + "published.vocab"), "published.vocab");
  ASSERT_TRUE(v);
  const auto substitutions = testing_support::publishedSubstitutions(testing_support::textOf(data + "taso.txt"));
  ASSERT_EQ(substitutions.size(), 133u);
  auto result = search(*v, {});
  ASSERT_TRUE(result);
  std::vector<Step> steps = stepsOf(*v);
  Rewriting rules(steps);
  for (const Equality& e : result->equalitiesKept)
    rules.add({e});
  size_t following = 0, outside = 0;
  for (size_t i = 0; i < substitutions.size(); ++i) {
    Reading reading(*v, steps, substitutions[i]);
    for (const taso::MappedOutput& m : substitutions[i].outputs) {
      auto answer = follows(reading, m, *v, rules, steps);
      EXPECT_NE(answer, false) << "substitution " << i;
      ++(answer ? following : outside);
    }
  }
  EXPECT_EQ(following, 132u);
  EXPECT_EQ(outside, 14u);
}

}  // namespace
}  // namespace pet::freemode::free_taso_test
