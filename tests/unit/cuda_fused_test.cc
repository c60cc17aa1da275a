// What is one launch: element-wise functions, also where they are read through views, sums of many, and what follows.

#include <gtest/gtest.h>

#include "tests/unit/cuda_host_support.h"

namespace pet::cuda_fused_test {
namespace {

using namespace cuda;
using namespace testing_support;

struct FusedCase {
  std::string name, text;
  std::string nodes;  ///< launchesOf()
};

const FusedCase kFusedCases[] = {
    {"a function in front of a slice",
     "x: [3, 7]\n z: [3, 5]\n f = Swish(x)\n s = Slice(f) axes=[1] starts=[1] ends=[6]\n y = Mul(s, z)", "y"},
    {"in front of a nearest neighbour, of two operands",
     "x: [1, 5, 3, 7]\n w: [1, 5, 1, 1]\n z: [1, 5, 6, 14]\n f = Mul(x, w)\n"
     "u = Resize(f) scales=[1, 1, 1, 1, 2, 1, 2, 1] coordinate_transformation_mode=asymmetric nearest_mode=floor\n"
     "t = Add(u, z)\n y = Swish(t)",
     "y"},
    {"in front of several views in a row",
     "x: [3, 10]\n z: [5, 2, 3]\n f = Sigmoid(x)\n t = Transpose(f) perm=[1, 0]\n r = Reshape(t) shape=[5, 2, 3]\n"
     "y = Add(r, z)",
     "y"},
    {"read through two views of it",
     "x: [3, 8]\n f = Tanh(x)\n a = Slice(f) axes=[1] starts=[0] ends=[4]\n b = Slice(f) axes=[1] starts=[4] ends=[8]\n"
     "y = Mul(a, b)",
     "y"},
    {"in front of a view that fills, which stays",
     "x: [3, 5]\n z: [3, 9]\n f = Exp(x)\n q = Pad(f) pads=[0, 2, 0, 2]\n y = Add(q, z)", "f y"},
    {"in front of a view that fills with zeros, of which it makes zeros",
     "x: [3, 5]\n w: [5]\n z: [3, 4]\n m = Mul(x, w)\n f = Swish(m)\n q = Pad(f) pads=[0, 2, 0, 2]\n"
     "s = Slice(q) axes=[1] starts=[1] ends=[5]\n y = Sub(s, z)",
     "y"},
    {"in front of one that fills with another number, which stays",
     "x: [3, 5]\n z: [3, 9]\n f = Relu(x)\n q = Pad(f) pads=[0, 2, 0, 2] value=1\n y = Add(q, z)", "f y"},
    {"in front of edges that are repeated",
     "x: [3, 5]\n z: [3, 9]\n f = Exp(x)\n q = Pad(f) pads=[0, 2, 0, 2] mode=edge\n y = Add(q, z)", "y"},
    {"not where it would be computed many times",
     "x: [3, 1]\n z: [3, 5]\n f = Exp(x)\n e = Expand(f) shape=[3, 5]\n y = Add(e, z)", "f y"},
    {"not where it is read besides",
     "x: [3, 7]\n z: [3, 5]\n f = Swish(x)\n s = Slice(f) axes=[1] starts=[1] ends=[6]\n y = Mul(s, z)\n return y, f",
     "f y"},
    {"a sum of three, with a function behind it",
     "a: [2, 9]\n b: [2, 9]\n c: [2, 9]\n s = Add(a, b)\n t = Add(s, c)\n y = Swish(t)", "y"},
    {"what is stacked and added, between functions",
     "a: [2, 5, 3]\n b: [2, 5, 3]\n c: [2, 5, 3]\n f = Exp(a)\n g = Tanh(b)\n u = Unsqueeze(f) axes=[3]\n"
     "v = Unsqueeze(g) axes=[3]\n w = Unsqueeze(c) axes=[3]\n k = Concat(u, v, w) axis=3\n"
     "s = ReduceSum(k) axes=[3] keepdims=1\n r = Squeeze(s) axes=[3]\n y = Swish(r)",
     "y"},
    {"of a transposed tensor, in another order",
     "x: [3, 4, 5]\n z: [12, 5]\n t = Transpose(x) perm=[1, 0, 2]\n f = Sigmoid(t)\n r = Reshape(f) shape=[12, 5]\n"
     "y = Add(r, z)",
     "y"},
    {"a sum over taps, with what follows",
     "t: [2, 18, 5, 7]\n s: const [2, 1, 1]\n b: const [2, 1, 1]\n z: [2, 2, 5, 7]\n"
     "o = OffsetReduce(t) kernel_shape=[3, 3] pads=[1, 1, 1, 1]\n u = Mul(o, s)\n v = Add(u, b)\n w = Add(v, z)\n"
     "y = Relu(w)",
     "o"},
    {"a sum of columns, with what follows",
     "t: [1, 27, 12]\n b: const [3, 1, 1]\n o = Col2Im(t) image_shape=[5, 6] block_shape=[3, 3]\n v = Add(o, b)\n"
     "y = Swish(v)",
     "o"},
    {"in front of a reshape that wants a copy, which is one of the operand",
     "x: [3, 6]\n z: [3, 2, 3]\n f = Sigmoid(x)\n g = Gather(f) axis=1 indices=[5, 0, 3, 4, 1, 2]\n"
     "r = Reshape(g) shape=[3, 2, 3]\n y = Add(r, z)",
     "y y"},
};

TEST(CudaFused, IsOneLaunchWhateverLiesBetween) {
  for (const FusedCase& c : kFusedCases) {
    for (ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled}) {
      HostOptions options = hostOptions();
      options.order = order;
      const auto model = modelOn(hostDevice(options), c.text, true);
      ASSERT_TRUE(model) << c.name;
      EXPECT_EQ(launchesOf(*model), c.nodes) << c.name;
    }
  }
}

}  // namespace
}  // namespace pet::cuda_fused_test
