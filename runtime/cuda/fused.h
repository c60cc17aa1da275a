#pragma once

#include <vector>

#include "runtime/cuda/points.h"

namespace pet::cuda {

/// How much of an epilogue a library's plan computes: the shift, a sum, a function, each only behind the one before.
struct Fused {
  bool bias = false, added = false, activated = false;
  friend bool operator==(const Fused&, const Fused&) = default;
};

/// What to ask a library for, the most first. The scale is in the weights.
std::vector<Fused> choicesOf(const Epilogue& epilogue);
/// The function that is computed with this choice.
std::optional<Activation> activationIn(const Fused& fused, const Epilogue& epilogue);
/// Something is left of it.
bool leavesRest(const Fused& fused, const Epilogue& epilogue);
/// What is left of it, computed in place by a kernel of our own.
void emitRest(Planner& p, const Fused& fused, const Epilogue& epilogue, const Place& y, size_t channel);

}  // namespace pet::cuda
