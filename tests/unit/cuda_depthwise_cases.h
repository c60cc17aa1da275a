// Convolutions of each channel by itself, as calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/depthwise.h"
#include "tests/unit/cuda_calls.h"
#include "tests/unit/engine_cases.h"

namespace pet::testing_support {

struct DepthwiseCase {
  std::string name;
  Extents x, taps, strides, dilations, before, after;
  int64_t perChannel = 1;
  bool bias = false, added = false, relu = false;
  bool transposed = false;
  Extents more = {};  ///< of a transposed one: output_padding
};

inline cuda::ConvCall callOf(const DepthwiseCase& c, bool channelsLast) {
  const int64_t channels = c.x[1];
  Extents y{c.x[0], channels * c.perChannel}, w{channels * c.perChannel, 1};
  if (c.transposed) w = {channels, c.perChannel};
  for (size_t d = 0; d < c.taps.size(); ++d) {
    const int64_t reach = (c.taps[d] - 1) * c.dilations[d] + 1, pads = c.before[d] + c.after[d];
    y.push_back(c.transposed ? (c.x[d + 2] - 1) * c.strides[d] + reach - pads + (c.more.empty() ? 0 : c.more[d])
                             : (c.x[d + 2] + pads - reach) / c.strides[d] + 1);
    w.push_back(c.taps[d]);
  }
  cuda::ConvCall call{formOf(c.x, channelsLast),
                      formOf(w, channelsLast),
                      formOf(y, channelsLast),
                      c.strides,
                      c.dilations,
                      c.before,
                      c.after,
                      channels,
                      c.transposed,
                      c.bias,
                      {},
                      {}};
  if (c.added) call.added = call.y;
  if (c.relu) call.activation = plan::Activation{plan::Function::kRelu, 0, 0};
  return call;
}

/// The same as a transposed one.
inline DepthwiseCase transposed(DepthwiseCase c, Extents more = {}) {
  c.transposed = true;
  c.more = std::move(more);
  return c;
}

inline const DepthwiseCase kDepthwiseCases[] = {
    {"3 x 3", {2, 5, 9, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, true, true, true},
    {"of many channels, strides, unlike pads", {1, 37, 11, 9}, {4, 3}, {2, 3}, {1, 1}, {2, 0}, {1, 2}, 1, true},
    {"dilated, two results a channel", {1, 9, 13, 12}, {3, 5}, {1, 1}, {3, 2}, {3, 4}, {3, 4}, 2, false, true},
    {"taps that never meet the map", {1, 6, 3, 5}, {4, 3}, {1, 1}, {4, 3}, {6, 6}, {7, 7}},
    {"large", {1, 3, 21, 34}, {31, 31}, {1, 1}, {1, 1}, {15, 15}, {15, 15}, 1, false, false, true},
    {"larger", {1, 2, 40, 3}, {35, 3}, {1, 1}, {1, 1}, {17, 1}, {17, 1}},
    {"a row", {2, 11, 1, 170}, {1, 7}, {1, 1}, {1, 1}, {0, 3}, {0, 3}, 1, true},
    {"a row, strides", {1, 5, 1, 61}, {1, 40}, {1, 2}, {1, 1}, {0, 39}, {0, 0}},
    {"three dimensions", {1, 5, 4, 6, 7}, {3, 3, 3}, {1, 2, 1}, {1, 1, 2}, {1, 1, 2}, {1, 1, 2}, 1, true, false, true},
    transposed({"up 2", {2, 5, 9, 7}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1, true, true, true}),
    transposed({"up 2, many channels", {1, 37, 5, 6}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1, true}, {1, 1}),
    transposed({"up, dilated", {1, 9, 7, 5}, {3, 5}, {4, 3}, {2, 2}, {3, 0}, {1, 5}, 2, false, true}, {0, 2}),
    transposed({"up, like factors", {1, 6, 6, 5}, {4, 3}, {4, 6}, {6, 4}, {5, 7}, {2, 1}, 3, true}),
    transposed({"up, gaps", {1, 3, 5, 4}, {2, 1}, {5, 4}, {1, 1}, {0, 0}, {0, 0}, 1, true, false, true}, {3, 1}),
    transposed({"back, stride 1", {1, 11, 8, 9}, {3, 3}, {1, 1}, {2, 1}, {1, 2}, {3, 0}}),
    transposed({"up 32", {1, 3, 3, 4}, {40, 36}, {32, 32}, {1, 1}, {3, 2}, {3, 2}}),
    transposed({"back, many taps", {1, 3, 9, 5}, {71, 17}, {2, 1}, {1, 1}, {30, 8}, {31, 7}}, {1, 0}),
    transposed({"up, a row", {2, 11, 1, 170}, {1, 7}, {1, 2}, {1, 1}, {0, 3}, {0, 3}, 1, true}, {0, 1}),
    transposed({"up, a row of a map", {1, 5, 1, 20}, {3, 8}, {3, 4}, {1, 1}, {1, 2}, {1, 2}, 1, true}),
    transposed({"up in three", {1, 5, 3, 4, 5}, {3, 4, 2}, {2, 2, 2}, {1, 1, 2}, {1, 1, 0}, {1, 1, 1}, 1, true},
               {1, 0, 1}),
};

/// A library's plan for a call, and kernels of ours.
struct DepthwisePlans {
  std::string name;
  cuda::ConvCall call;
  std::unique_ptr<cuda::Call> plain;
  std::vector<std::unique_ptr<cuda::Call>> own;
};

/// All are prepared before the first one runs, so that their kernels are compiled as one file. `tolerance`: of max|y|;
/// `compared` counts the calls that the library has.
inline void expectKernelsAreTheLibrarys(cuda::Device& device, double tolerance, int& compared) {
  std::vector<DepthwisePlans> prepared;
  for (const DepthwiseCase& c : kDepthwiseCases) {
    for (bool channelsLast : {false, true}) {
      const cuda::ConvCall call = callOf(c, channelsLast);
      auto plain = device.conv(call);
      ASSERT_TRUE(plain) << c.name << ": " << plain.error().message();
      DepthwisePlans each{c.name + (channelsLast ? " nhwc" : ""), call, std::move(*plain), {}};
      if (each.plain->name().find("of our own") != std::string::npos) continue;
      ++compared;
      for (const cuda::KernelSource& source : cuda::depthwiseKernels(call))
        each.own.push_back(device.kernel(source));
      EXPECT_FALSE(each.own.empty()) << each.name;
      prepared.push_back(std::move(each));
    }
  }
  ASSERT_TRUE(device.finish());
  for (const DepthwisePlans& each : prepared) {
    CallOperands operands(device, each.call);
    const Tensor<float> wanted = operands.run(*each.plain);
    for (size_t i = 0; i < each.own.size(); ++i)
      EXPECT_LE(distance(operands.run(*each.own[i]), wanted), tolerance) << each.name << ", tiles " << i;
  }
}

}  // namespace pet::testing_support
