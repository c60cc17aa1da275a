#include "rules/rewrite/terms.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "rules/rewrite/symbols.h"

namespace pet::rewrite {
namespace {

std::string keyOf(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes)
    text += fmt::format("{}={};", name, canonicalText(value));
  return text;
}

/// A Split that cuts its operand's Concat where that joined.
bool undoesConcat(const Node& concat, const Shape& joined, const Attributes& split, const Program& program) {
  if (!concat.is(ops::kConcat)) return false;
  const Expr& axis = concat.scalar("axis");
  const auto& parts = std::get<std::vector<Expr>>(split.find("split")->second);
  if (std::get<Expr>(split.find("axis")->second) != axis || parts.size() != concat.operands.size()) return false;
  auto dimension = static_cast<size_t>(axis.asConstant().value_or(0));
  if (dimension >= joined.size()) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (program.shape(concat.operands[i])[dimension] != Dim(parts[i])) return false;
  }
  return true;
}

/// What is a Concat's operands' common Split, if they are all of its parts in order.
std::optional<Value> undoneSplit(const std::vector<Value>& operands, const Attributes& concat, const Program& program) {
  const Node& split = program.node(operands[0]);
  if (!split.is(ops::kSplit) || split.names.size() != operands.size()) return std::nullopt;
  if (std::get<Expr>(concat.find("axis")->second) != split.scalar("axis")) return std::nullopt;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] != Value{operands[0].node, static_cast<int>(i)}) return std::nullopt;
  }
  return split.operands[0];
}

/// "a", …, "z", "a1", …, without those that are taken.
class Names {
 public:
  explicit Names(std::set<std::string> taken) : taken_(std::move(taken)) {}
  std::string next() {
    for (;; ++count_) {
      std::string name(1, static_cast<char>('a' + count_ % 26));
      if (count_ >= 26) name += std::to_string(count_ / 26);
      if (taken_.insert(name).second) return name;
    }
  }

 private:
  std::set<std::string> taken_;
  int count_ = 0;
};

}  // namespace

bool commutes(const OpRow& op) {
  return op.is(ops::kAdd) || op.is(ops::kMul);
}

Terms::Terms(const Program& program) {
  for (Value v : program.inputs()) {
    bool constant = program.node(v).scalar("constant") == Expr(1);
    inputs_.push_back(builder_.input(program.name(v), program.shape(v), constant));
  }
}

Expected<std::vector<Value>> Terms::add(const OpRow& op, std::vector<Value> operands, Attributes attributes) {
  if (op.is(ops::kIdentity)) return std::vector<Value>{operands[0]};
  if (op.is(ops::kTranspose)) return addTranspose(op, operands[0], std::move(attributes));
  if (op.is(ops::kSplit) && undoesConcat(node(operands[0]), all().shape(operands[0]), attributes, all()))
    return node(operands[0]).operands;
  if (op.is(ops::kConcat)) {
    if (operands.size() == 1) return operands;
    if (auto whole = undoneSplit(operands, attributes, all())) return std::vector<Value>{*whole};
  }
  if (commutes(op)) std::sort(operands.begin(), operands.end());
  return addNew(op, std::move(operands), std::move(attributes));
}

/// out[d] = x[perm[d]], and x = y transposed by inner: out[d] = y[inner[perm[d]]].
Expected<std::vector<Value>> Terms::addTranspose(const OpRow& op, Value operand, Attributes attributes) {
  auto& perm = std::get<std::vector<Expr>>(attributes.find("perm")->second);
  const Node& x = node(operand);
  if (x.op == &op && x.list("perm").size() == perm.size()) {
    for (Expr& p : perm)
      p = x.list("perm")[static_cast<size_t>(p.asConstant().value_or(0))];
    operand = x.operands[0];
  }
  bool moves = false;
  for (size_t d = 0; d < perm.size(); ++d)
    moves |= perm[d] != Expr(static_cast<int64_t>(d));
  if (!moves) return std::vector<Value>{operand};
  return addNew(op, {operand}, std::move(attributes));
}

