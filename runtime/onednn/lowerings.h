#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "runtime/onednn/planner.h"
#include "runtime/plan/epilogue.h"

namespace pet::onednn {

inline constexpr auto kInference = dnnl::prop_kind::forward_inference;

struct LowerRow {
  std::string_view op;
  /// Emits the node's steps, with the epilogue, and defines epilogue.result. False: not with this epilogue; throws
  /// NotLowered where not at all.
  bool (*lower)(Planner&, int node, const Epilogue&);
  /// Which dimension of the result an epilogue's scale and shift go along. Null: takes no epilogue.
  size_t (*channel)(const Planner&, int node) = nullptr;
  /// Takes an epilogue before others may: the operator is heavy.
  bool heavy = false;
};

/// What LowerRow::channel is for most: dimension 1, and the last one.
inline size_t channelDimension(const Planner&, int) {
  return 1;
}
inline size_t lastDimension(const Planner& p, int node) {
  return std::max<size_t>(1, p.extents({node, 0}).size()) - 1;
}

const LowerRow* findLowering(std::string_view op);

// The rows, by family.
std::span<const LowerRow> convLowerings();
std::span<const LowerRow> matmulLowerings();
std::span<const LowerRow> elementLowerings();
std::span<const LowerRow> poolLowerings();
std::span<const LowerRow> normalizationLowerings();
std::span<const LowerRow> resampleLowerings();

/// The function as oneDNN names it.
dnnl::algorithm algorithmOf(Function function);

/// y = f(x), of one dense form; may be one place. Returns the primitive's name.
std::string emitFunction(Planner& p, const Activation& function, const Place& x, const Place& y);

/// Post-ops of a primitive; `sum` says whether the added value stands in the destination (else it is argument of a
/// binary post-op, with this form).
dnnl::primitive_attr attributesOf(const Epilogue& epilogue, const dnnl::memory::desc* binary);

}  // namespace pet::onednn
