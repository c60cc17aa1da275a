#include "ir/half.h"

#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

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

/// All numbers of 16 bits, and those beside the middles between them.
TEST(Half, ManyAtOnceAreAsOneByOne) {
  std::vector<uint16_t> bits(0x10000);
  std::iota(bits.begin(), bits.end(), uint16_t{0});
  std::vector<float> all(bits.size()), numbers;
  allFromHalf(bits, all.data());
  for (size_t i = 0; i < bits.size(); ++i) {
    const float one = fromHalf(bits[i]);
    EXPECT_TRUE(std::isnan(one) ? std::isnan(all[i]) : std::bit_cast<uint32_t>(one) == std::bit_cast<uint32_t>(all[i]))
        << i;
    if (std::isnan(one)) continue;
    const float middle = std::isinf(one) ? one : one + (fromHalf(static_cast<uint16_t>(i ^ 1U)) - one) / 2;
    for (float x : {one, middle, std::nextafter(middle, -INFINITY), std::nextafter(middle, INFINITY)})
      numbers.push_back(x);
  }
  for (size_t count : {numbers.size(), size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{17}}) {
    std::vector<uint16_t> found(count + 1, 0x1234);
    allToHalf(std::span(numbers).first(count), found.data());
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(found[i], toHalf(numbers[i])) << numbers[i];
    EXPECT_EQ(found[count], 0x1234);
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
