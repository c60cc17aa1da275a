#pragma once

#include "synth/free/operators.h"

namespace pet::freemode {

/// An element of the field of p = 2^31 - 1, reduced.
using Element = uint32_t;
constexpr uint64_t kPrime = 2147483647;

/// A value as a step reads it; row-major.
struct TensorView {
  const TensorType* type = nullptr;
  const Element* data = nullptr;
};

/// Scratch memory of one thread.
struct Scratch {
  std::vector<Element> padded;
  std::vector<uint64_t> sums;
};

/// Computes a step over F_p. Functions of the reals are functions of the field that keep what the operators declare,
/// with an order of its elements: Relu is idempotent, monotone and keeps 0; Tanh is monotone and keeps 0; Sigmoid is
/// monotone. A maximum is in the same order. So laws of order are seen, and those that need both an order and a sum
/// (max(a + c, b + c)) are not; what is equal here by chance fails its proof.
void compute(
    const Step& step, std::span<const TensorView> operands, const TensorType& result, Element* out, Scratch& scratch);

/// The value of a constant, or a random one for an input.
std::vector<Element> leafValue(const Leaf& leaf, uint64_t seed);
std::vector<Element> randomValue(size_t size, uint64_t seed);

/// Multilinear hashing: two different values of the same extents meet with a probability of about 2^-64.
class Fingerprints {
 public:
  explicit Fingerprints(uint64_t seed) : seed_(seed) {}
  /// Grows the table of keys; not for several threads.
  void reserve(size_t elements);
  uint64_t of(const TensorType& type, const Element* data) const;

 private:
  uint64_t seed_;
  std::vector<uint64_t> keys_;
};

}  // namespace pet::freemode
