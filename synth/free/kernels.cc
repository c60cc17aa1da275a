#include "synth/free/kernels.h"

#include <algorithm>
#include <cstring>

namespace pet::freemode {
namespace {

// GCC makes a second copy for wider vectors; both compute the same integers.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define PET_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define PET_WIDE
#endif

/// x mod p + a little: a number below 2^34 that is congruent to x.
constexpr uint64_t fold(uint64_t x) {
  return (x & kPrime) + (x >> 31);
}
constexpr Element reduce(uint64_t x) {
  uint64_t y = fold(fold(x));
  return static_cast<Element>(y >= kPrime ? y - kPrime : y);
}
constexpr Element product(Element a, Element b) {
  return reduce(static_cast<uint64_t>(a) * b);
}
constexpr Element power(Element a, uint64_t e) {
  Element result = 1;
  for (; e; e >>= 1, a = product(a, a)) {
    if (e & 1) result = product(result, a);
  }
  return result;
}
constexpr Element inverse(int64_t n) {
  return power(static_cast<Element>(n), kPrime - 2);
}

// --- Convolutions. Three products of elements and a folded number stay below 2^64. ---

PET_WIDE void addTap(uint64_t* sums, const Element* x, uint64_t k, size_t count) {
  for (size_t i = 0; i < count; ++i)
    sums[i] = fold(sums[i]) + k * x[i];
}

PET_WIDE void addThreeTaps(uint64_t* sums, const Element* x, const Element* k, size_t count) {
  const uint64_t k0 = k[0], k1 = k[1], k2 = k[2];
  for (size_t i = 0; i < count; ++i)
    sums[i] = fold(sums[i]) + k0 * x[i] + k1 * x[i + 1] + k2 * x[i + 2];
}

/// Images with a border of zeros: [N C, H + 2 rows, W + 2 columns].
void padInto(const TensorView& x, size_t rows, size_t columns, std::vector<Element>& padded) {
  const auto& e = x.type->extents;
  auto planes = static_cast<size_t>(e[0] * e[1]), h = static_cast<size_t>(e[2]), w = static_cast<size_t>(e[3]);
  size_t width = w + 2 * columns, plane = (h + 2 * rows) * width;
  padded.assign(planes * plane + 2 * columns, 0);
  for (size_t p = 0; p < planes; ++p) {
    for (size_t r = 0; r < h; ++r)
      std::memcpy(&padded[p * plane + (r + rows) * width + columns], x.data + (p * h + r) * w, w * sizeof(Element));
  }
}

/// y[n,f,h,w] = Σ x[n, g C + c, h + r - P, w + s - Q] k[f,c,r,s]; a row of the padded image is a run of positions.
void convolve(const TensorView& x, const TensorView& k, Element* out, Scratch& scratch) {
  const auto &xe = x.type->extents, &ke = k.type->extents;
  auto n = static_cast<size_t>(xe[0]), channels = static_cast<size_t>(xe[1]), h = static_cast<size_t>(xe[2]),
       w = static_cast<size_t>(xe[3]), filters = static_cast<size_t>(ke[0]), inner = static_cast<size_t>(ke[1]),
       rows = static_cast<size_t>(ke[2]), columns = static_cast<size_t>(ke[3]);
  padInto(x, rows / 2, columns / 2, scratch.padded);
  size_t width = w + columns - 1, plane = (h + rows - 1) * width, count = (h - 1) * width + w;
  size_t perGroup = filters / (channels / inner);
  scratch.sums.resize(count);
  for (size_t i = 0; i < n * filters; ++i) {
    size_t image = i / filters, f = i % filters;
    std::fill(scratch.sums.begin(), scratch.sums.end(), 0);
    const Element* padded = &scratch.padded[(image * channels + f / perGroup * inner) * plane];
    const Element* taps = k.data + f * inner * rows * columns;
    for (size_t c = 0; c < inner; ++c) {
      for (size_t r = 0; r < rows; ++r, taps += columns) {
        const Element* row = padded + c * plane + r * width;
        if (columns == 3) {
          addThreeTaps(scratch.sums.data(), row, taps, count);
        } else {
          for (size_t s = 0; s < columns; ++s)
            addTap(scratch.sums.data(), row + s, taps[s], count);
        }
      }
    }
    for (size_t r = 0; r < h; ++r) {
      for (size_t s = 0; s < w; ++s)
        *out++ = reduce(scratch.sums[r * width + s]);
    }
  }
}

/// Combines the elements of the window around each position that lie inside, from 0 on.
template <class Combine, class Finish>
void pool(const TensorView& x, const Extents& window, Element* out, Combine combine, Finish finish) {
  const auto& e = x.type->extents;
  int64_t h = e[2], w = e[3], up = window[0] / 2, left = window[1] / 2;
  for (int64_t p = 0; p < e[0] * e[1]; ++p) {
    const Element* plane = x.data + p * h * w;
    for (int64_t r = 0; r < h; ++r) {
      for (int64_t s = 0; s < w; ++s) {
        uint64_t all = 0;
        for (int64_t a = std::max<int64_t>(0, r - up); a <= std::min(h - 1, r + up); ++a) {
          for (int64_t b = std::max<int64_t>(0, s - left); b <= std::min(w - 1, s + left); ++b)
            all = combine(all, plane[a * w + b]);
        }
        *out++ = finish(all);
      }
    }
  }
}

/// The border counts, as zeros.
void averagePool(const TensorView& x, const Extents& window, Element* out) {
  Element share = inverse(window[0] * window[1]);
  pool(
      x, window, out, [](uint64_t a, Element b) { return a + b; },
      [&](uint64_t sum) { return product(reduce(sum), share); });
}

// --- Order and functions. Representatives are compared after a multiplication: their own order would have neighbours
// that differ by a one of some constant, where a function that is monotone hardly sees it. ---

constexpr Element kScramble = 1203457931, kUnscramble = power(kScramble, kPrime - 2);

/// The largest number of a random set, with one of each block of 2^12 numbers and 0, that is not above x.
Element atMost(Element x) {
  auto member = [](uint64_t block) { return block == 0 ? 0 : block << 12 | (mix(block) & 0xfff); };
  uint64_t block = x >> 12, here = member(block);
  return static_cast<Element>(here <= x ? here : member(block - 1));
}

Element apply(Activation f, Element x) {
  Element y = product(x, kScramble);
  const uint64_t square = static_cast<uint64_t>(y) * y;
  if (f == Activation::kRelu) y = atMost(y);
  if (f == Activation::kTanh) y = static_cast<Element>(square >> 31);
  if (f == Activation::kSigmoid) y = static_cast<Element>((square >> 32) + (1u << 29));
  return product(y, kUnscramble);
}

void maxPool(const TensorView& x, const Extents& window, Element* out, Scratch& scratch) {
  scratch.padded.resize(x.type->size());
  for (size_t i = 0; i < scratch.padded.size(); ++i)
    scratch.padded[i] = product(x.data[i], kScramble);
  pool(
      {x.type, scratch.padded.data()}, window, out, [](uint64_t a, Element b) { return std::max<uint64_t>(a, b); },
      [](uint64_t most) { return product(static_cast<Element>(most), kUnscramble); });
}

void applyTo(Activation f, Element* data, size_t count) {
  for (size_t i = 0; f != Activation::kNone && i < count; ++i)
    data[i] = apply(f, data[i]);
}

// --- The rest ---

Element sum(Element a, Element b) {
  uint64_t s = static_cast<uint64_t>(a) + b;
  return static_cast<Element>(s >= kPrime ? s - kPrime : s);
}

template <class F>
void elementwise(const TensorView& a, const TensorView& b, size_t count, Element* out, F f) {
  size_t stepA = a.type->rank > 0 || count == 1, stepB = b.type->rank > 0 || count == 1;
  for (size_t i = 0; i < count; ++i)
    out[i] = f(a.data[i * stepA], b.data[i * stepB]);
}

void matMul(const TensorView& a, const TensorView& b, Element* out) {
  auto m = static_cast<size_t>(a.type->extents[0]), inner = static_cast<size_t>(a.type->extents[1]),
       n = static_cast<size_t>(b.type->extents[1]);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      uint64_t all = 0;
      for (size_t k = 0; k < inner; ++k)
        all = fold(all) + static_cast<uint64_t>(a.data[i * inner + k]) * b.data[k * n + j];
      *out++ = reduce(all);
    }
  }
}

