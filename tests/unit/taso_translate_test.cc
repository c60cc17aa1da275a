#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "rules/exhaustive.h"
#include "rules/taso/translate.h"
#include "tests/unit/taso_support.h"
#include "tests/unit/text_file.h"

namespace pet::taso::taso_translate_test {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

/// The source and, behind "=>", the statements of the target.
std::string textOf(const Translation& t) {
  return print(t.pattern.program) + "=>\n" + printStatements(t.rule.replacement);
}

std::string narrowingsOf(const Translation& t) {
  std::string text;
  for (const auto& [symbol, value] : t.narrowings)
    text += (text.empty() ? "" : ", ") + symbol + " = " + value.str();
  return text;
}

/// An operator with the source alone: it becomes what is printed, and the rule is itself.
Substitution itself(std::vector<Operator> ops) {
  int last = static_cast<int>(ops.size()) - 1;
  return {ops, ops, {{last, last, 0, 0}}};
}

struct Case {
  const char* name;
  Substitution rule;
  const char *text, *narrowings;
};

const Case kCases[] = {
    {"matrices share inner extents",
     {{matmul(var(1), var(4)), matmul(result(0), var(5))},
      {matmul(var(4), var(5)), matmul(var(1), result(0))},
      {{1, 1}}},
     "x1: [M, K]\nx4: [K, N]\nx5: [N, N2]\na = MatMul(x1, x4)\nb = MatMul(a, x5)\n"
     "=>\na = MatMul(x4, x5)\nb = MatMul(x1, a)\n",
     "N2 = N"},
    {"a variable that is read on both sides is square", itself({matmul(var(1), var(1))}),
     "x1: [M, M]\na = MatMul(x1, x1)\n=>\na = MatMul(x1, x1)\n", ""},
    {"sums alone are of rank 2", itself({add(var(1), var(2))}),
     "x1: [M, N]\nx2: [M, N]\na = Add(x1, x2)\n=>\na = Add(x1, x2)\n", ""},
    {"kernels are odd; an activation follows; the target's operators count, too",
     {{add(var(10), var(11)), conv(var(7), result(0), 2)},
      {add(var(11), var(10)), conv(var(7), result(0)), relu(result(1))},
      {{1, 2}}},
     "x10: [F, C, 2P + 1, 2Q + 1]\nx11: [F, C, 2P + 1, 2Q + 1]\nx7: [N, C, H, W]\na = Add(x10, x11)\n"
     "b' = Conv(x7, a) pads=[P, Q, P, Q]\nb = Relu(b')\n"
     "=>\na = Add(x11, x10)\nb = Conv(x7, a) pads=[P, Q, P, Q]\nc = Relu(b)\n",
     "P = 1, Q = 1"},
    {"one tensor as feature map and kernel", itself({conv(var(7), var(7))}),
     "x7: [N, C, 2P + 1, 2Q + 1]\na = Conv(x7, x7) pads=[P, Q, P, Q]\n=>\na = Conv(x7, x7) pads=[P, Q, P, Q]\n",
     "P = 1, Q = 1"},
    {"twice the channels, the same filters: two groups",
     {{conv(var(7), var(10)), conv(var(8), var(11)), concat(1, 4, result(0), result(1))},
      {concat(1, 4, var(7), var(8)), concat(0, 4, var(10), var(11)), conv(result(0), result(1))},
      {{2, 2}}},
     "x7: [N, C, H, W]\nx10: [F, C, 2P + 1, 2Q + 1]\nx8: [N, C, H, W]\nx11: [2F2 - F, C, 2P + 1, 2Q + 1]\n"
     "a = Conv(x7, x10) pads=[P, Q, P, Q]\nb = Conv(x8, x11) pads=[P, Q, P, Q]\nc = Concat(a, b) axis=1\n"
     "=>\na = Concat(x7, x8) axis=1\nb = Concat(x10, x11) axis=0\nc = Conv(a, b) pads=[P, Q, P, Q] group=2\n",
     "F2 = F, P = 1, Q = 1"},
    {"a split cuts where the last concat along its axis joined, through other operators",
     {{relu(var(7)), relu(var(8))},
      {concat(1, 4, var(7), var(8)), relu(result(0)), split(1, result(1))},
      {{0, 2, 0, 0}, {1, 2, 0, 1}}},
     "x7: [N, C, H, W]\nx8: [N, C2, H, W]\na = Relu(x7)\nb = Relu(x8)\nreturn a, b\n"
     "=>\na = Concat(x7, x8) axis=1\nb = Relu(a)\nc0, c1 = Split(b) axis=1 split=[C, C2]\n",
     "C2 = C"},
    {"concats in concats come apart in turn",
     {{relu(var(1)), relu(var(2)), relu(var(3))},
      {concat(0, 2, var(1), var(2)), concat(0, 2, result(0), var(3)), relu(result(1)), split(0, result(2)),
       split(0, result(3))},
      {{0, 4, 0, 0}, {1, 4, 0, 1}, {2, 3, 0, 1}}},
     "x1: [M, N]\nx2: [M2, N]\nx3: [M3, N]\na = Relu(x1)\nb = Relu(x2)\nc = Relu(x3)\nreturn a, b, c\n"
     "=>\na = Concat(x1, x2) axis=0\nb = Concat(a, x3) axis=0\nc = Relu(b)\n"
     "d0, d1 = Split(c) axis=0 split=[M + M2, M3]\ne0, e1 = Split(d0) axis=0 split=[M, M2]\nreturn e0, e1, d1\n",
     "M2 = M, M3 = M, M3 = M2"},
    {"the channels of a product, too: weights joined along 0",
     {{conv(var(7), var(10)), conv(var(7), var(11))},
      {concat(0, 4, var(10), var(11)), conv(var(7), result(0)), split(1, result(1))},
      {{0, 2, 0, 0}, {1, 2, 0, 1}}},
     "x7: [N, C, H, W]\nx10: [F, C, 2P + 1, 2Q + 1]\nx11: [F2, C, 2P + 1, 2Q + 1]\n"
     "a = Conv(x7, x10) pads=[P, Q, P, Q]\nb = Conv(x7, x11) pads=[P, Q, P, Q]\nreturn a, b\n"
     "=>\na = Concat(x10, x11) axis=0\nb = Conv(x7, a) pads=[P, Q, P, Q]\nc0, c1 = Split(b) axis=1 split=[F, F2]\n",
     "F2 = F, P = 1, Q = 1"},
    {"valid windows with strides", itself({op(3, {var(7), var(10)}, {{4, 3}, {5, 3}, {6, 2}, {7, 1}, {8, 1}})}),
     "x7: [N, C, H, W]\nx10: [F, C, R, S]\na = Conv(x7, x10) strides=[2, 1]\n=>\na = Conv(x7, x10) strides=[2, 1]\n",
     "R = 3, S = 3"},
    {"pools have their parameters' windows",
     itself({op(6, {var(7)}, {{4, 3}, {5, 5}, {6, 1}, {7, 1}, {8, 0}}),
             op(7, {result(0)}, {{4, 2}, {5, 2}, {6, 2}, {7, 2}, {8, 1}})}),
     "x7: [N, C, H, W]\na = MaxPool(x7) kernel_shape=[3, 5] pads=[1, 2, 1, 2]\n"
     "b = AveragePool(a) kernel_shape=[2, 2] strides=[2, 2] count_include_pad=1\n"
     "=>\na = MaxPool(x7) kernel_shape=[3, 5] pads=[1, 2, 1, 2]\n"
     "b = AveragePool(a) kernel_shape=[2, 2] strides=[2, 2] count_include_pad=1\n",
     ""},
    {"transposing twice; perm is base rank",
     {{op(15, {var(1)}, {{12, 2}}), op(15, {result(0)}, {{12, 2}}), relu(result(1))}, {relu(var(1))}, {{2, 0}}},
     "x1: [M, N]\na = Transpose(x1) perm=[1, 0]\nb = Transpose(a) perm=[1, 0]\nc = Relu(b)\n=>\na = Relu(x1)\n",
     ""},
};

TEST(TasoTranslate, RulesAsText) {
  for (const Case& c : kCases) {
    auto t = translate(c.rule, "t");
    ASSERT_TRUE(t) << c.name << ": " << t.error().message();
    EXPECT_EQ(textOf(*t), c.text) << c.name;
    EXPECT_EQ(narrowingsOf(*t), c.narrowings) << c.name;
    EXPECT_TRUE(parseProgram(print(t->pattern.program), "again")) << c.name;
  }
}

/// What TASO says of the operators that its published rules do not have (SOSP'19, table 2): each is true only if both
/// sides mean what TASO means.
TEST(TasoTranslate, OperatorsMeanWhatTasosPropertiesSay) {
  const Operator identityKernel = op(23, {}, {{4, 3}, {5, 3}}), poolKernel = op(25, {}, {{4, 3}, {5, 3}});
  const Operator average = op(7, {var(7)}, {{4, 3}, {5, 3}, {6, 1}, {7, 1}, {8, 0}});
  const struct {
    const char* name;
    Substitution rule;
  } kTrue[] = {
      {"x I = x", {{op(22, {}), matmul(var(1), result(0)), relu(result(1))}, {relu(var(1))}, {{2, 0}}}},
      {"conv by the identity kernel", {{identityKernel, conv(var(7), result(0), 2)}, {relu(var(7))}, {{1, 0}}}},
      {"an average is a conv by the pool kernel, channel by channel",
       {{poolKernel, conv(var(7), result(0))}, {average}, {{1, 0}}}},
      {"x 1 = x", {{op(24, {}), op(17, {var(7), result(0)}), relu(result(1))}, {relu(var(7))}, {{2, 0}}}},
      {"(x + z) s = x s + z s",
       {{add(var(1), var(2)), op(19, {result(0), var(9)})},
        {op(19, {var(1), var(9)}), op(19, {var(2), var(9)}), add(result(0), result(1))},
        {{1, 2}}}},
      {"an enlarged kernel",
       {{conv(var(7), var(10))}, {op(20, {var(10)}, {{4, 5}, {5, 5}}), conv(var(7), result(0))}, {{0, 1}}}},
      {"groups as one", {{conv(var(7), var(10))}, {op(21, {var(10)}, {{14, 3}}), conv(var(7), result(0))}, {{0, 1}}}},
      {"(a b)' = b' a'",
       {{matmul(var(1), var(2)), op(15, {result(0)}, {{12, 2}})},
        {op(15, {var(1)}, {{12, 2}}), op(15, {var(2)}, {{12, 2}}), matmul(result(1), result(0))},
        {{1, 2}}}},
      {"sigmoid and tanh are element by element",
       {{op(9, {var(1)}), op(10, {result(0)}), op(10, {var(2)}), concat(0, 2, result(1), result(2))},
        {op(9, {var(1)}), concat(0, 2, result(0), var(2)), op(10, {result(1)})},
        {{3, 2}}}},
      {"max of a max with a wider window",
       {{op(6, {var(7)}, {{4, 3}, {5, 3}}), op(6, {result(0)}, {{4, 3}, {5, 3}})},
        {op(6, {var(7)}, {{4, 5}, {5, 5}})},
        {{1, 0}}}},
  };
  for (const auto& c : kTrue) {
    auto t = translate(c.rule, "t");
    ASSERT_TRUE(t) << c.name << ": " << t.error().message();
    Evaluation e = evaluateRule(t->pattern, t->rule);
    EXPECT_TRUE(e.holds()) << c.name << ": " << e.str() << "\n" << textOf(*t);
    EXPECT_TRUE(parseProgram(textOf(*t).substr(0, textOf(*t).find("=>")), "again")) << textOf(*t);
  }
}

TEST(TasoTranslate, WhatHasNoTranslation) {
  const struct {
    const char* name;
    Substitution rule;
    const char* what;
  } kWrong[] = {
      {"dropout", itself({op(4, {var(1)})}), "operator 4 has no translation"},
      {"an operator that TASO lacks", itself({op(99, {var(1)})}), "operator 99 has no translation"},
      {"one operand", itself({op(18, {var(1)})}), "matmul takes 2 operands, got 1"},
      {"an operand of a constant", itself({op(22, {var(1)})}), "identity matrix takes 0 operands, got 1"},
      {"two ranks", itself({matmul(var(1), var(2)), conv(result(0), var(3))}), "of rank 2 and of rank 4"},
      {"a variable of the target alone",
       {{relu(var(1))}, {add(var(1), var(2))}, {{0, 0}}},
       "reads x2, which the source"},
      {"an output that is not there", {{relu(var(1))}, {relu(var(1))}, {{0, 0, 1, 0}}}, "operator 0 has no output 1"},
      {"an output mapped twice", {{relu(var(1))}, {relu(var(1))}, {{0, 0}, {0, 0}}}, "operator 0 is mapped twice"},
      {"a split of nothing", itself({split(0, var(1))}), "where nothing was joined"},
      {"an axis too many", itself({concat(2, 2, var(1), var(2))}), "has no axis 2"},
      {"strides with same", itself({op(3, {var(1), var(2)}, {{6, 2}, {7, 2}, {8, 0}})}),
       "strides with the pads 'same'"},
      {"a stride of zero", itself({op(3, {var(1), var(2)}, {{6, 0}, {7, 1}, {8, 0}})}), "wrong strides or pads"},
      {"an even pool", itself({op(6, {var(1)}, {{4, 2}, {5, 3}, {8, 0}})}), "'same' with an even kernel"},
      {"a pool without a window", itself({op(6, {var(1)})}), "without its kernel's extents"},
      {"an unknown activation", itself({conv(var(1), var(2), 7)}), "no activation has the number 7"},
      {"no permutation", itself({op(15, {var(1)}, {{12, 3}}), matmul(result(0), var(2))}),
       "3 encodes no permutation of 2"},
      {"a value larger than itself", {{relu(var(1))}, {concat(0, 4, var(1), var(1))}, {{0, 0}}}, "different extents"},
      {"merged groups without a count", itself({op(21, {var(10)}), conv(var(7), result(0))}), "without its count"},
      {"nine groups",
       itself({concat(1, 4, var(1), var(1)), concat(1, 4, result(0), result(0)), concat(1, 4, result(1), result(1)),
               concat(1, 4, result(2), var(1)), conv(result(3), var(1))}),
       "no extents fit the convolutions' channels"},
  };
  for (const auto& c : kWrong) {
    auto t = translate(c.rule, "t");
    ASSERT_FALSE(t) << c.name << "\n" << textOf(*t);
    EXPECT_THAT(t.error().message(), HasSubstr(c.what)) << c.name;
  }
}

TEST(TasoTranslate, DamagedRulesAreTranslatedOrRefused) {
  for (const Case& c : kCases) {
    const std::string bytes = bytesOf(c.rule);
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      auto rules = readSubstitutions(damaged, "f");
      if (!rules) continue;
      auto t = translate(rules->front(), "t");
      if (!t) {
        EXPECT_FALSE(t.error().what.empty());
        continue;
      }
      auto again = parseProgram(print(t->pattern.program), "again");
      ASSERT_TRUE(again) << c.name << ", bit " << bit << ": " << again.error().message() << textOf(*t);
      EXPECT_EQ(print(*again), print(t->pattern.program));
    }
  }
}

