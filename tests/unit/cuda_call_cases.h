// Pools and normalisations, as calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/call_kernels.h"
#include "tests/unit/cuda_calls.h"
#include "tests/unit/engine_cases.h"

namespace pet::testing_support {

struct PoolCase {
  std::string name;
  Extents x, window, strides, dilations, before, after, y;
  bool isMax = true, countsPads = false;
};

inline const PoolCase kPoolCases[] = {
    {"3 x 3, strides", {2, 5, 9, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {5, 4}},
    {"unlike pads", {1, 33, 7, 9}, {2, 5}, {1, 3}, {1, 1}, {0, 2}, {1, 2}, {7, 3}},
    {"gaps", {1, 4, 9, 11}, {3, 2}, {1, 2}, {2, 3}, {1, 0}, {2, 1}, {8, 5}},
    {"a window ends behind the pads", {1, 3, 6, 6}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {3, 3}},
    {"a mean", {2, 6, 9, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {5, 4}, false},
    {"a mean with its pads", {1, 6, 9, 8}, {3, 4}, {1, 2}, {1, 1}, {1, 2}, {2, 1}, {10, 4}, false, true},
    {"a mean that ends behind its pads", {1, 3, 6, 6}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 1}, {3, 4}, false, true},
    {"one dimension", {3, 8, 40}, {4}, {3}, {1}, {0}, {2}, {13}},
    {"three", {1, 4, 5, 6, 7}, {2, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {1, 0, 1}, {5, 3, 4}, false},
};

inline cuda::PoolCall callOf(const PoolCase& c, bool channelsLast) {
  Extents y{c.x[0], c.x[1]};
  y.insert(y.end(), c.y.begin(), c.y.end());
  return {formOf(c.x, channelsLast),
          formOf(y, channelsLast),
          c.window,
          c.strides,
          c.dilations,
          c.before,
          c.after,
          c.isMax,
          c.countsPads};
}

struct NormCase {
  std::string name;
  cuda::NormCall::Kind kind;
  Extents x;
  bool shift = true;
};

inline const NormCase kNormCases[] = {
    {"rows of 7", cuda::NormCall::Kind::kLayer, {9, 7, 1, 1}},
    {"rows of 768", cuda::NormCall::Kind::kLayer, {5, 768, 1, 1}},
    {"long rows, no shift", cuda::NormCall::Kind::kLayer, {2, 3000, 1, 1}, false},
    {"roots of means of squares", cuda::NormCall::Kind::kRms, {12, 130, 1, 1}, false},
    {"... shifted", cuda::NormCall::Kind::kRms, {3, 64, 1, 1}},
    {"images", cuda::NormCall::Kind::kInstance, {2, 5, 9, 7}},
    {"many channels", cuda::NormCall::Kind::kInstance, {1, 70, 4, 3}},
    {"one dimension", cuda::NormCall::Kind::kInstance, {2, 6, 50}},
    {"three", cuda::NormCall::Kind::kInstance, {1, 4, 5, 6, 7}},
};

inline cuda::NormCall callOf(const NormCase& c, bool channelsLast) {
  const cuda::TensorForm form = formOf(c.x, channelsLast);
  return {c.kind, form, form, 1e-5F, c.shift};
}

inline cuda::KernelSource kernelOf(const cuda::PoolCall& call) {
  return generate(windowKernel(call));
}
inline cuda::KernelSource kernelOf(const cuda::NormCall& call) {
  return generate(rowKernel(call));
}

/// A library's plan for a call, and the kernel of ours.
template <class CallKind>
struct PlanAndKernel {
  std::string name;
  CallKind call;
  std::unique_ptr<cuda::Call> plan, own;
};

/// `planOf`: a library's plan for a call, perhaps an error, or a kernel of ours. All are prepared before the first one
/// runs, so that their kernels are compiled as one file. `tolerance`: of max|y|. How many plans the library has.
template <class Case, class PlanOf>
int expectPlansAgree(cuda::Device& device, std::span<const Case> cases, double tolerance, PlanOf planOf) {
  std::vector<PlanAndKernel<decltype(callOf(cases[0], false))>> prepared;
  for (const Case& c : cases) {
    for (bool channelsLast : {false, true}) {
      const auto call = callOf(c, channelsLast);
      auto plan = planOf(call);
      if (!plan || (*plan)->isOwn) continue;
      prepared.push_back(
          {c.name + (channelsLast ? ", channels last" : ""), call, std::move(*plan), device.kernel(kernelOf(call))});
    }
  }
  EXPECT_TRUE(device.finish());
  for (const auto& each : prepared) {
    CallOperands operands(device, each.call);
    const Tensor<float> wanted = operands.run(*each.plan);
    EXPECT_LE(distance(operands.run(*each.own), wanted), tolerance) << each.name << ", " << each.plan->name();
  }
  return static_cast<int>(prepared.size());
}

}  // namespace pet::testing_support
