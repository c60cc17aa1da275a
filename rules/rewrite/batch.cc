#include "rules/rewrite/batch.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/ops/einsum.h"
#include "ir/ops/op.h"

namespace pet::rewrite {
namespace {

void collect(const Shape& shape, std::set<std::string>& symbols) {
  for (const Dim& d : shape) {
    for (const Expr& atom : d.atoms())
      atom.collectVariables(symbols);
  }
}

std::set<std::string> variablesOf(const Attribute& attribute) {
  std::set<std::string> result;
  auto enter = [&](const std::vector<Expr>& list) {
    for (const Expr& e : list)
      e.collectVariables(result);
  };
  auto enterAxes = [&](const std::vector<LayoutAxis>& axes) {
    for (const LayoutAxis& axis : axes)
      collect({axis.extent}, result);
  };
  if (const auto* e = std::get_if<Expr>(&attribute)) enter({*e});
  if (const auto* list = std::get_if<std::vector<Expr>>(&attribute)) enter(*list);
  if (const auto* layout = std::get_if<LayoutSpec>(&attribute)) enterAxes(layout->axes);
  if (const auto* map = std::get_if<IndexMapSpec>(&attribute)) {
    for (const auto& group : map->dims)
      enterAxes(group);
    for (const auto& at : map->source)
      enter(at);
    for (const Constraint& guard : map->guards)
      enter({guard.expr});
  }
  return result;
}

/// The symbol that is the first extent of the first result.
std::optional<std::string> frontSymbol(const Program& program) {
  const Shape& shape = program.shape(program.outputs()[0]);
  if (shape.empty() || !shape[0].isAffine()) return std::nullopt;
  return shape[0].affine().asVariable();
}

/// Rebuilds a program with other dimensions in front.
class BatchChange {
 public:
  BatchChange(const Program& program, std::string batch, size_t count);
  std::optional<Batched> run();

 private:
  const Shape& before(Value v) const { return program_.shape(v); }
  bool isBatched(Value v) const { return batched_[static_cast<size_t>(v.node)]; }
  bool mentionsBatch(const Shape& shape, size_t from) const;
  bool mentionsBatch(const Attributes& attributes) const;
  Shape changed(const Shape& shape) const;
  bool enter(const Node& node);
  bool enterInput(const Node& node);
  /// The operator does the same for each position of the first dimension; its attributes at the other rank.
  std::optional<Attributes> attributesOf(const Node& node) const;
  std::optional<Attributes> shiftedAxis(const Node& node) const;
  std::optional<Attributes> shiftedAxes(const Node& node) const;
  std::optional<Attributes> shiftedPermutation(const Node& node) const;
  std::optional<Attributes> shiftedMap(const Node& node) const;
  std::optional<Attributes> shiftedEquation(const Node& node) const;
  std::optional<Attributes> shiftedShape(const Node& node) const;
  bool multipliesEach(const Node& node) const;
  /// Operands that are the same for the whole batch are aligned at the end.
  bool broadcasts(const Node& node) const;

