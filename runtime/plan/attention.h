#pragma once

#include <optional>
#include <vector>

#include "runtime/plan/planner.h"

namespace pet::plan {

/// Attention in its pieces, y = softmax(scale · q k + Σ terms) v: what a library computes in one call, without the
/// scores in memory.
struct Attention {
  /// What is added to the scores, which it broadcasts to.
  struct Term {
    Value value;
    double factor = 1;
    /// The value is a condition, and −inf is added where it holds (kWhereTrue) or does not.
    enum class Kind { kNumbers, kHiddenWhereTrue, kHiddenWhereFalse } kind = Kind::kNumbers;
  };

  Value q, k, v;  ///< [.., queries, size], [.., size, keys], [.., keys, size of y]
  Value y;
  double scale = 1;
  std::vector<Term> terms;
  std::vector<int> members;  ///< the nodes that compute it, in the program's order
};

/// The attention that the node `n` is the last product of: its pieces are read by nothing else, scales are one number
/// each, terms do not make the scores larger. Nothing: it is none.
std::optional<Attention> attentionAt(const Planner& planner, int n);

/// The sum of terms that are all constant, of the extents that they broadcast to together, but the last two of which
/// are `queries` and `keys`.
Tensor<float> constantTerms(const Planner& planner, const Attention& attention);

/// The extents of the sum of an attention's terms: 1 where none of them differs, but for queries and keys.
Extents extentsOfTerms(const Planner& planner, const Attention& attention);

}  // namespace pet::plan