TEST(TasoTranslate, LongChainsEnd) {
  std::vector<Operator> chain{concat(0, 2, var(1), var(1))};
  for (int i = 0; i < 40; ++i)
    chain.push_back(concat(0, 2, result(i), result(i)));
  auto t = translate(itself(chain), "t");
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(str(t->pattern.program.shape(t->pattern.program.outputs()[0])), "[2199023255552M, N]");
  for (int i = 40; i < 70; ++i)
    chain.push_back(concat(0, 2, result(i), result(i)));
  auto overflow = translate(itself(chain), "t");
  ASSERT_FALSE(overflow);
  EXPECT_THAT(overflow.error().message(), HasSubstr("overflow"));
  std::vector<Operator> many(101, relu(var(1)));
  EXPECT_THAT(translate(itself(many), "t").error().message(), HasSubstr("more than 100 operators"));
}

/// A mean kernel says how many groups there are: as many as channels, whatever their number.
TEST(TasoTranslate, AMeanKernelIsDepthwise) {
  const Operator mean = op(25, {}, {{4, 3}, {5, 3}}), average = op(7, {var(7)}, {{4, 3}, {5, 3}});
  const std::string kernel =
      "a'' = Constant() value=1 shape=[C, 1, 1, 1]\na' = Pad(a'') pads=[0, 0, 1, 1, 0, 0, 1, 1]\n"
      "a = AveragePool(a') kernel_shape=[3, 3] pads=[1, 1, 1, 1] count_include_pad=1\n";
  const struct {
    const char* name;
    Substitution rule;
    std::string text;
    bool isTrue;
  } kMeans[] = {
      {"an average",
       {{mean, conv(var(7), result(0))}, {average}, {{1, 0}}},
       "x7: [N, C, H, W]\n" + kernel + "b = Conv(x7, a) pads=[1, 1, 1, 1] group=C\n=>\n" +
           "a = AveragePool(x7) kernel_shape=[3, 3] pads=[1, 1, 1, 1] count_include_pad=1\n",
       true},
      {"a kernel that is added to it is depthwise, too",
       {{mean, add(var(10), result(0)), conv(var(7), result(1))},
        {mean, conv(var(7), var(10)), conv(var(7), result(0)), add(result(1), result(2))},
        {{2, 3}}},
       "",
       true},
      {"a sum of averages is an average, and not twice as large",
       {{mean, conv(var(7), result(0))}, {average, add(result(0), result(0))}, {{1, 1}}},
       "",
       false},
      {"two means side by side are two averages of one channel alone",
       {{mean, concat(0, 4, result(0), result(0)), conv(var(7), result(1))},
        {average, concat(1, 4, result(0), result(0))},
        {{2, 1}}},
       "",
       false},
  };
  for (const auto& c : kMeans) {
    auto t = translate(c.rule, "t");
    ASSERT_TRUE(t) << c.name << ": " << t.error().message();
    EXPECT_EQ(c.text.empty() ? "" : textOf(*t), c.text);
    EXPECT_TRUE(t->rule.shapes.contains({{"N", 2}, {"C", 4}, {"F", 4}, {"H", 5}, {"W", 5}})) << "TASO's own";
    EXPECT_EQ(evaluateRule(t->pattern, t->rule).holds(), c.isTrue) << c.name << "\n" << textOf(*t);
    EXPECT_FALSE(translate(c.rule, "t", Groups::kAny)) << c.name;
  }
}

