#pragma once

#include <functional>
#include <vector>

#include "runtime/reference/reference.h"

namespace pet {

/// Magnitudes of activations at which a value inside the program meets a number that it is added to, multiplied by or
/// clipped at: where inputsAt(1) and inputsAt(2) make it m and 2^k·m, a number c is met at (c / m)^(1 / k). That is
/// exact for values that are homogeneous in the activations (sums and products of them), else a guess. At most six
/// distinct ones; none if the program cannot be evaluated.
std::vector<double> scalesThatMeetNumbers(const Program& program,
                                          const Bindings& symbols,
                                          const std::function<InputSource<double>(double scale)>& inputsAt);

}  // namespace pet
