// How kernels that move or map elements go through memory: packs of 16 bytes where all operands lie so, tiles through
// shared memory where an operand has its neighbours along another dimension, else element by element.

#include <gtest/gtest.h>

#include "tests/unit/cuda_host_support.h"
#include "tests/unit/watched_device.h"

namespace pet::cuda_points_test {
namespace {

using namespace cuda;
using namespace testing_support;

struct PointCase {
  std::string name, text;
  std::string inFloat, inHalf;  ///< how
};

const PointCase kPointCases[] = {
    {"a function", "x: [3, 8]\n y = Exp(x)", "packs", "packs"},
    {"of extents that fill no packs", "x: [3, 5]\n y = Exp(x)", "elements", "elements"},
    {"that fill packs of four, not of eight", "x: [3, 4]\n y = Exp(x)", "packs", "elements"},
    {"of what begins inside a pack", "x: [3, 24]\n s = Slice(x) axes=[1] starts=[1] ends=[17]\n y = Exp(s)", "elements",
     "elements"},
    {"of what begins with a pack", "x: [3, 24]\n s = Slice(x) axes=[1] starts=[8] ends=[24]\n y = Exp(s)", "packs",
     "packs"},
    {"of rows that begin anywhere", "x: [3, 21]\n s = Slice(x) axes=[1] starts=[0] ends=[16]\n y = Exp(s)", "elements",
     "elements"},
    {"with a number for each row", "x: [3, 8]\n b: [3, 1]\n y = Add(x, b)", "packs", "packs"},
    {"with numbers for all rows", "x: [3, 8]\n b: [8]\n y = Add(x, b)", "packs", "packs"},
    {"with pads that are packs", "x: [3, 16]\n q = Pad(x) pads=[1, 0, 1, 0]\n y = Exp(q)", "packs", "packs"},
    {"a transposition", "x: [20, 30]\n y = Transpose(x) perm=[1, 0]", "tiles", "tiles"},
    {"channels to the end", "x: [2, 24, 9, 5]\n y = Transpose(x) perm=[0, 2, 3, 1]", "tiles", "tiles"},
    {"channels back", "x: [2, 9, 5, 24]\n y = Transpose(x) perm=[0, 3, 1, 2]", "tiles", "tiles"},
    {"of rows that would leave a tile empty", "x: [20, 5]\n y = Transpose(x) perm=[1, 0]", "elements", "elements"},
    {"of what stays together", "x: [6, 4, 16]\n y = Transpose(x) perm=[1, 0, 2]", "packs", "packs"},
    {"of one of two operands, in its order, and back",
     "x: [20, 30]\n z: [30, 20]\n t = Transpose(x) perm=[1, 0]\n y = Add(t, z)", "tiles tiles", "tiles tiles"},
};

/// Of all of a program's kernels, one after the other.
std::string howOf(const std::string& text, Precision precision) {
  HostOptions options = hostOptions();
  options.precision = precision;
  Watched watched;
  auto program = parseProgram(text, "test");
  EXPECT_TRUE(program) << program.error().message();
  auto model = CudaModel::prepare(*program, inputsFrom<float>(TensorMap()),
                                  std::make_shared<WatchedDevice>(hostDevice(options), watched));
  EXPECT_TRUE(model) << model.error().message();
  std::string how;
  for (const KernelSource& source : watched.kernels) {
    const bool isPacked = source.code.find("storePack(") != std::string::npos;
    how += std::string(how.empty() ? "" : " ") + (source.barriers ? "tiles" : isPacked ? "packs" : "elements");
  }
  return how;
}

TEST(CudaPoints, GoThroughMemoryInPacksAndTiles) {
  for (const PointCase& c : kPointCases) {
    EXPECT_EQ(howOf(c.text, Precision::kFp32), c.inFloat) << c.name;
    EXPECT_EQ(howOf(c.text, Precision::kBf16), c.inHalf) << c.name;
  }
}

}  // namespace
}  // namespace pet::cuda_points_test
