#include "runtime/cuda/conv_phases.h"

#include <algorithm>

namespace pet::cuda {
namespace {

/// The digits of a number in a mixed radix, the last one the lowest.
Extents digitsOf(int64_t number, const Extents& radix) {
  Extents digits(radix.size());
  for (size_t d = radix.size(); d-- > 0; number /= radix[d])
    digits[d] = number % radix[d];
  return digits;
}

/// Per phase and tap of the convolution the tap of the transposed one; -1: it has none there.
std::vector<int64_t> tapsOfPhases(const Window& transposed, const Window& conv) {
  std::vector<int64_t> taps;
  for (int64_t p = 0; p < elementCount(transposed.strides); ++p) {
    const Extents phase = digitsOf(p, transposed.strides);
    for (int64_t j = 0; j < elementCount(conv.kernel); ++j) {
      const Extents at = digitsOf(j, conv.kernel);
      int64_t tap = 0;
      bool isThere = true;
      for (size_t d = 0; d < at.size(); ++d) {
        const int64_t k = phase[d] + transposed.strides[d] * (conv.kernel[d] - 1 - at[d]);
        isThere = isThere && k < transposed.kernel[d];
        tap = tap * transposed.kernel[d] + k;
      }
      taps.push_back(isThere ? tap : -1);
    }
  }
  return taps;
}

}  // namespace

Access ConvPhases::resultIn(const Access& whole) const {
  Access y = whole;
  const std::vector<int64_t> ofChannels = whole.tables[1];
  y.tables[1].clear();
  for (int64_t c : first)
    y.tables[1].push_back(ofChannels[static_cast<size_t>(c)]);
  for (size_t d = 0; d < from.size(); ++d) {
    auto& table = y.tables[2 + d];
    table.clear();
    for (size_t i = 0; i < from[d].size(); ++i) {
      const int64_t channel = ofChannels[static_cast<size_t>(from[d][i])] - ofChannels[0];
      table.push_back(whole.tables[2 + d][static_cast<size_t>(where[d][i])] + channel);
    }
  }
  normalise(y);
  return y;
}

std::optional<ConvPhases> phasesOf(const Window& w, const Tensor<float>& weights) {
  if (std::any_of(w.dilations.begin(), w.dilations.end(), [](int64_t d) { return d > 0; })) return std::nullopt;
  const size_t spatial = w.kernel.size();
  const int64_t phases = elementCount(w.strides), taps = elementCount(w.kernel);
  const int64_t in = w.inner / w.group, out = w.outer / w.group;
  ConvPhases result{w, {}, {}, {}, {}, {}};
  Window& conv = result.conv;
  conv.transposed = false;
  conv.strides.assign(spatial, 1);
  conv.outer = conv.y[1] = phases * w.outer;
  int64_t later = phases;  // of the digits behind this one
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t s = w.strides[d], reach = (w.kernel[d] + s - 1) / s;  // of one phase
    const auto x = static_cast<int64_t>(w.x.access.tables[2 + d].size());
    const int64_t first = w.before[d] / s, last = (w.before[d] + w.y[2 + d] - 1) / s;
    const int64_t pad = std::max({int64_t{0}, reach - 1 - first, last + 1 - x});
    later /= s;
    auto& from = result.from.emplace_back();
    auto& where = result.where.emplace_back();
    for (int64_t i = 0; i < w.y[2 + d]; ++i) {
      const int64_t padded = i + w.before[d];
      from.push_back(padded % s * later * out);
      where.push_back(padded / s - (reach - 1) + pad);
    }
    conv.kernel[d] = reach;
    conv.before[d] = conv.after[d] = pad;
    conv.y[2 + d] = x + 2 * pad - reach + 1;
  }
  Extents shape{conv.outer, in};
  shape.insert(shape.end(), conv.kernel.begin(), conv.kernel.end());
  result.weights = Tensor<float>(shape);
  const std::vector<int64_t> tapOf = tapsOfPhases(w, conv);
  const int64_t convTaps = elementCount(conv.kernel);
  for (int64_t c = 0; c < conv.outer; ++c) {
    const int64_t group = c / out / phases, phase = c / out % phases, channel = c % out;
    result.channels.push_back(group * out + channel);
    if (phase == 0) result.first.push_back(c);
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t j = 0; j < convTaps; ++j) {
        const int64_t tap = tapOf[static_cast<size_t>(phase * convTaps + j)];
        if (tap < 0) continue;
        const int64_t from = ((group * in + i) * out + channel) * taps + tap;
        result.weights.data[static_cast<size_t>((c * in + i) * convTaps + j)] = weights.data[static_cast<size_t>(from)];
      }
    }
  }
  return result;
}

}  // namespace pet::cuda
