#include "runtime/reference/reference.h"

#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "ir/work.h"

namespace pet {

std::vector<int> countReads(const Program& program) {
  std::vector<int> reads(program.nodes().size(), 0);
  for (Value v : program.outputs())
    ++reads[static_cast<size_t>(v.node)];
  for (size_t n = reads.size(); n-- > 0;) {
    if (reads[n] == 0) continue;
    for (Value v : program.nodes()[n].operands)
      ++reads[static_cast<size_t>(v.node)];
  }
  return reads;
}

namespace {

/// Per node: the share of the work that is done after it. An element counts for several multiply-adds.
std::vector<double> sharesOfWork(const Program& program, const Bindings& symbols) {
  constexpr double kElement = 8;
  std::vector<double> shares;
  double total = 0;
  for (const Node& n : program.nodes()) {
    if (!n.is(ops::kInput)) {
      total += workOf(program, n, symbols).value_or(0);
      for (const Shape& s : n.shapes)
        total += kElement * elementsOf(s, symbols).value_or(0);
    }
    shares.push_back(total);
  }
  for (double& share : shares)
    share = total > 0 ? share / total : 1;
  return shares;
}

template <class T>
class Execution {
 public:
  Execution(const Program& program,
            const Bindings& symbols,
            const InputSource<T>& inputs,
            const NodeEvaluator<T>& evaluator)
      : program_(program),
        symbols_(symbols),
        inputs_(inputs),
        evaluator_(evaluator),
        reads_(countReads(program)),
        values_(program.nodes().size()) {}

  Expected<std::vector<TensorRef<T>>> run(const ExecuteOptions& options) {
    std::vector<double> shares = options.progress ? sharesOfWork(program_, symbols_) : std::vector<double>();
    for (int n = 0; n < static_cast<int>(program_.nodes().size()); ++n) {
      if (reads_[static_cast<size_t>(n)] > 0 && !node(n).is(ops::kInput)) {
        if (auto done = runNode(n); !done) return tl::unexpected(done.error());
      }
      if (options.progress) options.progress(shares[static_cast<size_t>(n)]);
    }
    std::vector<TensorRef<T>> outputs;
    for (Value v : program_.outputs()) {
      if (auto ok = makeReady(v); !ok) return tl::unexpected(ok.error());
      outputs.push_back(value(v));
    }
    return outputs;
  }

 private:
  const Node& node(int n) const { return program_.nodes()[static_cast<size_t>(n)]; }
  const TensorRef<T>& value(Value v) const {
    return values_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
  }

  /// Inputs are read when they are needed.
  Expected<void> makeReady(Value v) {
    if (!node(v.node).is(ops::kInput) || !values_[static_cast<size_t>(v.node)].empty()) return {};
    return readInput(v.node, node(v.node));
  }

  Expected<void> runNode(int n) {
    std::vector<const Tensor<T>*> operands;
    for (Value v : node(n).operands) {
      if (auto ok = makeReady(v); !ok) return ok;
      operands.push_back(value(v).get());
    }
    auto results = evaluator_(n, operands);
    if (!results) return tl::unexpected(results.error());
    for (Tensor<T>& t : *results) {
      values_[static_cast<size_t>(n)].push_back(std::make_shared<const Tensor<T>>(std::move(t)));
    }
    for (Value v : node(n).operands) {
      if (--reads_[static_cast<size_t>(v.node)] == 0) values_[static_cast<size_t>(v.node)].clear();
    }
    return {};
  }

  Expected<void> readInput(int n, const Node& node) {
    TensorRef<T> tensor = inputs_(node.names[0]);
    if (!tensor) return fail(ErrorKind::kModel, "no value for the input", node.names[0]);
    auto wanted = evaluate(node.shapes[0], symbols_);
    if (!wanted) {
      return fail(ErrorKind::kInternal, fmt::format("a symbol of {} is unbound", str(node.shapes[0])), node.names[0]);
    }
    if (tensor->extents != *wanted || tensor->size() != elementCount(*wanted)) {
      return fail(ErrorKind::kModel,
                  fmt::format("its value has extents {}, not {}", str(tensor->extents), str(*wanted)), node.names[0]);
    }
    values_[static_cast<size_t>(n)].push_back(std::move(tensor));
    return {};
  }

  const Program& program_;
  const Bindings& symbols_;
  const InputSource<T>& inputs_;
  const NodeEvaluator<T>& evaluator_;
  std::vector<int> reads_;
  std::vector<std::vector<TensorRef<T>>> values_;
};

}  // namespace

template <class T>
Expected<std::vector<TensorRef<T>>> executeWith(const Program& program,
                                                const Bindings& symbols,
                                                const InputSource<T>& inputs,
                                                const NodeEvaluator<T>& evaluator,
                                                const ExecuteOptions& options) {
  try {
    return Execution<T>(program, symbols, inputs, evaluator).run(options);
  } catch (const OverflowError& e) {
    return fail(ErrorKind::kModel, e.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kModel, "not enough memory to evaluate the program");
  } catch (const std::length_error&) {
    return fail(ErrorKind::kModel, "a tensor is too large to evaluate");
  }
}

template <class T>
Expected<std::vector<TensorRef<T>>> execute(const Program& program,
                                            const Bindings& symbols,
                                            const InputSource<T>& inputs,
                                            const ExecuteOptions& options) {
  NodeEvaluator<T> evaluator = [&](int node, const std::vector<const Tensor<T>*>& operands) {
    return evaluateNode(program, node, symbols, operands);
  };
  return executeWith(program, symbols, inputs, evaluator, options);
}

template <class T>
InputSource<T> inputsFrom(InputSource<float> floats) {
  if constexpr (std::is_same_v<T, float>) {
    return floats;
  } else {
    return [floats = std::move(floats)](std::string_view name) -> TensorRef<T> {
      TensorRef<float> t = floats(name);
      return t ? std::make_shared<const Tensor<T>>(t->extents, std::vector<T>(t->data.begin(), t->data.end()))
               : nullptr;
    };
  }
}

template <class T>
InputSource<T> inputsFrom(const TensorMap& tensors) {
  return inputsFrom<T>(InputSource<float>([&tensors](std::string_view name) -> TensorRef<float> {
    auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : borrow(found->second);
  }));
}

#define PET_INSTANTIATE_REFERENCE(T)                                                                                  \
  template Expected<std::vector<TensorRef<T>>> execute<T>(const Program&, const Bindings&, const InputSource<T>&,     \
                                                          const ExecuteOptions&);                                     \
  template Expected<std::vector<TensorRef<T>>> executeWith<T>(const Program&, const Bindings&, const InputSource<T>&, \
                                                              const NodeEvaluator<T>&, const ExecuteOptions&);
PET_INSTANTIATE_REFERENCE(float)
PET_INSTANTIATE_REFERENCE(double)
PET_INSTANTIATE_REFERENCE(int64_t)
PET_INSTANTIATE_REFERENCE(Fp)
#undef PET_INSTANTIATE_REFERENCE

template InputSource<float> inputsFrom<float>(const TensorMap&);
template InputSource<double> inputsFrom<double>(const TensorMap&);
template InputSource<float> inputsFrom<float>(InputSource<float>);
template InputSource<double> inputsFrom<double>(InputSource<float>);

}  // namespace pet
