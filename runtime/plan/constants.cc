#include "runtime/plan/constants.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace pet::plan {
namespace {

/// Values of fewer elements are kept once they are made.
constexpr int64_t kLarge = 1 << 12;

}  // namespace

Constants::Constants(const Program& program, Weights weights)
    : program_(program), weights_(std::move(weights)), isConstant_(constantNodes(program)) {}

TensorRef<float> Constants::value(Value v) {
  if (auto found = kept_.find(v); found != kept_.end()) return found->second;
  Values made;
  for (int node : missingFor(v.node)) {
    const auto results = evaluated(node, made);
    for (size_t i = 0; i < results.size(); ++i) {
      const Value result{node, static_cast<int>(i)};
      made.emplace(result, results[i]);
      if (node == v.node || results[i]->size() < kLarge) kept_.insert_or_assign(result, results[i]);
    }
  }
  return kept_.at(v);
}

StoredFloats Constants::stored(Value v) {
  if (weights_.stored && !kept_.contains(v) && program_.node(v).is(ops::kInput)) {
    if (auto weight = weights_.stored(program_.name(v))) {
      checkExtents(v.node, weight->extents);
      return std::move(*weight);
    }
  }
  const TensorRef<float> tensor = value(v);
  return {tensor->extents, tensor->data.data(), tensor};
}

void Constants::drop(Value v) {
  auto found = kept_.find(v);
  if (found != kept_.end() && found->second->size() >= kLarge) kept_.erase(found);
}

/// The nodes that have to be evaluated for this one, which is the last of them.
std::vector<int> Constants::missingFor(int node) const {
  std::set<int> missing{node};
  for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
    for (Value v : program_.nodes()[static_cast<size_t>(*it)].operands) {
      if (!kept_.contains(v)) missing.insert(v.node);
    }
  }
  return {missing.begin(), missing.end()};
}

std::vector<TensorRef<float>> Constants::evaluated(int node, const Values& made) const {
  const Node& each = program_.nodes()[static_cast<size_t>(node)];
  if (each.is(ops::kInput)) return {weight(node)};
  std::vector<const Tensor<float>*> operands;
  for (Value v : each.operands) {
    auto kept = kept_.find(v);
    operands.push_back((kept != kept_.end() ? kept->second : made.at(v)).get());
  }
  auto computed = evaluateNode<float>(program_, node, {}, operands);
  if (!computed) throw NoConstant(computed.error());
  std::vector<TensorRef<float>> results;
  for (Tensor<float>& tensor : *computed)
    results.push_back(std::make_shared<const Tensor<float>>(std::move(tensor)));
  return results;
}

TensorRef<float> Constants::weight(int node) const {
  const std::string& name = program_.name({node, 0});
  TensorRef<float> weight = weights_.tensors(name);
  if (!weight) throw NoConstant({ErrorKind::kModel, "no value for the weight", name, ""});
  checkExtents(node, weight->extents);
  return weight;
}

void Constants::checkExtents(int node, const Extents& extents) const {
  const Value v{node, 0};
  const Extents wanted = evaluate(program_.shape(v), {}).value_or(Extents{});
  if (extents == wanted) return;
  throw NoConstant({ErrorKind::kModel, fmt::format("its value has extents {}, not {}", str(extents), str(wanted)),
                    program_.name(v), ""});
}

}  // namespace pet::plan
