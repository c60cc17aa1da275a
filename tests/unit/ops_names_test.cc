#include <regex>

#include <gtest/gtest.h>

#include "ir/ops/op.h"
#include "tests/unit/text_file.h"

namespace pet::ops_names_test {
namespace {

/// A name that is no row would compare unequal with every node.
TEST(OpsNames, EachIsARow) {
  const std::string text = testing_support::textOf(PET_SOURCE_DIR "/ir/ops/names.h");
  const std::regex line(R"re(OpName k(\w+)\{"(\w+)"\};)re");
  size_t names = 0;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), line); it != std::sregex_iterator(); ++it) {
    EXPECT_EQ((*it)[1], (*it)[2]);
    EXPECT_TRUE(findOp((*it)[2].str())) << (*it)[2];
    ++names;
  }
  EXPECT_GT(names, 20U);
}

}  // namespace
}  // namespace pet::ops_names_test
