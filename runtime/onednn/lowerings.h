#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "runtime/onednn/planner.h"
#include "runtime/plan/epilogue.h"

namespace pet::onednn {

inline constexpr auto kInference = dnnl::prop_kind::forward_inference;

using LowerRow = LowerRowOf<Planner>;

const LowerRow* findLowering(std::string_view op);

// The rows, by family.
std::span<const LowerRow> convLowerings();
std::span<const LowerRow> matmulLowerings();
std::span<const LowerRow> elementLowerings();
std::span<const LowerRow> poolLowerings();
std::span<const LowerRow> normalizationLowerings();
std::span<const LowerRow> resampleLowerings();
std::span<const LowerRow> concatLowerings();

/// The function as oneDNN names it.
dnnl::algorithm algorithmOf(Function function);

/// y = f(x), of one dense form; may be one place. Returns the primitive's name.
std::string emitFunction(Planner& p, const Activation& function, const Place& x, const Place& y);

/// Post-ops of a primitive; `sum` says whether the added value stands in the destination (else it is argument of a
/// binary post-op, with this form).
dnnl::primitive_attr attributesOf(const Epilogue& epilogue, const dnnl::memory::desc* binary);

}  // namespace pet::onednn
