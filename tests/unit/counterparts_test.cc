// What a rewritten model has of its original, and the programs that are cut out of it.

#include "applier/check/counterparts.h"

#include <gmock/gmock.h>

#include "tests/unit/applier_support.h"

namespace pet::counterparts_test {
namespace {

using namespace testing_support;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

View viewOf(const std::string& text) {
  return normalise(modelOf(text).graph).view;
}

std::string nameOf(const View& view, Value value) {
  auto name = view.names.find(value);
  return name == view.names.end() ? view.program.name(value) : name->second;
}

/// "mine is its" for each value that stands for one of the original, "own mine is its" where the node is another.
std::vector<std::string> found(const View& original, const View& rewritten) {
  const Counterparts all = counterparts(original, rewritten);
  std::vector<std::string> lines;
  for (auto [mine, its] : all.values) {
    const std::string own = all.same[static_cast<size_t>(mine.node)] ? "" : "own ";
    lines.push_back(own + nameOf(rewritten, mine) + " is " + nameOf(original, its));
  }
  return lines;
}

TEST(Counterparts, OfAModelAreTheModelsOwn) {
  const View view = viewOf("x: [2, 3]  w: const [3, 4]  t = MatMul(x, w)  y = Relu(t)");
  EXPECT_THAT(found(view, view), UnorderedElementsAre("x is x", "w is w", "t is t", "y is y"));
}

TEST(Counterparts, AreFoundByOperandsAndElseByName) {
  const View original = viewOf("x: [2, 3]  w: const [3, 4]  t = MatMul(x, w)  u = Relu(t)  y = Exp(u)");
  const View renamed = viewOf("x: [2, 3]  w: const [3, 4]  s = MatMul(x, w)  v = Relu(s)  y = Exp(v)");
  EXPECT_THAT(found(original, renamed), UnorderedElementsAre("x is x", "w is w", "s is t", "v is u", "y is y"));
  const View other = viewOf("x: [2, 3]  w: const [3, 4]  t = MatMul(x, w)  s = Sigmoid(t)  u = Mul(s, t)  y = Exp(u)");
  EXPECT_THAT(found(original, other), UnorderedElementsAre("x is x", "w is w", "t is t", "own u is u", "y is y"));
}

TEST(Counterparts, AreNoneWhereAttributesExtentsOrWeightsDiffer) {
  const View original = viewOf("x: [2, 3]  w: const [3]  t = Mul(x, w)  y = Clip(t) min=0 max=6");
  const View bound = viewOf("x: [2, 3]  w: const [3]  t = Mul(x, w)  y = Clip(t) min=0 max=5");
  EXPECT_THAT(found(original, bound), UnorderedElementsAre("x is x", "w is w", "t is t", "own y is y"));
  View weights = original;
  Constant& w = weights.constants.begin()->second;
  Tensor<float> numbers = w.values<float>();
  numbers.data[1] += 1;
  w = Constant::of(numbers);
  EXPECT_THAT(found(original, weights), UnorderedElementsAre("x is x", "own t is t", "y is y"));
  const View longer =
      viewOf("x: [2, 3]  w: const [3]  t = Mul(x, w)  u = Clip(t) min=0 max=6  y = Concat(u, u) axis=0");
  EXPECT_THAT(found(original, longer), UnorderedElementsAre("x is x", "w is w", "t is t", "u is y"));
}

/// What is computed of weights in another way is no value that a part could be compared with.
TEST(Counterparts, AreNoConstantsOfTheSameName) {
  auto withWeights = [](const char* op) {
    auto p = parsed("x: [2, 3]  w: const [3, 4]  v = " + std::string(op) + "(w)  t = MatMul(x, v)  y = Relu(t)");
    View view;
    view.program = p;
    for (int i = 0; i < static_cast<int>(p.nodes().size()); ++i)
      view.names[{i, 0}] = p.nodes()[static_cast<size_t>(i)].names[0];
    for (auto& [name, constant] : constantsOf(p))
      view.constants.emplace(p.find(name)->node, constant);
    return view;
  };
  const View exp = withWeights("Exp"), neg = withWeights("Neg");
  EXPECT_THAT(found(exp, exp), UnorderedElementsAre("x is x", "w is w", "v is v", "t is t", "y is y"));
  EXPECT_THAT(found(exp, neg), UnorderedElementsAre("x is x", "w is w", "own t is t", "y is y"));
}

TEST(Counterparts, SharedIsWhatDependsOnNothingElse) {
  const Program p =
      parsed("x: [2, 3]  w: const [3]  a = Relu(x)  b = Mul(a, w)  c = Exp(b)  d = Add(a, c)  y = Add(d, x)");
  Counterparts known{{}, std::vector<bool>(p.nodes().size(), true)};
  known.same[static_cast<size_t>(p.find("b")->node)] = false;
  const std::vector<bool> shared = sharedNodes(p, known);
  for (const auto& [name, is] : std::map<std::string, bool>{
           {"x", true}, {"w", true}, {"a", true}, {"b", false}, {"c", false}, {"d", false}, {"y", false}})
    EXPECT_EQ(shared[static_cast<size_t>(p.find(name)->node)], is) << name;
  EXPECT_THAT(readOfShared(p, shared, p.outputs()), ElementsAre(*p.find("a")));
  EXPECT_THAT(sharedNodes(p, {}), Each(false));
  EXPECT_THAT(readOfShared(p, sharedNodes(p, {}), p.outputs()), IsEmpty());
}

TEST(Counterparts, PartsReachToTheValuesThatTheOriginalHas) {
  const Program p =
      parsed("x: [2, 3]  w: const [3]  a = Relu(x)  b = Mul(a, w)  c = Exp(b)  d = Exp(c)  e = Add(b, d)  y = Relu(e)");
  Counterparts known{{}, std::vector<bool>(p.nodes().size())};
  for (const char* name : {"x", "w", "a", "c", "y"})
    known.values.emplace(*p.find(name), Value{});
  for (const char* name : {"x", "w", "a"})
    known.same[static_cast<size_t>(p.find(name)->node)] = true;
  const auto parts = rewrittenParts(p, known, 1000);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_THAT(parts[0].outputs, ElementsAre(*p.find("c"), *p.find("y")));
  EXPECT_THAT(parts[0].read, ElementsAre(*p.find("a"), *p.find("c")));
  EXPECT_EQ(rewrittenParts(p, known, 18).size(), 2U);
  EXPECT_EQ(rewrittenParts(p, known, 24).size(), 1U);
}

TEST(ComputingFrom, ReadersOfCutValuesReadInputs) {
  const Program p = parsed("x: [2, 3]  w: const [3]  a = Relu(x)  b = Mul(a, w)  c = Exp(b)  y = Add(b, c)");
  const Value a = *p.find("a"), b = *p.find("b"), c = *p.find("c");
  EXPECT_EQ(print(p.computingFrom({a}, p.outputs())),
            print(parsed("a: [2, 3]  w: const [3]  b = Mul(a, w)  c = Exp(b)  y = Add(b, c)")));
  EXPECT_EQ(
      print(p.computingFrom({b, c}, {b, *p.find("y")})),
      "b: [2, 3]\nc: [2, 3]\nx: [2, 3]\nw: const [3]\na = Relu(x)\nb' = Mul(a, w)\ny = Add(b, c)\nreturn b', y\n");
  EXPECT_EQ(print(p.computingFrom({*p.find("w")}, {b}, true)),
            print(parsed("w: const [3]  x: [2, 3]  a = Relu(x)  b = Mul(a, w)")));
}

}  // namespace
}  // namespace pet::counterparts_test
