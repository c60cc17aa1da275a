// Convolutions of one channel, and products, by tables of known numbers.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "runtime/cuda/own_kernels.h"
#include "tests/unit/cuda_calls.h"
#include "tests/unit/engine_cases.h"

namespace pet::testing_support {

struct ConvTableCase {
  std::string name;
  Extents x, taps, strides, dilations, before, after;
  int64_t results = 1;
  bool bias = false, added = false, relu = false;
};

inline const ConvTableCase kConvTables[] = {
    {"Winograd's tiles, F(4 x 4, 3 x 3)", {6, 1, 13, 11}, {6, 6}, {4, 4}, {1, 1}, {1, 1}, {4, 2}, 36},
    {"along one axis", {10, 1, 9, 7}, {6, 1}, {4, 1}, {1, 1}, {1, 0}, {2, 0}, 6},
    {"tiles of a cube, all behind them",
     {4, 1, 7, 6, 5},
     {4, 3, 3},
     {2, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     4,
     true,
     true,
     true},
    {"dilated", {3, 1, 12, 10}, {3, 3}, {1, 2}, {3, 2}, {3, 0}, {1, 2}, 5, true, false, true},
    {"as many as fit", {2, 1, 15, 9}, {8, 8}, {6, 6}, {1, 1}, {1, 1}, {5, 3}, 64},
    {"a tap that reads pads alone", {2, 1, 2, 5}, {1, 3}, {1, 1}, {1, 5}, {0, 5}, {0, 5}, 7, false, true},
    {"one position", {1, 1, 3, 3}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 4},
};

struct ProductTableCase {
  std::string name;
  int64_t batch, rows, inner, columns;
  bool relu = false;
  bool shared = false;  ///< right is one matrix for the whole batch
};

inline const ProductTableCase kProductTables[] = {
    {"Winograd's results", 1, 16, 36, 300},
    {"of a batch", 3, 4, 6, 77, true},
    {"of a batch, one operand for all", 2, 5, 8, 40, false, true},
    {"one column", 1, 3, 4, 1},
    {"as many as fit", 1, 36, 64, 130},
};

/// Zeros are among them.
inline std::vector<float> tableOf(int64_t rows, int64_t columns) {
  return numbers(rows * columns, 3);
}

inline cuda::ConvCall callOf(const ConvTableCase& c, bool channelsLast) {
  Extents y{c.x[0], c.results}, w{c.results, 1};
  for (size_t d = 0; d < c.taps.size(); ++d) {
    const int64_t reach = (c.taps[d] - 1) * c.dilations[d] + 1;
    y.push_back((c.x[d + 2] + c.before[d] + c.after[d] - reach) / c.strides[d] + 1);
    w.push_back(c.taps[d]);
  }
  cuda::ConvCall call{formOf(c.x, channelsLast),
                      formOf(w, channelsLast),
                      formOf(y, channelsLast),
                      c.strides,
                      c.dilations,
                      c.before,
                      c.after,
                      1,
                      false,
                      c.bias,
                      {},
                      {},
                      tableOf(c.results, elementCount(c.taps))};
  if (c.added) call.added = call.y;
  if (c.relu) call.activation = plan::Activation{plan::Function::kRelu, 0, 0};
  return call;
}

/// `byColumns`: those of right and of y are neighbours along their columns, as where batches are innermost.
inline cuda::ProductCall callOf(const ProductTableCase& c, bool byColumns) {
  auto form = [&](int64_t rows, int64_t columns) {
    cuda::TensorForm matrices = formOf({c.batch, rows, columns}, false);
    if (byColumns) matrices.strides = {rows * columns, 1, rows};
    return matrices;
  };
  cuda::ProductCall call{formOf({c.batch, c.rows, c.inner}, false),
                         form(c.inner, c.columns),
                         form(c.rows, c.columns),
                         false,
                         {},
                         tableOf(c.rows, c.inner)};
  call.left.strides[0] = 0;
  if (c.shared) call.right.strides[0] = 0;
  if (c.relu) call.activation = plan::Activation{plan::Function::kRelu, 0, 0};
  return call;
}

/// What the device's library computes, and what a kernel with the table in its code does. `tolerance`: of max|y|.
template <class CallKind>
void expectTableIsTheLibrarys(cuda::Device& device,
                              const std::string& name,
                              const CallKind& call,
                              Expected<std::unique_ptr<cuda::Call>> plain,
                              double tolerance) {
  SCOPED_TRACE(name);
  const cuda::OwnKernels own = cuda::ownKernels(call);
  ASSERT_TRUE(plain) << plain.error().message();
  ASSERT_EQ(own.sources.size(), 1);
  auto kernel = device.kernel(own.sources[0]);
  ASSERT_TRUE(device.finish());
  CallOperands operands(device, call);
  operands.set(own.given->pointer, own.given->numbers);
  const Tensor<float> wanted = operands.run(**plain);
  EXPECT_LE(distance(operands.run(*kernel), wanted), tolerance);
}

inline void expectTablesAreTheLibrarys(cuda::Device& device, double tolerance) {
  for (bool other : {false, true}) {
    for (const ConvTableCase& c : kConvTables) {
      const cuda::ConvCall call = callOf(c, other);
      expectTableIsTheLibrarys(device, c.name + (other ? " nhwc" : ""), call, device.conv(call), tolerance);
    }
    for (const ProductTableCase& c : kProductTables) {
      const cuda::ProductCall call = callOf(c, other);
      expectTableIsTheLibrarys(device, c.name + (other ? " by columns" : ""), call, device.product(call), tolerance);
    }
  }
}

}  // namespace pet::testing_support