  const Program& program_;
  std::string batch_;
  std::vector<std::string> dims_;
  ProgramBuilder builder_;
  std::vector<bool> batched_;  ///< per node
};

BatchChange::BatchChange(const Program& program, std::string batch, size_t count)
    : program_(program), batch_(std::move(batch)) {
  std::set<std::string> taken;
  for (const Node& n : program.nodes()) {
    for (const Shape& s : n.shapes)
      collect(s, taken);
  }
  for (int i = 1; dims_.size() < count; ++i) {
    std::string name = fmt::format("{}{}", batch_, i);
    if (!taken.contains(name)) dims_.push_back(std::move(name));
  }
}

bool BatchChange::mentionsBatch(const Shape& shape, size_t from) const {
  std::set<std::string> symbols;
  collect({shape.begin() + static_cast<std::ptrdiff_t>(from), shape.end()}, symbols);
  return symbols.contains(batch_);
}

bool BatchChange::mentionsBatch(const Attributes& attributes) const {
  return std::any_of(attributes.begin(), attributes.end(),
                     [&](const auto& entry) { return variablesOf(entry.second).contains(batch_); });
}

Shape BatchChange::changed(const Shape& shape) const {
  Shape result;
  for (const std::string& dim : dims_)
    result.emplace_back(Expr::variable(dim));
  result.insert(result.end(), shape.begin() + 1, shape.end());
  return result;
}

bool BatchChange::enterInput(const Node& node) {
  const Shape& shape = node.shapes[0];
  const bool isConstant = node.scalar("constant") == Expr(1);
  const bool inFront = !isConstant && !shape.empty() && shape[0] == Dim(Expr::variable(batch_));
  if (mentionsBatch(shape, inFront ? 1 : 0)) return false;
  batched_.push_back(inFront);
  builder_.input(node.names[0], inFront ? changed(shape) : shape, isConstant);
  return true;
}

bool BatchChange::broadcasts(const Node& node) const {
  return std::all_of(node.operands.begin(), node.operands.end(),
                     [&](Value v) { return isBatched(v) || before(v).size() < node.shapes[0].size(); });
}

/// A product of matrices, one for each position of the batch, or of all its rows with one matrix.
bool BatchChange::multipliesEach(const Node& node) const {
  const Value left = node.operands[0], right = node.operands[1];
  if (!isBatched(right)) return before(right).size() == 2 && before(left).size() + dims_.size() > 2;
  const bool bothStack = before(right).size() > 2 && before(left).size() > 2;
  return bothStack && isBatched(left) && before(left).size() == before(right).size();
}

std::optional<Attributes> BatchChange::shiftedAxis(const Node& node) const {
  auto axis = node.scalar("axis").asConstant();
  const bool joins = node.is(ops::kConcat);  // of its operands each is a part, else all but the first are weights
  const bool fits =
      std::all_of(node.operands.begin() + 1, node.operands.end(), [&](Value v) { return isBatched(v) == joins; });
  if (!axis || *axis < 1 || !isBatched(node.operands[0]) || !fits) return std::nullopt;
  Attributes attributes = node.attributes;
  attributes.find("axis")->second = Expr(*axis + static_cast<int64_t>(dims_.size()) - 1);
  return attributes;
}

std::optional<Attributes> BatchChange::shiftedAxes(const Node& node) const {
  std::vector<Expr> axes = node.list("axes");
  for (Expr& axis : axes) {
    if (axis.asConstant().value_or(0) < 1) return std::nullopt;
    axis += static_cast<int64_t>(dims_.size()) - 1;
  }
  Attributes attributes = node.attributes;
  attributes.find("axes")->second = std::move(axes);
  return attributes;
}

std::optional<Attributes> BatchChange::shiftedPermutation(const Node& node) const {
  const std::vector<Expr>& perm = node.list("perm");
  if (perm.empty() || perm[0] != Expr(0)) return std::nullopt;
  std::vector<Expr> shifted;
  for (size_t d = 0; d < dims_.size(); ++d)
    shifted.emplace_back(static_cast<int64_t>(d));
  for (size_t d = 1; d < perm.size(); ++d)
    shifted.push_back(perm[d] + static_cast<int64_t>(dims_.size()) - 1);
  Attributes attributes = node.attributes;
  attributes.find("perm")->second = std::move(shifted);
  return attributes;
}

std::optional<Attributes> BatchChange::shiftedMap(const Node& node) const {
  IndexMapSpec map = std::get<IndexMapSpec>(node.attributes.find("map")->second);
  if (!isBatched(node.operands[0]) || map.dims.empty() || map.dims[0].size() != 1) return std::nullopt;
  const LayoutAxis front = map.dims[0][0];
  const Expr read = Expr::variable(front.name);
  if (front.extent != Dim(Expr::variable(batch_)) || map.source[0] != std::vector{read}) return std::nullopt;
  map.dims.erase(map.dims.begin());
  map.source.erase(map.source.begin());
  const std::set<std::string> others = variablesOf(map);
  if (others.contains(batch_) || others.contains(front.name)) return std::nullopt;
  for (size_t d = dims_.size(); d-- > 0;) {
    const LayoutAxis axis{fmt::format("{}{}", front.name, d + 1), Expr::variable(dims_[d])};
    map.dims.insert(map.dims.begin(), {axis});
    map.source.insert(map.source.begin(), {Expr::variable(axis.name)});
  }
  Attributes attributes = node.attributes;
  attributes.find("map")->second = std::move(map);
  return attributes;
}

/// The batch is one label, in front of the result and of what is batched.
std::optional<Attributes> BatchChange::shiftedEquation(const Node& node) const {
  EinsumEquation equation = readEinsum(node.text("equation"));
  const auto batch = unusedLetters(equation, dims_.size());
  if (!batch || equation.result.empty()) return std::nullopt;
  const char front = equation.result[0];
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    std::string& labels = equation.operands[i];
    const bool isBatched = this->isBatched(node.operands[i]);
    if (labels.find(front, isBatched ? 1 : 0) != std::string::npos || (isBatched && labels[0] != front))
      return std::nullopt;
    if (isBatched) labels.replace(0, 1, *batch);
  }
  equation.result.replace(0, 1, *batch);
  return Attributes{{"equation", inOrder(equation)}};
}

/// An Expand that repeats what is batched along other dimensions.
std::optional<Attributes> BatchChange::shiftedShape(const Node& node) const {
  const std::vector<Expr>& shape = node.list("shape");
  Shape after;
  for (const Expr& extent : shape)
    after.emplace_back(extent);
  const bool fits = isBatched(node.operands[0]) && !after.empty() && after[0] == Dim(Expr::variable(batch_)) &&
                    before(node.operands[0]).size() == after.size() && !mentionsBatch(after, 1);
  if (!fits) return std::nullopt;
  std::vector<Expr> extents;
  for (const std::string& dim : dims_)
    extents.push_back(Expr::variable(dim));
  extents.insert(extents.end(), shape.begin() + 1, shape.end());
  Attributes attributes = node.attributes;
  attributes.find("shape")->second = std::move(extents);
  return attributes;
}

std::optional<Attributes> BatchChange::attributesOf(const Node& node) const {
  static constexpr OpName kPositionwise[] = {ops::kAdd,   {"Sub"},           ops::kMul, ops::kDiv,    ops::kPRelu,
                                             ops::kWhere, ops::kExponential, {"Max"},   ops::kGreater};
  static constexpr OpName kReductions[] = {{"ReduceL2"}, ops::kReduceMax, ops::kReduceMean, ops::kReduceSum};
  static constexpr OpName kWithAxes[] = {ops::kSlice, ops::kSqueeze, ops::kUnsqueeze};
  static constexpr OpName kAlongAxis[] = {ops::kSoftmax,          ops::kLogSoftmax, ops::kLayerNormalization,
                                          ops::kRMSNormalization, ops::kConcat,     ops::kSplit,
                                          ops::kCumSum,           ops::kDFT,        ops::kArgMax};
  auto isOneOf = [&](std::span<const OpName> names) {
    return std::any_of(names.begin(), names.end(), [&](OpName name) { return node.is(name); });
  };
  if (node.is(ops::kIndexMap)) return shiftedMap(node);
  if (node.is(ops::kExpand)) return shiftedShape(node);
  if (mentionsBatch(node.attributes)) return std::nullopt;
  if (node.op->facts.elementwise) return node.attributes;
  if (isOneOf(kPositionwise) && broadcasts(node)) return node.attributes;
  if (isOneOf(kAlongAxis)) return shiftedAxis(node);
  if (isOneOf(kReductions) || isOneOf(kWithAxes)) return shiftedAxes(node);
  if (node.is(ops::kOneHot) || (node.is(ops::kLookup) && !isBatched(node.operands[1]))) return node.attributes;
  if (node.is(ops::kTranspose)) return shiftedPermutation(node);
  if (node.is(ops::kEinsum)) return shiftedEquation(node);
  if (node.is(ops::kMatMul) && multipliesEach(node)) return node.attributes;
  return std::nullopt;
}

bool BatchChange::enter(const Node& node) {
  if (node.is(ops::kInput)) return enterInput(node);
  const bool batched = std::any_of(node.operands.begin(), node.operands.end(), [&](Value v) { return isBatched(v); });
  for (const Shape& s : node.shapes) {
    const bool inFront = batched && !s.empty() && s[0] == Dim(Expr::variable(batch_));
    if (batched != inFront || mentionsBatch(s, inFront ? 1 : 0)) return false;
  }
  auto attributes = batched ? attributesOf(node) : std::optional(node.attributes);
  if (!attributes || (!batched && mentionsBatch(*attributes))) return false;
  auto added = builder_.add(*node.op, node.operands, std::move(*attributes), node.names);
  if (!added) return false;
  batched_.push_back(batched);
  for (int o = 0; batched && o < static_cast<int>(node.shapes.size()); ++o) {
    if (builder_.shape({added->node, o}) != changed(node.shapes[static_cast<size_t>(o)])) return false;
  }
  return true;
}

std::optional<Batched> BatchChange::run() {
  for (const Node& n : program_.nodes()) {
    if (!enter(n)) return std::nullopt;
  }
  for (Value v : program_.outputs()) {
    if (!isBatched(v)) return std::nullopt;
  }
  return Batched{std::move(builder_).finish(program_.outputs()), batch_, dims_};
}

}  // namespace

std::optional<Batched> withBatchDimensions(const Program& program, size_t count) {
  auto batch = frontSymbol(program);
  if (!batch) return std::nullopt;
  return BatchChange(program, *batch, count).run();
}

}  // namespace pet::rewrite
