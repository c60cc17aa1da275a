// Convolutions of integers on oneDNN, against their definition. Scales are such that no sum lies between two integers.

#include <random>

#include <gtest/gtest.h>

#include "runtime/onednn/byte_engine.h"
#include "tests/unit/plain_bytes.h"

namespace pet::onednn_bytes_test {
namespace {

struct BytesCase {
  std::string name;
  Extents x, y, kernel, strides{1, 1}, dilations{1, 1}, before{0, 0}, after{0, 0};
  int64_t group = 1;
  int32_t zeroX = 0, zeroY = 0;
  uint8_t least = 0, most = 255;
};

void PrintTo(const BytesCase& c, std::ostream* out) {
  *out << c.name;
}

const BytesCase kCases[] = {
    {"plain", {2, 16, 5, 6}, {2, 32, 3, 4}, {3, 3}},
    {"pads", {1, 16, 5, 6}, {1, 32, 5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"zeros", {1, 16, 5, 6}, {1, 32, 3, 4}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, 113, 131},
    {"pads that are no zeros", {1, 16, 5, 6}, {1, 32, 5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 113, 131},
    {"an image", {1, 3, 15, 14}, {1, 32, 8, 7}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}, 1, 114, 0},
    {"pointwise", {1, 24, 7, 7}, {1, 40, 7, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, 120, 125},
    {"by channel", {1, 32, 7, 7}, {1, 32, 7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 32, 0, 0},
    {"groups and dilations", {1, 32, 9, 9}, {1, 32, 5, 5}, {3, 3}, {1, 1}, {2, 2}, {0, 0}, {0, 0}, 2, 7, 0},
    {"a range", {1, 16, 5, 6}, {1, 16, 5, 6}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, 0, 100, 100, 180},
    {"rows", {1, 64, 1, 1}, {1, 10, 1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, 3, 128},
    {"one dimension", {2, 16, 9}, {2, 16, 7}, {3}, {1}, {1}, {0}, {0}},
};

class OneDnnBytesTest : public ::testing::TestWithParam<BytesCase> {};

TEST_P(OneDnnBytesTest, EqualsTheDefinition) {
  const BytesCase& given = GetParam();
  std::mt19937 random(7);
  auto draw = [&](int least, int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most - least + 1)) + least;
  };
  ByteConvolution c{
      given.x, given.y, given.kernel, given.strides, given.dilations, given.before, given.after, given.group,
      {},      {},      {},           given.zeroX,   given.zeroY,     given.least,  given.most};
  const int64_t depth = c.x[1] / c.group * elementCount(c.kernel);
  for (int64_t i = 0; i < c.y[1] * depth; ++i)
    c.weights.push_back(static_cast<int8_t>(draw(-128, 127)));
  for (int64_t f = 0; f < c.y[1]; ++f) {
    c.bias.push_back(static_cast<float>(draw(-1000, 1000)));
    c.scale.push_back(1.0F / static_cast<float>(2 * draw(200, 400) + 1));
  }
  auto prepared = oneDnnByteEngine(1)(c);
  if (!prepared) GTEST_SKIP() << "not on this processor";
  std::vector<uint8_t> x(static_cast<size_t>(elementCount(c.x))), y(static_cast<size_t>(elementCount(c.y))), wanted = y;
  for (uint8_t& q : x)
    q = static_cast<uint8_t>(draw(0, 255));
  ASSERT_TRUE(prepared->run(x.data(), y.data()));
  ASSERT_TRUE(testing_support::PlainBytes(c).run(x.data(), wanted.data()));
  EXPECT_EQ(y, wanted) << prepared->how();
}

INSTANTIATE_TEST_SUITE_P(Cases, OneDnnBytesTest, ::testing::ValuesIn(kCases));

}  // namespace
}  // namespace pet::onednn_bytes_test
