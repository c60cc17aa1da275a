#pragma once

#include <optional>
#include <vector>

#include "runtime/ort/client.h"

namespace pet::bench {

/// Seconds.
struct Times {
  double median = 0, p10 = 0, p90 = 0;
  std::vector<double> samples;
};

/// How much faster the second one of two is that ran in turns: above 1, it is.
struct Ratio {
  double ofMedians = 1;
  double paired = 1, p10 = 1, p90 = 1;  ///< of the ratios within each round
};

/// A model, itself once more, and what was made of it.
struct Figures {
  Times original;
  Ratio control;  ///< what a ratio says that has no cause
  std::optional<Times> rewritten = std::nullopt;
  Ratio ratio = {};
  double difference = 0;  ///< largest |difference| of outputs, relative to the original's largest |output|
};

Ratio ratioOf(const std::vector<double>& original, const std::vector<double>& other);

/// Of an answer for {original, original} or {original, original, rewritten}.
Figures figuresOf(const TimeAnswer& answer);

}  // namespace pet::bench
