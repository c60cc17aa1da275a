#include "ir/program.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/limits.h"
#include "ir/ops/digits.h"
#include "ir/ops/pads.h"

namespace pet {
namespace {

/// The value of a fallback's text form: a number, a list of numbers, a word, or "spatial V" / "2spatial V", a list of V
/// with one or two entries per spatial dimension (rank - 2) of the first operand.
Attribute parseFallback(const AttributeSpec& spec, size_t rank) {
  std::string text(spec.fallback);
  switch (spec.kind) {
    case AttributeKind::kScalar:
      return Expr(std::stoll(text));
    case AttributeKind::kNumber:
      return std::stod(text);
    case AttributeKind::kList: {
      size_t space = text.find(' ');
      if (space == std::string::npos) return std::vector<Expr>{};
      size_t count = rank < 2 ? 0 : (text[0] == '2' ? 2 : 1) * (rank - 2);
      return std::vector<Expr>(count, Expr(std::stoll(text.substr(space + 1))));
    }
    default:
      return text;
  }
}

bool hasKind(const Attribute& a, AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kScalar:
      return std::holds_alternative<Expr>(a);
    case AttributeKind::kList:
      return std::holds_alternative<std::vector<Expr>>(a);
    case AttributeKind::kNumber:
      return std::holds_alternative<double>(a);
    case AttributeKind::kText:
      return std::holds_alternative<std::string>(a);
    case AttributeKind::kLayout:
      return std::holds_alternative<LayoutSpec>(a);
    case AttributeKind::kIndexMap:
      return std::holds_alternative<IndexMapSpec>(a);
  }
  return false;
}

Attribute substituteAttribute(const Attribute& attribute, const std::map<std::string, Expr>& by) {
  if (const auto* e = std::get_if<Expr>(&attribute)) return e->substitute(by);
  if (const auto* list = std::get_if<std::vector<Expr>>(&attribute)) {
    std::vector<Expr> result;
    for (const Expr& e : *list)
      result.push_back(e.substitute(by));
    return result;
  }
  if (const auto* layout = std::get_if<LayoutSpec>(&attribute)) {
    LayoutSpec result = *layout;
    for (auto& axis : result.axes)
      axis.extent = axis.extent.substitute(by);
    return result;
  }
  if (const auto* map = std::get_if<IndexMapSpec>(&attribute)) {
    IndexMapSpec result = *map;
    for (auto& dim : result.dims) {
      for (auto& axis : dim)
        axis.extent = axis.extent.substitute(by);
    }
    for (auto& digits : result.source) {
      for (auto& e : digits)
        e = e.substitute(by);
    }
    for (auto& g : result.guards)
      g = g.substitute(by);
    return result;
  }
  return attribute;
}

/// The digit is an axis of the map, of as many positions as there are.
bool isWholeAxis(const IndexMapSpec& map, const Expr& digit, const Dim& extent) {
  return std::any_of(map.dims.begin(), map.dims.end(), [&](const std::vector<LayoutAxis>& dim) {
    return std::any_of(dim.begin(), dim.end(), [&](const LayoutAxis& axis) {
      return axis.extent == extent && digit == Expr::variable(axis.name);
    });
  });
}

/// Atoms of the operand that have become numbers fold into their neighbours: the map's source digits are joined
/// likewise, and guards keep each of them in its own range.
Expected<void> foldSource(IndexMapSpec& map, const Shape& operand, const std::map<std::string, Expr>& by) {
  for (size_t d = 0; d < operand.size(); ++d) {
    std::vector<Dim> atoms;
    Index digits;
    for (size_t a = 0; a < operand[d].atoms().size(); ++a) {
      atoms.emplace_back(operand[d].atoms()[a].substitute(by));
      digits.push_back({map.source[d][a]});
    }
    if (Dim::product(atoms).atoms().size() == atoms.size()) continue;
    auto joined = joinDigits(atoms, digits);
    if (joined.size() != 1) {
      return fail(ErrorKind::kUnsupported, "IndexMap over " + operand[d].str() + " with a constant outer part");
    }
    for (size_t a = 0; a < atoms.size(); ++a) {
      if (!isWholeAxis(map, digits[a][0], atoms[a])) requireInRange({digits[a]}, {atoms[a]}, map.guards);
    }
    map.guards.insert(map.guards.end(), joined[0].guards.begin(), joined[0].guards.end());
    map.source[d] = joined[0].digits[0];
  }
  return {};
}

/// Terms of an expression and within its divisions; counts no further than beyond the limit.
size_t termsOf(const Expr& e) {
  size_t count = 1;
  for (const auto& [term, coefficient] : e.terms()) {
    count += 1 + (term.division ? termsOf(term.division->numerator) : 0);
    if (count > kMostTerms) break;
  }
  return count;
}

/// Shapes can grow with every operator, by a factor: products of dimensions by their atoms, sums by their divisions.
Expected<void> requireSmall(const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes) {
    size_t terms = 0;
    for (const Dim& d : shape) {
      for (const Expr& atom : d.atoms())
        terms += terms <= kMostTerms ? termsOf(atom) : 0;
    }
    if (shape.size() > kMostDimensions)
      return fail(ErrorKind::kUnsupported, fmt::format("a shape of more than {} dimensions", kMostDimensions));
    if (terms > kMostTerms)
      return fail(ErrorKind::kUnsupported, fmt::format("extents of more than {} terms", kMostTerms));
  }
  return {};
}

}  // namespace