Expected<std::vector<Value>> Terms::addNew(const OpRow& op, std::vector<Value> operands, Attributes attributes) {
  Key key{&op, operands, keyOf(attributes)};
  auto it = known_.find(key);
  if (it == known_.end()) {
    auto added = builder_.add(op, std::move(operands), std::move(attributes));
    if (!added) return tl::unexpected(added.error());
    it = known_.emplace(std::move(key), added->node).first;
  }
  std::vector<Value> outputs;
  for (size_t o = 0; o < all().nodes()[static_cast<size_t>(it->second)].names.size(); ++o)
    outputs.push_back({it->second, static_cast<int>(o)});
  return outputs;
}

Expected<std::vector<Value>> Terms::add(const Program& program, const std::vector<Value>& inputs) {
  std::map<Value, Value> meaning;
  std::vector<Value> own = program.inputs();
  for (size_t i = 0; i < own.size(); ++i)
    meaning[own[i]] = inputs[i];
  for (size_t n = 0; n < program.nodes().size(); ++n) {
    const Node& node = program.nodes()[n];
    if (node.is(ops::kInput)) continue;
    std::vector<Value> operands;
    for (Value v : node.operands)
      operands.push_back(meaning.at(v));
    auto outputs = add(*node.op, std::move(operands), node.attributes);
    if (!outputs) return outputs;
    for (size_t o = 0; o < outputs->size(); ++o)
      meaning[{static_cast<int>(n), static_cast<int>(o)}] = (*outputs)[o];
  }
  std::vector<Value> outputs;
  for (Value v : program.outputs())
    outputs.push_back(meaning.at(v));
  return outputs;
}

Expected<std::vector<Value>> Terms::replaced(const std::vector<Value>& values, const std::map<Value, Value>& by) {
  std::map<Value, Value> meaning = by;
  auto now = [&](Value v) {
    auto it = meaning.find(v);
    return it == meaning.end() ? v : it->second;
  };
  for (int n : nodesOf(values)) {
    const Node& old = all().nodes()[static_cast<size_t>(n)];
    std::vector<Value> operands;
    for (Value v : old.operands)
      operands.push_back(now(v));
    if (operands == old.operands) continue;
    auto outputs = add(*old.op, std::move(operands), Attributes(old.attributes));
    if (!outputs) return outputs;
    for (size_t o = 0; o < outputs->size(); ++o)
      meaning.emplace(Value{n, static_cast<int>(o)}, (*outputs)[o]);
  }
  std::vector<Value> result;
  for (Value v : values)
    result.push_back(now(v));
  return result;
}

std::vector<int> Terms::nodesOf(const std::vector<Value>& values) const {
  std::vector<int> nodes;  // few, and sorted
  std::vector<Value> open = values;
  while (!open.empty()) {
    const Value v = open.back();
    open.pop_back();
    if (node(v).is(ops::kInput)) continue;
    auto at = std::lower_bound(nodes.begin(), nodes.end(), v.node);
    if (at != nodes.end() && *at == v.node) continue;
    nodes.insert(at, v.node);
    open.insert(open.end(), node(v).operands.begin(), node(v).operands.end());
  }
  return nodes;
}

Program Terms::extract(const std::vector<Value>& outputs) const {
  ProgramBuilder builder;
  std::map<Value, Value> meaning;
  std::set<std::string> taken;
  for (Value v : inputs_) {
    taken.insert(all().name(v));
    meaning[v] = builder.input(all().name(v), all().shape(v), node(v).scalar("constant") == Expr(1));
  }
  Names names(std::move(taken));
  for (int n : nodesOf(outputs)) {
    const Node& old = all().nodes()[static_cast<size_t>(n)];
    std::vector<Value> operands;
    for (Value v : old.operands)
      operands.push_back(meaning.at(v));
    std::vector<std::string> named;
    for (size_t o = 0; o < old.names.size(); ++o)
      named.push_back(names.next());
    Value added = *builder.add(*old.op, std::move(operands), old.attributes, std::move(named));
    for (size_t o = 0; o < old.names.size(); ++o)
      meaning[{n, static_cast<int>(o)}] = {added.node, static_cast<int>(o)};
  }
  std::vector<Value> own;
  for (Value v : outputs)
    own.push_back(meaning.at(v));
  return std::move(builder).finish(std::move(own));
}

Expected<Program> normalised(const Program& program) {
  Terms terms(program);
  auto outputs = terms.add(program, terms.inputs());
  return outputs ? Expected<Program>(terms.extract(*outputs)) : tl::unexpected(outputs.error());
}

}  // namespace pet::rewrite
