#include "tools/common/status_line.h"

#include <gtest/gtest.h>

namespace pet::status_line_test {
namespace {

using tool::secondsLeft;
using tool::statusText;

TEST(StatusLine, SaysWhatIsDoneAndHowLongItTakes) {
  EXPECT_EQ(statusText("checking the sites", 0.378, 12.0, "conv3", 80), "checking the sites, 37 %, 12 s left: conv3");
  EXPECT_EQ(statusText("searching", 1, std::nullopt, "", 80), "searching, 100 %");
  EXPECT_EQ(statusText("reading the rules", kUnknownShare, std::nullopt, "", 80), "reading the rules");
  EXPECT_EQ(statusText("a", 0, 0.2, "", 80), "a, 0 %, 1 s left");
  EXPECT_EQ(statusText("a", 0, 150.0, "", 80), "a, 0 %, 2 min left");
  EXPECT_EQ(statusText("a", 0, 9000.0, "", 80), "a, 0 %, 2.5 h left");
}

TEST(StatusLine, IsOneLineWhateverTheNames) {
  EXPECT_EQ(statusText("a", 0.5, std::nullopt, "x\x1b[31m\ny", 80), "a, 50 %: x [31m y");
  EXPECT_EQ(statusText("checking", 0.5, std::nullopt, "a long name", 14), "checking, 50 %");
}

TEST(StatusLine, TheTimeLeftIsKnownAfterAWhile) {
  EXPECT_EQ(secondsLeft(0, 0.25, 3), 9);
  EXPECT_EQ(secondsLeft(0.5, 0.75, 3), 3);  // it began half done
  EXPECT_EQ(secondsLeft(0, 0.25, 0.5), std::nullopt);
  EXPECT_EQ(secondsLeft(0, 0.001, 3), std::nullopt);
  EXPECT_EQ(secondsLeft(0, 1, 3), std::nullopt);
}

}  // namespace
}  // namespace pet::status_line_test