Expected<void> completeAttributes(const OpRow& op, size_t rank, Attributes& attributes) {
  for (const auto& [name, value] : attributes) {
    if (std::none_of(op.attributes.begin(), op.attributes.end(),
                     [&name = name](const auto& s) { return s.name == name; })) {
      return fail(ErrorKind::kText, fmt::format("{} has no attribute '{}'", op.name, name));
    }
  }
  for (const AttributeSpec& spec : op.attributes) {
    auto it = attributes.find(spec.name);
    if (it == attributes.end()) {
      if (spec.fallback.empty()) {
        return fail(ErrorKind::kText, fmt::format("{} needs the attribute '{}'", op.name, spec.name));
      }
      attributes.emplace(spec.name, parseFallback(spec, rank));
    } else if (!hasKind(it->second, spec.kind)) {
      return fail(ErrorKind::kText, fmt::format("{}: attribute '{}' has the wrong form", op.name, spec.name));
    }
  }
  return {};
}

bool Node::is(OpName name) const {
  return op->is(name);
}

std::vector<Value> Program::inputs() const {
  std::vector<Value> result;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].is(ops::kInput)) result.push_back({static_cast<int>(i), 0});
  }
  return result;
}

std::optional<Value> Program::find(std::string_view name) const {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (size_t o = 0; o < nodes_[i].names.size(); ++o) {
      if (nodes_[i].names[o] == name) return Value{static_cast<int>(i), static_cast<int>(o)};
    }
  }
  return std::nullopt;
}

Expected<Program> Program::substitute(const std::map<std::string, Expr>& by) const {
  ProgramBuilder builder;
  for (const Node& n : nodes_) {
    Attributes attributes;
    for (const auto& [name, value] : n.attributes) {
      auto it = attributes.emplace(name, substituteAttribute(value, by)).first;
      if (auto* map = std::get_if<IndexMapSpec>(&it->second)) {
        if (auto ok = foldSource(*map, shape(n.operands[0]), by); !ok) return tl::unexpected(ok.error());
      }
    }
    if (n.is(ops::kInput)) {
      builder.input(n.names[0], pet::substitute(n.shapes[0], by), n.scalar("constant") == Expr(1));
    } else if (auto v = builder.add(*n.op, n.operands, std::move(attributes), n.names); !v) {
      return tl::unexpected(v.error());
    }
  }
  return std::move(builder).finish(outputs_);
}

Program Program::withoutDeadNodes() const {
  std::vector<bool> inputs(nodes_.size());
  for (Value v : this->inputs())
    inputs[static_cast<size_t>(v.node)] = true;
  return restricted(std::move(inputs), outputs_);
}

Program Program::computing(const std::vector<Value>& values) const {
  return restricted(std::vector<bool>(nodes_.size()), values);
}

Program Program::computingFrom(const std::set<Value>& cut, const std::vector<Value>& outputs, bool constant) const {
  return restricted(std::vector<bool>(nodes_.size()), outputs, cut, constant);
}

Program Program::restricted(std::vector<bool> kept,
                            const std::vector<Value>& outputs,
                            const std::set<Value>& cut,
                            bool constant) const {
  for (Value v : outputs)
    kept[static_cast<size_t>(v.node)] = true;
  std::set<Value> read;
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (!kept[i]) continue;
    for (Value v : nodes_[i].operands) {
      if (cut.contains(v)) {
        read.insert(v);
      } else {
        kept[static_cast<size_t>(v.node)] = true;
      }
    }
  }
  ProgramBuilder builder;
  std::map<Value, Value> inputs;
  for (Value v : read)
    inputs.emplace(v, builder.input(name(v), shape(v), constant));
  Program result = std::move(builder).finish({});
  std::vector<int> renumbered(nodes_.size(), -1);
  auto moved = [&](Value v) { return Value{renumbered[static_cast<size_t>(v.node)], v.output}; };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!kept[i]) continue;
    renumbered[i] = static_cast<int>(result.nodes_.size());
    Node& n = result.nodes_.emplace_back(nodes_[i]);
    for (Value& v : n.operands)
      v = cut.contains(v) ? inputs.at(v) : moved(v);
    for (int o = 0; o < static_cast<int>(n.names.size()); ++o) {
      if (read.contains({static_cast<int>(i), o})) n.names[static_cast<size_t>(o)] += "'";
    }
  }
  for (Value v : outputs)
    result.outputs_.push_back(moved(v));
  return result;
}

