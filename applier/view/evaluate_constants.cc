#include "applier/view/evaluate_constants.h"

#include "applier/onnx/mapping.h"
#include "applier/view/element_types.h"
#include "ir/evaluate.h"

namespace pet {
namespace {

constexpr size_t kMostKept = size_t{1} << 20;  ///< elements

}  // namespace

template <class T>
Expected<const Tensor<T>*> ConstantEvaluator::evaluate(Value v, std::map<Value, Tensor<T>>& done) {
  if (auto it = done.find(v); it != done.end()) return &it->second;
  if (auto c = inputs_.find(v.node); c != inputs_.end()) {
    const Tensor<T>& values = done.emplace(v, c->second.template values<T>()).first->second;
    kept_ += values.data.size();
    if (values.data.size() > kMostKept / 16 && c->second.bytes.mapped()) dropPages(*c->second.bytes);
    return &values;
  }
  std::vector<const Tensor<T>*> operands;
  for (Value o : program_.node(v).operands) {
    auto x = evaluate(o, done);
    if (!x) return x;
    operands.push_back(*x);
  }
  auto results = evaluateNode<T>(program_, v.node, {}, operands);
  if (!results) return tl::unexpected(results.error());
  for (int o = 0; o < static_cast<int>(results->size()); ++o) {
    kept_ += (*results)[static_cast<size_t>(o)].data.size();
    done.emplace(Value{v.node, o}, std::move((*results)[static_cast<size_t>(o)]));
  }
  return &done.at(v);
}

Expected<Constant> ConstantEvaluator::value(Value v) {
  if (auto c = inputs_.find(v.node); c != inputs_.end()) return c->second;
  const ElementType element = elements_[static_cast<size_t>(v.node)];
  auto rounded = [element](const auto* t) { return Constant::rounded(element, *t); };
  auto whole = [element](const auto* t) { return Constant::whole(element, *t); };
  const bool isFloating = isComputed(element), isWhole = !isFloating && !dependsOnReals(program_, elements_, v);
  auto constant = isWhole                                        ? evaluate(v, integers_).map(whole)
                : !isFloating || element == ElementType::kDouble ? evaluate(v, doubles_).map(rounded)
                                                                 : evaluate(v, floats_).map(rounded);
  if (kept_ > kMostKept) {
    floats_.clear();
    doubles_.clear();
    integers_.clear();
    kept_ = 0;
  }
  return constant;
}

}  // namespace pet
