#include "session/kernels/bytes.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "ir/wide_loops.h"

namespace pet::session {
namespace {

/// What is added to a float of at most 2^22 and taken away again rounds it to an integer, half to even.
constexpr float kRounder = 12582912.0F;  // 1.5 · 2^23

/// round(x) between two integers. Branches are values, so that loops become vectors.
[[gnu::always_inline]] inline int32_t rounded(float x, float least, float most) {
  const float v = x > least ? (x < most ? x : most) : least;
  return static_cast<int32_t>((v + kRounder) - kRounder);
}

template <class T>
[[gnu::always_inline]] inline void quantizeRow(const float* x, T* y, int64_t count, float scale, float zero) {
  const float least = std::numeric_limits<T>::min() - zero, most = std::numeric_limits<T>::max() - zero;
  const auto shift = static_cast<int32_t>(zero);
  for (int64_t i = 0; i < count; ++i)
    y[i] = static_cast<T>(rounded(x[i] / scale, least, most) + shift);
}

template <class T>
[[gnu::always_inline]] inline void dequantizeRow(const T* x, float* y, int64_t count, float scale, float zero) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = (static_cast<float>(x[i]) - zero) * scale;
}

PET_WIDE_LOOPS void addRow(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t count, const ByteSum& s) {
  const auto zeroA = static_cast<float>(s.a.zero), zeroB = static_cast<float>(s.b.zero);
  const float scaleA = s.a.scale, scaleB = s.b.scale, scale = s.y.scale;
  const auto least = static_cast<float>(s.least - s.y.zero), most = static_cast<float>(s.most - s.y.zero);
  const int32_t zero = s.y.zero;
  for (int64_t i = 0; i < count; ++i) {
    const float v = (static_cast<float>(a[i]) - zeroA) * scaleA + (static_cast<float>(b[i]) - zeroB) * scaleB;
    y[i] = static_cast<uint8_t>(rounded(v / scale, least, most) + zero);
  }
}

PET_WIDE_LOOPS void maximumOf(uint8_t* y, const uint8_t* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = y[i] > x[i] ? y[i] : x[i];
}

PET_WIDE_LOOPS void addTo(int32_t* sums, const uint8_t* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    sums[i] += x[i];
}

}  // namespace

PET_WIDE_LOOPS void quantizeBytes(const float* x, int8_t* y, int64_t count, float scale, float zero) {
  quantizeRow(x, y, count, scale, zero);
}
PET_WIDE_LOOPS void quantizeBytes(const float* x, uint8_t* y, int64_t count, float scale, float zero) {
  quantizeRow(x, y, count, scale, zero);
}
PET_WIDE_LOOPS void dequantizeBytes(const int8_t* x, float* y, int64_t count, float scale, float zero) {
  dequantizeRow(x, y, count, scale, zero);
}
PET_WIDE_LOOPS void dequantizeBytes(const uint8_t* x, float* y, int64_t count, float scale, float zero) {
  dequantizeRow(x, y, count, scale, zero);
}

void ByteSum::run(const uint8_t* from, const uint8_t* other, uint8_t* to, int64_t count) const {
  addRow(from, other, to, count, *this);
}

void lookUp(const ByteTable& table, const uint8_t* x, uint8_t* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = table[x[i]];
}

void transposeBytes(const uint8_t* x, uint8_t* y, int64_t rows, int64_t columns) {
  constexpr int64_t kBlock = 64;  // a cache line
  for (int64_t begin = 0; begin < columns; begin += kBlock) {
    const int64_t end = std::min(columns, begin + kBlock);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = begin; j < end; ++j)
        y[j * rows + i] = x[i * columns + j];
    }
  }
}

void BytePool::run(const uint8_t* from, uint8_t* to) const {
  const int64_t channels = x[1];
  for (int64_t at = 0; at < y[0] * y[2] * y[3]; ++at, to += channels) {
    const int64_t image = at / (y[2] * y[3]), top = at / y[3] % y[2] * strides[0] - before[0],
                  left = at % y[3] * strides[1] - before[1];
    std::fill_n(to, channels, uint8_t{0});
    for (int64_t tap = 0; tap < kernel[0] * kernel[1]; ++tap) {
      const int64_t row = top + tap / kernel[1] * dilations[0], column = left + tap % kernel[1] * dilations[1];
      if (row < 0 || row >= x[2] || column < 0 || column >= x[3]) continue;
      maximumOf(to, from + ((image * x[2] + row) * x[3] + column) * channels, channels);
    }
  }
}

void ByteMean::run(const uint8_t* from, uint8_t* to) const {
  std::vector<int32_t> sums(static_cast<size_t>(channels));
  for (int64_t n = 0; n < batch; ++n) {
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t v = 0; v < positions; ++v, from += channels)
      addTo(sums.data(), from, channels);
    for (int32_t sum : sums) {
      const auto total = static_cast<float>(sum - positions * x.zero);
      const float mean = total * x.scale / static_cast<float>(positions);
      *to++ = static_cast<uint8_t>(
          rounded(mean / y.scale, static_cast<float>(least - y.zero), static_cast<float>(most - y.zero)) + y.zero);
    }
  }
}

}  // namespace pet::session