/// The elements of one position in the dimensions before `axis`: those of `axis` and behind it.
size_t runLength(const TensorType& type, int axis) {
  size_t n = 1;
  for (size_t d = static_cast<size_t>(axis); d < kMostRank; ++d)
    n *= static_cast<size_t>(type.extents[d]);
  return n;
}

void concat(int axis, const TensorView& a, const TensorView& b, size_t count, Element* out) {
  size_t runA = runLength(*a.type, axis), runB = runLength(*b.type, axis), runs = count / (runA + runB);
  for (size_t i = 0; i < runs; ++i) {
    out = std::copy_n(a.data + i * runA, runA, out);
    out = std::copy_n(b.data + i * runB, runB, out);
  }
}

void split(const Step& step, const TensorView& x, const TensorType& result, Element* out) {
  size_t from = runLength(*x.type, step.op.axis), to = runLength(result, step.op.axis), runs = result.size() / to;
  size_t begin = step.output == 0 ? 0 : from - to;
  for (size_t i = 0; i < runs; ++i)
    out = std::copy_n(x.data + i * from + begin, to, out);
}

void transpose(const TensorView& x, Element* out) {
  auto m = static_cast<size_t>(x.type->extents[0]), n = static_cast<size_t>(x.type->extents[1]);
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = 0; i < m; ++i)
      *out++ = x.data[i * n + j];
  }
}

