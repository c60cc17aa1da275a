#pragma once

#include "applier/view/view.h"
#include "runtime/counterparts.h"

namespace pet {

/// What a rewritten graph's view has of the original's; both at numbers. Constants are the same where their bytes are,
/// other inputs by name, other nodes by operator, attributes and operands. A result of another node that is not
/// constant stands for the original's value of the same ONNX name.
Counterparts counterparts(const View& original, const View& rewritten);

}  // namespace pet
