#pragma once

#include <algorithm>
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

/// Infinite where a difference is no number.
template <class T>
double largestDifference(const Tensor<float>& a, const Tensor<T>& b) {
  double largest = 0;
  for (size_t i = 0; i < b.data.size(); ++i) {
    double difference = std::abs(static_cast<double>(a.data[i]) - static_cast<double>(b.data[i]));
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

/// Infinite where a value is not finite.
template <class T>
double largestMagnitude(const Tensor<T>& t) {
  double largest = 0;
  for (T x : t.data)
    largest = std::isfinite(x) ? std::max(largest, std::abs(static_cast<double>(x)))
                               : std::numeric_limits<double>::infinity();
  return largest;
}

/// One run of a program.
inline Expected<std::vector<Tensor<float>>> runOn(const FloatEngine& engine,
                                                  const Program& program,
                                                  const InputSource<float>& weights,
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
