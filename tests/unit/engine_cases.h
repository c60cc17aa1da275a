// Programs that every engine of ours computes, and what is asked of their results.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "ir/text.h"
#include "runtime/draw.h"
#include "runtime/reference/reference.h"
#include "tests/unit/engine_cases/attention.h"
#include "tests/unit/engine_cases/convolutions.h"
#include "tests/unit/engine_cases/functions.h"
#include "tests/unit/engine_cases/moves.h"
#include "tests/unit/engine_cases/normalizations.h"
#include "tests/unit/engine_cases/pools.h"
#include "tests/unit/engine_cases/products.h"

namespace pet::testing_support {

inline const std::vector<EngineCase>& engineCases() {
  static const std::vector<EngineCase> kAll = [] {
    std::vector<EngineCase> all;
    for (std::span<const EngineCase> cases : std::initializer_list<std::span<const EngineCase>>{
             kConvolutions, kProducts, kFunctions, kPools, kNormalizations, kAttention, kMoves})
      all.insert(all.end(), cases.begin(), cases.end());
    return all;
  }();
  return kAll;
}

/// What the reference makes of them.
inline std::vector<Tensor<float>> expected(const Program& program, const TensorMap& inputs) {
  auto results = execute<float>(program, {}, inputsFrom<float>(inputs));
  EXPECT_TRUE(results) << results.error().message();
  std::vector<Tensor<float>> tensors;
  for (const auto& r : *results)
    tensors.push_back(*r);
  return tensors;
}

/// The program's inputs: small whole numbers, or real ones.
inline TensorMap draw(const Program& program, bool integers) {
  TensorMap tensors;
  for (Value v : program.inputs()) {
    Extents extents = *evaluate(program.shape(v), {});
    Draw source(1, program.name(v));
    if (!integers) {
      tensors.emplace(program.name(v), drawReal(source, extents));
      continue;
    }
    Tensor<int64_t> whole = drawNonZero(source, extents, 3);
    tensors.emplace(program.name(v), Tensor<float>(extents, {whole.data.begin(), whole.data.end()}));
  }
  return tensors;
}

/// The largest difference, in units of the largest value.
inline double distance(const Tensor<float>& found, const Tensor<float>& wanted) {
  double worst = 0, most = 1e-30;
  for (size_t i = 0; i < wanted.data.size(); ++i) {
    const double y = wanted.data[i], difference = std::abs(found.data[i] - y);
    if (std::isfinite(y)) most = std::max(most, std::abs(y));
    if (found.data[i] == wanted.data[i] || (std::isnan(found.data[i]) && std::isnan(y))) continue;
    worst = std::max(worst, std::isnan(difference) ? 1e30 : difference);
  }
  return worst / most;
}

}  // namespace pet::testing_support
