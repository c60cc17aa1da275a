#pragma once

#include <algorithm>
#include <cmath>

#include "runtime/byte_convolution.h"

// Convolutions of integers as their definition says.
namespace pet::testing_support {

class PlainBytes final : public PreparedBytes {
 public:
  explicit PlainBytes(const ByteConvolution& c) : c_(c) {}

  Expected<void> run(const uint8_t* x, uint8_t* y) override {
    const int64_t channels = c_.y[1], positions = elementCount({c_.y.begin() + 2, c_.y.end()});
    for (int64_t at = 0; at < c_.y[0] * positions * channels; ++at) {
      const int64_t f = at % channels, image = at / channels / positions;
      const double sum = c_.bias[static_cast<size_t>(f)] + sumOf(x, image, at / channels % positions, f);
      const double rounded = c_.zeroY + std::nearbyint(sum * c_.scale[static_cast<size_t>(f)]);
      y[at] = static_cast<uint8_t>(std::clamp<double>(rounded, c_.least, c_.most));
    }
    return {};
  }
  std::string how() const override { return "plain"; }

 private:
  static Extents positionIn(const Extents& extents, int64_t at) {
    Extents position(extents.size());
    for (size_t d = extents.size(); d-- > 0; at /= extents[d])
      position[d] = at % extents[d];
    return position;
  }

  double sumOf(const uint8_t* x, int64_t image, int64_t position, int64_t f) const {
    const Extents from(c_.x.begin() + 2, c_.x.end()), at = positionIn({c_.y.begin() + 2, c_.y.end()}, position);
    const int64_t inner = c_.x[1] / c_.group, outer = c_.y[1] / c_.group, taps = elementCount(c_.kernel);
    int64_t sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const Extents step = positionIn(c_.kernel, tap);
      int64_t there = 0;
      bool inside = true;
      for (size_t d = 0; d < from.size(); ++d) {
        const int64_t v = at[d] * c_.strides[d] + step[d] * c_.dilations[d] - c_.before[d];
        inside = inside && v >= 0 && v < from[d];
        there = there * from[d] + v;
      }
      for (int64_t c = 0; inside && c < inner; ++c) {
        const int64_t channel = f / outer * inner + c;
        const int64_t q = x[(image * elementCount(from) + there) * c_.x[1] + channel];
        sum += c_.weights[static_cast<size_t>((f * inner + c) * taps + tap)] * (q - c_.zeroX);
      }
    }
    return static_cast<double>(sum);
  }

  ByteConvolution c_;
};

inline ByteEngine plainBytes() {
  return [](const ByteConvolution& c) -> std::unique_ptr<PreparedBytes> { return std::make_unique<PlainBytes>(c); };
}

}  // namespace pet::testing_support
