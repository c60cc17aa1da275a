// Which values of a program are truth values, and which inputs are indices.

#include "ir/value_kinds.h"

#include <gtest/gtest.h>

#include "tests/unit/program_text.h"

namespace pet::value_kinds_test {
namespace {

using testing_support::program;

TEST(ValueKinds, TruthIsWhatIsCompared) {
  struct Case {
    std::string_view program;
    bool isTruth, isComputedWith;
  };
  const Case kCases[] = {
      {"x: [2]\n z: [2]\n y = Greater(x, z)", true, false},
      {"x: [2]\n z: [2]\n c = Greater(x, z)\n n = Not(c)\n y = Transpose(n) perm=[0]", true, false},
      {"i: [2]\n y = OneHot(i) depth=3", true, false},
      {"x: [2]\n y = Not(x)", false, false},
      {"x: [2]\n z: [2]\n c = Greater(x, z)\n y = Where(c, x, z)", false, false},
      {"x: [2]\n z: [2]\n c = Greater(x, z)\n y = Where(x, c, c)", false, true},
      {"x: [2]\n z: [2]\n c = Greater(x, z)\n y = Mul(c, x)", false, true},
      {"i: [2]\n t: [3, 4]\n h = OneHot(i) depth=3\n y = MatMul(h, t)", false, true},
  };
  for (const Case& c : kCases) {
    const Program p = program(c.program);
    EXPECT_EQ(isTruth(p, p.outputs()[0]), c.isTruth) << c.program;
    EXPECT_EQ(computesWithTruth(p), c.isComputedWith) << c.program;
  }
}

TEST(ValueKinds, IndicesAreWhatRowsAreReadBy) {
  struct Case {
    std::string_view program;
    std::optional<int64_t> positions;  ///< of the first input
  };
  const Case kCases[] = {
      {"i: [2]\n y = OneHot(i) depth=3", 3},
      {"i: [2]\n t: [7, 4]\n y = Lookup(i, t) negative=3", 7},
      {"i: [2, 1]\n s = Squeeze(i) axes=[1]\n c = Clip(s) min=0 max=2\n y = OneHot(c) depth=3", 3},
      {"t: [7, 4]\n i: [2]\n y = Lookup(i, t)", std::nullopt},
      {"x: [2]\n z: [2]\n i = Add(x, z)\n y = OneHot(i) depth=3", std::nullopt},
      {"x: [2]\n y = Clip(x) min=0 max=2", std::nullopt},
  };
  for (const Case& c : kCases) {
    const Program p = program(c.program);
    const auto positions = positionsChosenBy(p, p.inputs()[0]);
    EXPECT_EQ(positions ? positions->asConstant() : std::nullopt, c.positions) << c.program;
  }
}

}  // namespace
}  // namespace pet::value_kinds_test