Value ProgramBuilder::input(std::string name, Shape shape, bool constant) {
  Node n;
  n.op = findOp("Input");
  n.attributes.emplace("constant", Expr(constant ? 1 : 0));
  n.names = {std::move(name)};
  n.shapes = {std::move(shape)};
  program_.nodes_.push_back(std::move(n));
  return {static_cast<int>(program_.nodes_.size()) - 1, 0};
}

Expected<Value> ProgramBuilder::add(const OpRow& op,
                                    std::vector<Value> operands,
                                    Attributes attributes,
                                    std::vector<std::string> names) {
  auto count = static_cast<int>(operands.size());
  if (count < op.minOperands || (op.maxOperands >= 0 && count > op.maxOperands)) {
    return fail(ErrorKind::kText, fmt::format("{} takes {}{} operands, got {}", op.name, op.minOperands,
                                              op.maxOperands == op.minOperands ? ""
                                              : op.maxOperands < 0             ? " or more"
                                                                               : fmt::format(" to {}", op.maxOperands),
                                              count));
  }
  std::vector<Shape> shapes;
  shapes.reserve(operands.size());
  for (Value v : operands)
    shapes.push_back(program_.shape(v));
  if (auto ok = completeAttributes(op, shapes.empty() ? 0 : shapes[0].size(), attributes); !ok) {
    return tl::unexpected(ok.error());
  }
  if (auto ok = resolvePads(shapes, attributes); !ok) return tl::unexpected(ok.error());
  auto outputs = op.infer({attributes, shapes, {}});
  if (!outputs) return tl::unexpected(outputs.error());
  if (auto ok = requireSmall(*outputs); !ok) return tl::unexpected(ok.error());
  Node n;
  n.op = &op;
  n.attributes = std::move(attributes);
  n.operands = std::move(operands);
  n.shapes = std::move(*outputs);
  n.names = std::move(names);
  int id = static_cast<int>(program_.nodes_.size());
  while (n.names.size() < n.shapes.size())
    n.names.push_back(fmt::format("t{}_{}", id, n.names.size()));
  if (n.names.size() > n.shapes.size()) {
    return fail(ErrorKind::kText, fmt::format("{} has {} outputs, not {}", op.name, n.shapes.size(), n.names.size()));
  }
  program_.nodes_.push_back(std::move(n));
  return Value{id, 0};
}

Expected<Value> ProgramBuilder::add(std::string_view op,
                                    std::vector<Value> operands,
                                    Attributes attributes,
                                    std::string name) {
  const OpRow* row = findOp(op);
  if (!row) return fail(ErrorKind::kText, fmt::format("unknown operator '{}'", op));
  std::vector<std::string> names;
  if (!name.empty()) names.push_back(std::move(name));
  return add(*row, std::move(operands), std::move(attributes), std::move(names));
}

Program ProgramBuilder::finish(std::vector<Value> outputs) && {
  program_.outputs_ = std::move(outputs);
  return std::move(program_);
}

Expected<void> copyNode(ProgramBuilder& builder, const Program& program, int node, std::map<Value, Value>& moved) {
  const Node& n = program.nodes()[static_cast<size_t>(node)];
  std::vector<Value> operands;
  for (Value v : n.operands)
    operands.push_back(moved.at(v));
  auto added = builder.add(*n.op, std::move(operands), n.attributes, n.names);
  if (!added) return tl::unexpected(added.error());
  for (int o = 0; o < static_cast<int>(n.names.size()); ++o)
    moved[{node, o}] = {added->node, o};
  return {};
}

bool isConstant(const Program& program, Value value) {
  // Each node once: z = Mul(z, z) reads z twice.
  std::set<int> seen{value.node};
  std::vector<int> left{value.node};
  while (!left.empty()) {
    const Node& n = program.nodes()[static_cast<size_t>(left.back())];
    left.pop_back();
    if (n.is(ops::kInput) && n.scalar("constant") != Expr(1)) return false;
    for (Value v : n.operands) {
      if (seen.insert(v.node).second) left.push_back(v.node);
    }
  }
  return true;
}

std::vector<bool> constantNodes(const Program& program) {
  std::vector<bool> constant;
  for (const Node& n : program.nodes()) {
    constant.push_back(n.is(ops::kInput) ? n.scalar("constant") == Expr(1)
                                         : std::all_of(n.operands.begin(), n.operands.end(),
                                                       [&](Value v) { return constant[static_cast<size_t>(v.node)]; }));
  }
  return constant;
}

}  // namespace pet
