#pragma once

#include <vector>

#include "rules/rule.h"

namespace pet {

/// A program that seems to compute what the pattern does.
struct Exchange {
  std::string name;  ///< a stable key: "MatMul(q:MatMul(Transpose(k):v))"
  Program program;
};

struct ExchangeOptions {
  int operators = 4;                  ///< at most, layouts included; as many as the pattern has if that is more
  size_t values = 20'000;             ///< at most
  size_t elements = size_t{1} << 24;  ///< computed, about: nothing is begun beyond
  uint64_t seed = 1;
};

/// Small graph enumeration over the pattern's own operators (docs/search-space.md, Exchanges): all programs of the
/// operators that the pattern has, with their attributes, on its inputs; of Transpose of the last two dimensions where
/// it has a MatMul; of MatMul, Transpose and Squeeze where it sums products; of Mul and ReduceSum where it multiplies
/// rows by columns; of Add where it sums what is joined; of a Resize where it expands; of those of its definition, Add
/// and a Clip from above at 0 where it has a function that is bent at 0. Values that agree at a small shape are one
/// value, computed by the program that came first, a smallest one; what agrees with the pattern's output is a
/// candidate. Values are doubles: functions and maxima are themselves.
///
/// O(values² · operators). In the order of size, then of enumeration.
std::vector<Exchange> enumerateExchanges(const Pattern& pattern, const ExchangeOptions& options);

}  // namespace pet
