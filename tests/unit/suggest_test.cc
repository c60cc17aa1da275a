#include "ir/suggest.h"

#include <gtest/gtest.h>

namespace pet {
namespace {

TEST(Suggest, TheNearestWord) {
  struct Case {
    std::string word;
    std::vector<std::string> known;
    std::string meant;
  };
  const Case cases[] = {
      {"Relux", {"Conv", "Relu", "Selu"}, "Relu"},
      {"matmul", {"MatMul", "Mul"}, "MatMul"},
      {"--quite", {"--quiet", "--only"}, "--quiet"},  // neighbours that changed places
      {"ls", {"ls-all", "show"}, ""},
      {"Frobnicate", {"Conv", "Relu"}, ""},
      {"ab", {"b", "ac"}, "b"},  // the first of equals
      {"a", {"b"}, ""},
      {"", {"b"}, ""},
      {"conv/transposd", {"conv/pair", "conv/transposed"}, "conv/transposed"},
      {std::string(300, 'x'), {std::string(300, 'x')}, ""},
  };
  for (const Case& c : cases)
    EXPECT_EQ(nearest(c.word, c.known).value_or(""), c.meant) << c.word;
  EXPECT_EQ(suggestion("Relux", {"Relu"}), "did you mean 'Relu'?");
  EXPECT_EQ(suggestionAnd("Relux", {"Relu"}, "known: Relu"), "did you mean 'Relu'? known: Relu");
  EXPECT_EQ(suggestionAnd("Softmax", {"Relu"}, "known: Relu"), "known: Relu");
  EXPECT_EQ(suggestion("Relux", {}), "");
}

}  // namespace
}  // namespace pet
