#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/compare.h"

// Shared by the comparisons: where two tensors differ, for people, and by how much.
namespace pet {

/// "[0, 3, 17, 5]": the position of element `i`.
inline std::string position(const Extents& extents, size_t i) {
  Extents at(extents.size());
  for (size_t d = extents.size(); d-- > 0;) {
    at[d] = static_cast<int64_t>(i % static_cast<size_t>(extents[d]));
    i /= static_cast<size_t>(extents[d]);
  }
  return fmt::format("[{}]", fmt::join(at, ", "));
}

/// Says so if the extents differ.
template <class T, class U>
std::optional<std::string> differentExtents(const Tensor<T>& expected, const Tensor<U>& found) {
  if (expected.extents == found.extents) return std::nullopt;
  return fmt::format("extents {}, the original's are {}", str(found.extents), str(expected.extents));
}

/// The largest of magnitude(i), i < count; infinite where one is no number. In lanes, of which none waits for another.
template <class F>
double largestOf(size_t count, F magnitude) {
  constexpr size_t kLanes = 16;
  std::array<double, kLanes> largest{};
  bool isNumber = true;
  auto enter = [&](size_t i, size_t lane) {
    const double m = magnitude(i);
    isNumber &= m == m;
    largest[lane] = m > largest[lane] ? m : largest[lane];
  };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      enter(i + lane, lane);
  }
  for (; i < count; ++i)
    enter(i, 0);
  return isNumber ? *std::max_element(largest.begin(), largest.end()) : std::numeric_limits<double>::infinity();
}

/// Infinite where a difference is no number.
template <class T>
double largestDifference(const Tensor<float>& a, const Tensor<T>& b) {
  const float* left = a.data.data();
  const T* right = b.data.data();
  return largestOf(b.data.size(),
                   [=](size_t i) { return std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i])); });
}

/// Infinite where a value is not finite.
template <class T>
double largestMagnitude(const Tensor<T>& t) {
  const T* values = t.data.data();
  return largestOf(t.data.size(), [=](size_t i) { return std::abs(static_cast<double>(values[i])); });
}

/// An engine may take all of them as 0.
inline bool isTiny(double magnitude) {
  return magnitude < static_cast<double>(std::numeric_limits<float>::min());
}

/// One run of a program.
inline Expected<std::vector<Tensor<float>>> runOn(const FloatEngine& engine,
                                                  const Program& program,
                                                  const Weights& weights,
                                                  const TensorMap& inputs,
                                                  const ReportShare& progress = nullptr) {
  return engine(program, weights).and_then([&](const FloatRun& run) { return run(inputs, progress); });
}

/// A replacement that cannot be evaluated where its pattern can is wrong, unless an operator has no meaning there.
inline Comparison failureOfReplacement(const Error& error) {
  if (error.kind == ErrorKind::kUnsupported) return notPossible(error);
  return {Comparison::Verdict::kFails, "the replacement cannot be evaluated: " + error.message(), "", 0};
}

/// Runs a comparison; an exception, for absurd extents, becomes a verdict.
template <class F>
Comparison guarded(F comparison) {
  try {
    return comparison();
  } catch (const OverflowError& e) {
    return notPossible({ErrorKind::kModel, e.what(), "", ""});
  } catch (const std::bad_alloc&) {
    return notPossible({ErrorKind::kModel, "not enough memory", "", ""});
  } catch (const std::length_error&) {
    return notPossible({ErrorKind::kModel, "a tensor is too large", "", ""});
  }
}

}  // namespace pet
