#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/evaluate.h"
#include "ir/progress.h"

namespace pet {

/// A tensor that is owned in common, or borrowed from an owner who outlives it.
template <class T>
using TensorRef = std::shared_ptr<const Tensor<T>>;

template <class T>
TensorRef<T> borrow(const Tensor<T>& tensor) {
  return {std::shared_ptr<void>(), &tensor};
}

using TensorMap = std::map<std::string, Tensor<float>, std::less<>>;

/// The value of an input by name; null where there is none. Asked once per input and execution, when it is first read:
/// what is made for the asking lives only while it is needed.
template <class T>
using InputSource = std::function<TensorRef<T>(std::string_view name)>;

/// Inputs held in float, converted one by one as they are read. The map must outlive the source.
template <class T>
InputSource<T> inputsFrom(const TensorMap& tensors);
/// Inputs that come in float, likewise.
template <class T>
InputSource<T> inputsFrom(InputSource<float> floats);

/// Computes a node whose operands are known; evaluateNode() by default.
template <class T>
using NodeEvaluator = std::function<Expected<std::vector<Tensor<T>>>(int node, const std::vector<const Tensor<T>*>&)>;

/// How many reads each node's outputs have to serve, outputs of the program included; 0 for dead nodes.
std::vector<int> countReads(const Program& program);

struct ExecuteOptions {
  /// Called after each node, by its share of the work.
  ReportShare progress = nullptr;
};

/// The reference executor: evaluates a program whose symbols are all bound, node by node, with the one evaluation that
/// ir/ has. Nodes that no output needs are skipped; an input is read at its first use, and a value freed after its last
/// one. Results are in the order of
/// program.outputs(). Errors: a missing input or one of other extents, what evaluateNode() reports, no memory,
/// overflow.
template <class T>
Expected<std::vector<TensorRef<T>>> execute(const Program& program,
                                            const Bindings& symbols,
                                            const InputSource<T>& inputs,
                                            const ExecuteOptions& options = {});

/// The same schedule with another meaning of a node (see runtime/rounding.h).
template <class T>
Expected<std::vector<TensorRef<T>>> executeWith(const Program& program,
                                                const Bindings& symbols,
                                                const InputSource<T>& inputs,
                                                const NodeEvaluator<T>& evaluator,
                                                const ExecuteOptions& options = {});

}  // namespace pet
