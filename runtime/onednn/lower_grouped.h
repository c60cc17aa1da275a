#pragma once

#include "runtime/onednn/lowerings.h"
#include "runtime/plan/window.h"

namespace pet::onednn {

/// A Conv of few channels with as many, or of each channel by itself, by a kernel of ours. False: it is none, or not
/// with this epilogue, or oneDNN's own is faster, if that is not to be done `always`.
bool lowerAsGrouped(Planner& p, int n, const Window& w, const Epilogue& e, bool always);

}  // namespace pet::onednn