TEST(TasoTranslate, AnyNumberOfGroups) {
  const struct {
    const char* name;
    Substitution rule;
    const char* text;  ///< or what is wrong
  } kGrouped[] = {
      {"images in one",
       {{conv(var(7), var(10)), conv(var(8), var(10)), concat(0, 4, result(0), result(1))},
        {concat(0, 4, var(7), var(8)), conv(result(0), var(10))},
        {{2, 1}}},
       "x7: [N, (G C), H, W]\nx10: [(G F), C, 2P + 1, 2Q + 1]\nx8: [N2, (G C), H, W]\n"
       "a = Conv(x7, x10) pads=[P, Q, P, Q] group=G\nb = Conv(x8, x10) pads=[P, Q, P, Q] group=G\n"
       "c = Concat(a, b) axis=0\n=>\na = Concat(x7, x8) axis=0\nb = Conv(a, x10) pads=[P, Q, P, Q] group=G\n"},
      {"sums of kernels",
       {{add(var(10), var(11)), conv(var(7), result(0))},
        {conv(var(7), var(10)), conv(var(7), var(11)), add(result(0), result(1))},
        {{1, 2}}},
       "x10: [(G F), C, 2P + 1, 2Q + 1]\nx11: [(G F), C, 2P + 1, 2Q + 1]\nx7: [N, (G C), H, W]\n"
       "a = Add(x10, x11)\nb = Conv(x7, a) pads=[P, Q, P, Q] group=G\n"
       "=>\na = Conv(x7, x10) pads=[P, Q, P, Q] group=G\nb = Conv(x7, x11) pads=[P, Q, P, Q] group=G\nc = Add(a, b)\n"},
      {"no convolution", itself({relu(var(1))}), "no convolution"},
      {"a tensor by itself", itself({conv(var(7), var(7))}), "channels do not agree"},
      {"filters of one as channels of the next", itself({conv(var(7), var(10)), conv(result(0), var(11))}),
       "channels that are not so many groups"},
      {"joined channels",
       {{conv(var(7), var(10)), conv(var(8), var(11)), add(result(0), result(1))},
        {concat(1, 4, var(7), var(8)), concat(1, 4, var(10), var(11)), conv(result(0), result(1))},
        {{2, 2}}},
       "channels that are not so many groups"},
      {"joined filters",
       {{conv(var(7), var(10)), relu(result(0)), concat(1, 4, result(1), var(8))},
        {conv(var(7), var(10), 2), concat(1, 4, result(0), var(8))},
        {{2, 1}}},
       "Concat along the product dimension (G F"},
  };
  for (const auto& c : kGrouped) {
    auto t = translate(c.rule, "t", Groups::kAny);
    if (!t) {
      EXPECT_THAT(t.error().what, HasSubstr(c.text)) << c.name;
      continue;
    }
    EXPECT_EQ(textOf(*t), c.text) << c.name;
    ASSERT_FALSE(t->narrowings.empty()) << c.name;
    EXPECT_EQ(t->narrowings[0], std::pair(std::string("G"), Expr(1))) << c.name;
    Evaluation e = evaluateRule(t->pattern, t->rule);
    EXPECT_TRUE(e.holds()) << c.name << ": " << e.str();
  }
}

