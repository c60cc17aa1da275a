#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"

namespace pet {

/// Evaluates one node whose symbols are all bound. Errors: an unbound symbol, an operator without a kernel over T,
/// operands of other shapes than the node was built for. Throws OverflowError.
template <class T>
Expected<std::vector<Tensor<T>>> evaluateNode(const Program& program,
                                              int node,
                                              const Bindings& symbols,
                                              const std::vector<const Tensor<T>*>& operands);

/// Evaluates a program: inputs by name, result in the order of program.outputs(). Values are freed after their last
/// use.
template <class T>
Expected<std::vector<Tensor<T>>> evaluate(const Program& program,
                                          const Bindings& symbols,
                                          const std::map<std::string, Tensor<T>>& inputs);

}  // namespace pet
