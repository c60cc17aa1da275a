#include "ir/half.h"

#include <cmath>

#include <gtest/gtest.h>

#include "applier/onnx/graph.h"

namespace pet::half_test {
namespace {

struct Type {
  const char* name;
  ElementType element;
  uint16_t (*to)(float);
  float (*from)(uint16_t);
  uint16_t infinity;
  float least;  ///< the smallest positive number
};

void PrintTo(const Type& type, std::ostream* out) {
  *out << type.name;
}

class HalfTest : public testing::TestWithParam<Type> {};

TEST_P(HalfTest, EveryNumberIsItself) {
  const Type& type = GetParam();
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = type.from(static_cast<uint16_t>(bits));
    if ((bits & 0x7fffU) > type.infinity) {
      EXPECT_TRUE(std::isnan(x)) << bits;
      EXPECT_TRUE(std::isnan(type.from(type.to(x)))) << bits;
    } else {
      EXPECT_EQ(type.to(x), bits);
    }
  }
}

// Numbers between two neighbours go to the nearer one, the middle to the even one; with both signs.
TEST_P(HalfTest, RoundsToNearestEven) {
  const Type& type = GetParam();
  for (uint16_t bits = 0; bits + 1 < type.infinity; ++bits) {
    const float low = type.from(bits), high = type.from(static_cast<uint16_t>(bits + 1));
    ASSERT_LT(low, high);
    const float middle = low + (high - low) / 2;
    const auto even = static_cast<uint16_t>(bits + (bits & 1U));
    EXPECT_EQ(type.to(middle), even) << bits;
    EXPECT_EQ(type.to(-middle), even | 0x8000U) << bits;
    EXPECT_EQ(type.to(std::nextafter(middle, low)), bits);
    EXPECT_EQ(type.to(std::nextafter(middle, high)), bits + 1);
  }
}

TEST_P(HalfTest, IsInfiniteBeyondItsRange) {
  const Type& type = GetParam();
  const float largest = type.from(static_cast<uint16_t>(type.infinity - 1));
  const auto before = type.from(static_cast<uint16_t>(type.infinity - 2));
  const double limit = static_cast<double>(largest) + (static_cast<double>(largest) - before) / 2;
  EXPECT_EQ(type.to(static_cast<float>(limit)), type.infinity);
  EXPECT_EQ(type.to(std::nextafter(static_cast<float>(limit), 0.0F)), type.infinity - 1);
  EXPECT_EQ(type.to(-INFINITY), type.infinity | 0x8000U);
  EXPECT_EQ(type.from(1), type.least);
}

TEST_P(HalfTest, ConstantsAreRounded) {
  const Type& type = GetParam();
  const Tensor<double> tensor({2, 2}, {1, 1.0 / 3, -1e30, 1e-30});
  const Constant c = Constant::rounded(type.element, tensor);
  const auto values = c.values<double>().data;
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], static_cast<double>(type.from(type.to(static_cast<float>(tensor.data[i])))));
    EXPECT_EQ(values[i], roundedTo(type.element, tensor.data[i]));
  }
  EXPECT_NEAR(values[1], 1.0 / 3, unitRoundoff(type.element));
  EXPECT_NE(values[1], 1.0 / 3);
  EXPECT_EQ(c.values<float>().extents, (Extents{2, 2}));
  EXPECT_EQ(c.numbers(), values);
}

INSTANTIATE_TEST_SUITE_P(Types,
                         HalfTest,
                         testing::Values(Type{"float16", ElementType::kFloat16, toHalf, fromHalf, 0x7c00, 0x1p-24F},
                                         Type{"bfloat16", ElementType::kBfloat16, toBfloat16, fromBfloat16, 0x7f80,
                                              0x1p-133F}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace pet::half_test