/// Whether both sides are equal at small shapes, if need be where the first narrowing holds.
Evaluation evaluated(Translation t, size_t& narrowed) {
  EvaluationOptions options;
  options.shapes = 60;
  Evaluation e = evaluateRule(t.pattern, t.rule, options);
  if (e.holds() || t.narrowings.empty()) return e;
  ++narrowed;
  const std::map<std::string, Expr> by{t.narrowings.front()};
  for (Program* p : {&t.pattern.program, &t.rule.replacement, &t.rule.mutant})
    *p = p->substitute(by).value();
  for (ShapeClass* c : {&t.pattern.shapes, &t.rule.shapes}) {
    std::erase(c->symbols, t.narrowings.front().first);
    for (Constraint& k : c->constraints)
      k = k.substitute(by);
  }
  return evaluateRule(t.pattern, t.rule, options);
}

/// TASO's own: what the translation says is equal at small shapes, with a narrowing where one is needed.
TEST(TasoTranslate, EveryPublishedRuleIsEqualAtSmallShapes) {
  const auto published = testing_support::publishedSubstitutions(
      testing_support::textOf(std::string(PET_SOURCE_DIR) + "/tests/data/taso.txt"));
  std::string bytes;
  for (const Substitution& s : published)
    bytes += bytesOf(s);
  auto rules = readSubstitutions(bytes, "taso.txt");
  ASSERT_TRUE(rules) << rules.error().message();
  ASSERT_EQ(rules->size(), 133u);
  size_t narrowed = 0, grouped = 0;
  for (size_t i = 0; i < rules->size(); ++i) {
    auto t = translate((*rules)[i], "t");
    ASSERT_TRUE(t) << i << ": " << t.error().message();
    Evaluation e = evaluated(*t, narrowed);
    EXPECT_TRUE(e.holds()) << i << ": " << e.str() << "\n" << textOf(*t);
    auto any = translate((*rules)[i], "t", Groups::kAny);
    if (!any) continue;
    ++grouped;
    size_t none = 0;
    e = evaluated(*any, none);
    EXPECT_TRUE(e.holds() && none == 0) << i << ": " << e.str() << "\n" << textOf(*any);
  }
  EXPECT_EQ(narrowed, 4u);  // two groups of unequal filters are no grouped convolution
  EXPECT_GT(grouped, 0u);
}

}  // namespace
}  // namespace pet::taso::taso_translate_test
