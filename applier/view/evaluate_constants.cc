#include "applier/view/evaluate_constants.h"

#include "ir/evaluate.h"

namespace pet {

template <class T>
Expected<const Tensor<T>*> ConstantEvaluator::evaluate(Value v, std::map<Value, Tensor<T>>& done) {
  if (auto it = done.find(v); it != done.end()) return &it->second;
  if (auto c = view_.constants.find(v.node); c != view_.constants.end()) {
    return &done.emplace(v, c->second.template values<T>()).first->second;
  }
  std::vector<const Tensor<T>*> operands;
  for (Value o : view_.program.node(v).operands) {
    auto x = evaluate(o, done);
    if (!x) return x;
    operands.push_back(*x);
  }
  auto results = evaluateNode<T>(view_.program, v.node, {}, operands);
  if (!results) return tl::unexpected(results.error());
  for (int o = 0; o < static_cast<int>(results->size()); ++o) {
    done.emplace(Value{v.node, o}, std::move((*results)[static_cast<size_t>(o)]));
  }
  return &done.at(v);
}

Expected<Constant> ConstantEvaluator::value(Value v) {
  if (auto c = view_.constants.find(v.node); c != view_.constants.end()) return c->second;
  if (view_.elements[static_cast<size_t>(v.node)] == ElementType::kDouble) {
    return evaluate(v, doubles_).map([](const Tensor<double>* t) { return Constant::of(*t); });
  }
  return evaluate(v, floats_).map([&](const Tensor<float>* t) {
    return Constant::rounded(view_.elements[static_cast<size_t>(v.node)], *t);
  });
}

}  // namespace pet
