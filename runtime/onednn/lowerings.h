#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <variant>

#include "runtime/onednn/planner.h"

namespace pet::onednn {

inline constexpr auto kInference = dnnl::prop_kind::forward_inference;

/// A function of one number that oneDNN applies with another primitive.
struct Activation {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};

/// The operators that are applied to the result of another operator before it is stored.
struct Epilogue {
  /// Per channel, first; empty: 1 and 0.
  std::vector<float> scale, shift;
  /// Then, in this order, functions and sums with another value.
  std::vector<std::variant<Activation, Value>> post;
  int length = 0;  ///< members of the chain
  Value result;    ///< the value after all of this

  bool isEmpty() const { return length == 0; }
  /// The value that is added; null: none.
  const Value* sum() const;
  const Activation* onlyActivation() const;
  /// The same for one channel more than once: scale and shift are there, for `channels`.
  void complete(int64_t channels);
};

/// The longest epilogue that the nodes `members` (each reads the one before) make for a value of which dimension
/// `channel` has the channels, but no longer than `limit`.
Epilogue epilogueOf(const Planner& planner, Value value, std::span<const int> members, size_t channel, int limit);

/// The node as a function that oneDNN has. Nothing: it has none.
std::optional<Activation> activationOf(const Node& node);

struct LowerRow {
  std::string_view op;
  /// Emits the node's steps, with the epilogue, and defines epilogue.result. False: not with this epilogue; throws
  /// NotLowered where not at all.
  bool (*lower)(Planner&, int node, const Epilogue&);
  /// Which dimension of the result an epilogue's scale and shift go along; -1: the last. Null: takes no epilogue.
  int (*channel)(const Planner&, int node) = nullptr;
  /// Takes an epilogue before others may: the operator is heavy.
  bool heavy = false;
};

/// What LowerRow::channel is for most: dimension 1, and the last one.
inline int channelDimension(const Planner&, int) {
  return 1;
}
inline int lastDimension(const Planner& p, int node) {
  return std::max(0, static_cast<int>(p.extents({node, 0}).size()) - 1);
}

const LowerRow* findLowering(std::string_view op);

// The rows, by family.
std::span<const LowerRow> convLowerings();
std::span<const LowerRow> matmulLowerings();
std::span<const LowerRow> elementLowerings();
std::span<const LowerRow> poolLowerings();
std::span<const LowerRow> normalizationLowerings();
std::span<const LowerRow> moveLowerings();
std::span<const LowerRow> concatLowerings();
std::span<const LowerRow> sumLowerings();

/// A Resize that is no view.
bool lowerInterpolation(Planner& p, int n);

/// Post-ops of a primitive; `sum` says whether the added value stands in the destination (else it is argument of a
/// binary post-op, with this form).
dnnl::primitive_attr attributesOf(const Epilogue& epilogue, const dnnl::memory::desc* binary);

}  // namespace pet::onednn
