#pragma once

#include "runtime/onednn/lowerings.h"
#include "runtime/plan/window.h"

namespace pet::onednn {

/// A product with all taps at once, and a sum of its columns. False: not with this epilogue.
bool lowerAsProduct(Planner& p, int n, const Window& w, const Epilogue& e);

/// A product of windows, copied side by side, with the kernel, where that pays: a kernel that does not fit the caches
/// is read once, and not for each row of the result. False: it does not, or not with this epilogue.
bool lowerAsProductOfWindows(Planner& p, int n, const Window& w, const Epilogue& e);

/// A Conv of one tap as a product of rows, with a kernel of ours for the function behind it. False: it is none, or none
/// for which that pays.
bool lowerAsRows(Planner& p, int n, const Window& w, const Epilogue& e);

}  // namespace pet::onednn