/// Zeros around the kernel's rows and columns.
void enlarge(const TensorView& k, const TensorType& result, Element* out) {
  const auto &from = k.type->extents, &to = result.extents;
  auto rows = static_cast<size_t>(from[2]), columns = static_cast<size_t>(from[3]), width = static_cast<size_t>(to[3]);
  size_t up = (static_cast<size_t>(to[2]) - rows) / 2, left = (width - columns) / 2,
         plane = static_cast<size_t>(to[2]) * width;
  std::fill_n(out, result.size(), 0);
  for (size_t p = 0; p < static_cast<size_t>(from[0] * from[1]); ++p) {
    for (size_t r = 0; r < rows; ++r)
      std::copy_n(k.data + (p * rows + r) * columns, columns, out + p * plane + (r + up) * width + left);
  }
}

}  // namespace

void compute(
    const Step& step, std::span<const TensorView> operands, const TensorType& result, Element* out, Scratch& scratch) {
  const TensorView& x = operands[0];
  size_t count = result.size();
  switch (step.op.kind) {
    case OperatorKind::kAdd:
      return elementwise(x, operands[1], count, out, sum);
    case OperatorKind::kMul:
      return elementwise(x, operands[1], count, out, product);
    case OperatorKind::kMatMul:
      return matMul(x, operands[1], out);
    case OperatorKind::kConv:
      convolve(x, operands[1], out, scratch);
      return applyTo(step.op.activation, out, count);
    case OperatorKind::kConcat:
      return concat(step.op.axis, x, operands[1], count, out);
    case OperatorKind::kSplit:
      return split(step, x, result, out);
    case OperatorKind::kTranspose:
      return transpose(x, out);
    case OperatorKind::kPad:
      return enlarge(x, result, out);
    case OperatorKind::kAveragePool:
      return averagePool(x, step.op.kernel, out);
    case OperatorKind::kMaxPool:
      return maxPool(x, step.op.kernel, out, scratch);
    case OperatorKind::kRelu:
    case OperatorKind::kSigmoid:
    case OperatorKind::kTanh: {
      std::copy_n(x.data, count, out);
      OperatorKind k = step.op.kind;
      return applyTo(k == OperatorKind::kRelu   ? Activation::kRelu
                     : k == OperatorKind::kTanh ? Activation::kTanh
                                                : Activation::kSigmoid,
                     out, count);
    }
  }
}

std::vector<Element> randomValue(size_t size, uint64_t seed) {
  std::vector<Element> value(size);
  for (size_t i = 0; i < size; ++i)
    value[i] = static_cast<Element>(mix(mix(seed) + i) % kPrime);
  return value;
}

std::vector<Element> leafValue(const Leaf& leaf, uint64_t seed) {
  const Extents& e = leaf.extents;
  auto size = static_cast<size_t>(elementCount(e));
  if (leaf.constant == Constant::kNone) return randomValue(size, seed);
  if (leaf.constant == Constant::kOnes) return std::vector<Element>(size, 1);
  if (leaf.constant == Constant::kMeanKernel) return std::vector<Element>(size, inverse(e[2] * e[3]));
  std::vector<Element> value(size);
  auto n = static_cast<size_t>(e[0]), window = size / (n * n);
  for (size_t i = 0; i < n; ++i)
    value[(i * n + i) * window + window / 2] = 1;
  return value;
}

void Fingerprints::reserve(size_t elements) {
  for (size_t i = keys_.size(); i < elements; ++i)
    keys_.push_back(mix(mix(seed_ ^ 0x66696e6765727072) + i) | 1);
}

uint64_t Fingerprints::of(const TensorType& type, const Element* data) const {
  uint64_t h = 0, size = type.size();
  for (size_t i = 0; i < size; ++i)
    h += keys_[i] * data[i];
  return mix(h ^ type.extentsKey());
}

}  // namespace pet::freemode
