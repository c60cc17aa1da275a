#pragma once

#include <map>
#include <utility>

#include "rules/taso/operators.h"

namespace pet::taso {

/// Which tensor of a substitution: of the source (0) or the target (1); a variable belongs to both and stands as 0.
struct TensorKey {
  int side = 0;
  Tensor tensor;
  static TensorKey of(int side, const Tensor& t) { return {t.isVariable() ? 0 : side, t}; }
  friend auto operator<=>(const TensorKey&, const TensorKey&) = default;
};

/// The rank of a tensor, and the names of its dimensions.
struct TensorRank {
  size_t rank;
  std::vector<std::string> letters;
};

/// The ranks of all tensors that the substitution names, from the operators on both sides that read or make them; 2
/// where nothing determines a rank (sums and products alone): such a rule looks at each position by itself.
Expected<std::map<TensorKey, TensorRank>> inferRanks(const Substitution& s);

}  // namespace pet::taso
