#include "tools/common/display.h"

#include <gtest/gtest.h>

#include "ir/shell.h"
#include "tools/common/table.h"

namespace pet {
namespace {

using namespace tool;

TEST(Display, ColumnsAreNotBytes) {
  EXPECT_EQ(columnsOf("conv1"), 5U);
  EXPECT_EQ(columnsOf("größe"), 5U);
  EXPECT_EQ(columnsOf("e\u0301"), 1U);   // an accent of its own
  EXPECT_EQ(columnsOf("卷积1"), 5U);     // wide characters
  EXPECT_EQ(columnsOf("\xff\xc3"), 2U);  // no UTF-8
  EXPECT_EQ(cutTo("größe", 3), "grö");
  EXPECT_EQ(cutTo("卷积", 3), "卷");
  EXPECT_EQ(cutTo("ab", 9), "ab");
}

TEST(Display, TablesAlignWhatPeopleSee) {
  EXPECT_EQ(table({{"SITE", "RULE"}, {"卷积", "a"}, {"größe", "b"}, {"x", ""}}),
            "SITE   RULE\n卷积   a\ngröße  b\nx\n");
}

TEST(Display, AShellReadsWordsBack) {
  for (const auto& [word, text] :
       std::vector<std::pair<std::string, std::string>>{{"model.onnx", "model.onnx"},
                                                        {"batch % 2 == 0", "'batch % 2 == 0'"},
                                                        {"", "''"},
                                                        {"it's", "'it'\\''s'"},
                                                        {"conv/*", "'conv/*'"},
                                                        {"$HOME", "'$HOME'"}})
    EXPECT_EQ(shellWord(word), text);
}

}  // namespace
}  // namespace pet
