#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "synth/free/vocabulary.h"

namespace pet::freemode::free_vocabulary_test {
namespace {

struct Fault {
  const char *text, *error;
};

const char* const kGood = "inputs x y: [2, 4]\noperator Add\n";

const Fault kFaults[] = {
    {"", "v:1:1: expected 'inputs': a vocabulary has inputs"},
    {"import x",
     "v:1:1: expected 'inputs', 'weights', 'constant', 'operator', 'distinct operands' or 'fold constants'"},
    {"inputs x: [2]", "v:1:14: expected 'operator': a vocabulary has operators"},
    {"inputs : [2]", "v:1:8: expected a name, found ':'"},
    {"inputs x x: [2]", "v:1:10: 'x' is defined twice"},
    {"inputs x\nweights y: [2]", "v:2:1: expected ':' and a shape on the line of the names"},
    {"inputs x: [0]", "v:1:12: expected an extent"},
    {"inputs x: [N]", "v:1:12: expected an extent"},
    {"inputs x: [2 3]", "v:1:14: expected ',', found '3'"},
    {"inputs x: 2", "v:1:11: expected '[', found '2'"},
    {"inputs x: [65]", "v:1:12: an extent is at most 64"},
    {"inputs x: [64, 64, 2]", "v:1:11: more than 4096 elements"},
    {"inputs x: [1, 1, 1, 1, 1]", "v:1:24: at most 4 dimensions"},
    {"constant c = Twos [2]", "v:1:14: expected one of Eye, Ones, IdentityKernel, MeanKernel"},
    {"constant c = Eye [2, 3]", "v:1:18: the identity matrix is square"},
    {"constant c = IdentityKernel [2, 3, 3, 3]", "v:1:29: an identity kernel is [C, C, R, S] with R and S odd"},
    {"constant c = MeanKernel [2, 1, 2, 3]", "v:1:25: a mean kernel is [C, 1, R, S] with R and S odd"},
    {"constant c = Ones [2]\ninputs x: [2]", "v:2:8: inputs stand before constants"},
    {"inputs x: [2]\noperator Sum", "v:2:10: no operator 'Sum'; expected one of Add, AveragePool, Concat, "},
    {"inputs x: [2]\noperator Add\noperator Add", "v:3:10: 'Add' is listed twice"},
    {"inputs x: [2]\noperator Add axis=0", "v:2:14: Add has no attribute 'axis'"},
    {"inputs x: [2]\noperator Concat", "v:2:10: Concat needs 'axis'"},
    {"inputs x: [2]\noperator Concat axis=1", "v:2:22: no input has an axis 1"},
    {"inputs x: [2]\noperator Concat axis={0, 0}", "v:2:26: the same choice twice"},
    {"inputs x: [2]\noperator Concat axis=0 axis=0", "v:2:24: 'axis' is given twice"},
    {"inputs x: [2]\noperator Concat axis={0", "v:2:24: expected '}'"},
    {"inputs x: [2]\noperator Conv kernel=[3]", "v:2:22: a window has two odd extents"},
    {"inputs x: [2]\noperator Conv kernel=[2, 3]", "v:2:22: a window has two odd extents"},
    {"inputs x: [2]\noperator Conv kernel=[3, 3] activation=Gelu", "v:2:40: expected one of none, Relu, Sigmoid, Tanh"},
    {"inputs x: [2]\noperator Pad to=[3, 3] of=weights", "v:2:27: expected 'inputs' or 'any'"},
    {"inputs x: [2]\noperator Add\ndistinct inputs", "v:3:10: expected 'operands', found 'inputs'"},
    {"inputs x: [2]\noperator Add\nfold", "v:3:5: expected 'constants'"},
};

TEST(FreeVocabulary, FaultsAreNamedWithTheirPlace) {
  for (const Fault& f : kFaults) {
    auto v = parseVocabulary(f.text, "v");
    ASSERT_FALSE(v) << f.text;
    EXPECT_EQ(v.error().kind, ErrorKind::kText);
    EXPECT_TRUE(v.error().message().starts_with(f.error)) << f.text << "\n" << v.error().message();
  }
}

TEST(FreeVocabulary, MisspeltWordsGetASuggestion) {
  const std::pair<const char*, const char*> cases[] = {
      {"inptus x: [2]", "(did you mean 'inputs'?)"},
      {"constant c = eye [2]", "(did you mean 'Eye'?)"},
      {"inputs x: [2]\noperator Matmul", "(did you mean 'MatMul'?)"},
      {"inputs x: [2]\noperator Concat axes=1", "(did you mean 'axis'?)"},
      {"inputs x: [2]\noperator Frobnicate", "Transpose"},  // none is close
  };
  for (const auto& [text, end] : cases) {
    auto v = parseVocabulary(text, "v");
    ASSERT_FALSE(v) << text;
    EXPECT_TRUE(v.error().message().ends_with(end)) << v.error().message();
  }
}

TEST(FreeVocabulary, TooManyLeaves) {
  std::string text = "inputs";
  for (int i = 0; i <= 32; ++i)
    text += " x" + std::to_string(i);
  auto v = parseVocabulary(text + ": [2]\n", "v");
  ASSERT_FALSE(v);
  EXPECT_EQ(v.error().message(), "v:1:126: more than 32 inputs and constants");
}

TEST(FreeVocabulary, EveryPrefixIsReadOrRefused) {
  const std::string text =
      kGood + std::string("constant e = Eye [4, 4]\noperator Conv kernel={[3, 3], [1, 3]} activation={none, Relu}\n");
  for (size_t n = 0; n < text.size(); ++n) {
    auto v = parseVocabulary(text.substr(0, n), "v");
    EXPECT_TRUE(v || v.error().where.starts_with("v:")) << v.error().message();
  }
}

TEST(FreeVocabulary, ChoicesAreCombined) {
  auto v =
      parseVocabulary("inputs x: [1, 4, 5, 5]\noperator Conv kernel={[3, 3], [1, 3]} activation={none, Relu}\n", "v");
  ASSERT_TRUE(v);
  std::vector<Operator> all = v->operators();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], (Operator{OperatorKind::kConv, {3, 3}, 0, Activation::kNone, false}));
  EXPECT_EQ(all[3], (Operator{OperatorKind::kConv, {1, 3}, 0, Activation::kRelu, false}));
}

TEST(FreeVocabulary, TasosIsReadAndPrintedAgain) {
  std::ifstream file(PET_SOURCE_DIR "/rules/vocab/taso.vocab");
  std::stringstream text;
  text << file.rdbuf();
  auto v = parseVocabulary(text.str(), "taso.vocab");
  ASSERT_TRUE(v) << v.error().message();
  EXPECT_EQ(v->leaves.size(), 24u);
  EXPECT_TRUE(v->distinctOperands);
  auto again = parseVocabulary(print(*v), "again");
  ASSERT_TRUE(again) << again.error().message() << "\n" << print(*v);
  EXPECT_EQ(print(*again), print(*v));
  EXPECT_EQ(again->operators(), v->operators());
}

}  // namespace
}  // namespace pet::freemode::free_vocabulary_test
