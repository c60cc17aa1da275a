#include "runtime/reference/reference.h"

#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "ir/ops/op.h"

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
    int total = static_cast<int>(program_.nodes().size());
    for (int n = 0; n < total; ++n) {
      if (reads_[static_cast<size_t>(n)] > 0) {
        if (auto done = runNode(n); !done) return tl::unexpected(done.error());
      }
      if (options.progress) options.progress(n + 1, total);
    }
    std::vector<TensorRef<T>> outputs;
    for (Value v : program_.outputs())
      outputs.push_back(value(v));
    return outputs;
  }

 private:
  const TensorRef<T>& value(Value v) const {
    return values_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
  }

  Expected<void> runNode(int n) {
    const Node& node = program_.nodes()[static_cast<size_t>(n)];
    if (node.is(ops::kInput)) return readInput(n, node);
    std::vector<const Tensor<T>*> operands;
    for (Value v : node.operands)
      operands.push_back(value(v).get());
    auto results = evaluator_(n, operands);
    if (!results) return tl::unexpected(results.error());
    for (Tensor<T>& t : *results) {
      values_[static_cast<size_t>(n)].push_back(std::make_shared<const Tensor<T>>(std::move(t)));
    }
    for (Value v : node.operands) {
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
InputSource<T> inputsFrom(const TensorMap& tensors) {
  return [&tensors](std::string_view name) -> TensorRef<T> {
    auto found = tensors.find(name);
    if (found == tensors.end()) return nullptr;
    const Tensor<float>& t = found->second;
    if constexpr (std::is_same_v<T, float>) {
      return borrow(t);
    } else {
      return std::make_shared<const Tensor<T>>(t.extents, std::vector<T>(t.data.begin(), t.data.end()));
    }
  };
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

}  // namespace pet
