#include "applier/view/view.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "applier/view/element_types.h"
#include "applier/view/evaluate_constants.h"
#include "ir/ops/op.h"
#include "ir/pieces.h"

namespace pet {

Extents concrete(const Shape& shape) {
  Extents extents;
  for (const Dim& d : shape)
    extents.push_back(d.asConstant().value());
  return extents;
}

Shape shapeOf(const Extents& extents) {
  return {extents.begin(), extents.end()};
}

Value ViewBuilder::input(std::string name, Shape shape, ElementType element) {
  Value v = program_.input(std::move(name), std::move(shape));
  view_.provenance.emplace_back();
  view_.elements.push_back(element);
  constant_.push_back(false);
  sums_.push_back(false);
  return v;
}

Value ViewBuilder::constant(std::string name, Constant constant) {
  Value v = program_.input(std::move(name), shapeOf(constant.extents), true);
  view_.provenance.emplace_back();
  view_.elements.push_back(constant.element);
  view_.constants.emplace(v.node, std::move(constant));
  constant_.push_back(true);
  sums_.push_back(false);
  return v;
}

Expected<Value> ViewBuilder::add(const OpRow& op,
                                 std::vector<Value> operands,
                                 Attributes attributes,
                                 std::vector<std::string> names,
                                 Provenance provenance,
                                 ElementType element) {
  std::vector<OperandType> types;
  bool constant = true, sums = false;
  for (Value v : operands) {
    types.push_back({this->element(v), isConstant(v)});
    constant = constant && isConstant(v);
    sums = sums || isSum(v);
  }
  auto type = resultType(op, attributes, types, element);
  if (!type) return tl::unexpected(type.error());
  auto v = program_.add(op, std::move(operands), std::move(attributes), std::move(names));
  if (!v) return v;
  view_.provenance.push_back(provenance);
  view_.elements.push_back(*type);
  constant = constant && asConstants(shape(*v));
  constant_.push_back(constant);
  sums_.push_back(!constant && *type == ElementType::kInt32 && (sums || !movesValues(op)));
  return v;
}

bool ViewBuilder::onlyMoves(Value value) const {
  const Node& n = program().node(value);
  return !isConstant(value) && n.op->layout && !n.op->fills && n.operands.size() == 1 && n.names.size() == 1;
}

// move(x) - z = move(x - z) where z is one number: rules meet a move beside the product that takes it.
Expected<Value> ViewBuilder::centred(
    Value stored, Value zeroPoint, const std::string& name, int origin, int mostMoves) {
  if (auto c = view_.constants.find(zeroPoint.node); c != view_.constants.end())
    zeroPoint =
        zeroPoints_.try_emplace({c->second.element, c->second.extents, std::string(*c->second.bytes)}, zeroPoint)
            .first->second;
  const std::pair key(stored, zeroPoint);
  if (auto known = centred_.find(key); known != centred_.end()) return known->second;
  const auto extents = asConstants(shape(zeroPoint));
  Expected<Value> v = stored;
  if (mostMoves > 0 && extents && elementCount(*extents) == 1 && onlyMoves(stored)) {
    const Node move = program().node(stored);
    v = centred(move.operands[0], zeroPoint, unique(name), origin, mostMoves - 1);
    if (v) v = add(*move.op, {*v}, move.attributes, {name}, {.origin = origin});
  } else {
    v = add(*findOp(ops::kSub.text), {stored, zeroPoint}, {}, {name}, {});
  }
  if (!v) return v;
  centred_.emplace(key, *v);
  centredOf_.emplace(*v, key);
  return v;
}

std::optional<Value> ViewBuilder::zeroPoint(Value value) const {
  const auto storage = storageOf(program(), view_.elements, constant_, value);
  return storage ? storage->zero : std::nullopt;
}

bool ViewBuilder::isCentred(Value value, Value of) const {
  auto it = centredOf_.find(value);
  return it != centredOf_.end() && (it->second.first == of || it->second.second == of);
}

std::optional<double> ViewBuilder::number(Value value) const {
  if (auto it = view_.constants.find(value.node); it != view_.constants.end()) {
    auto numbers = elementCount(it->second.extents) == 1 ? it->second.numbers() : std::nullopt;
    return numbers ? std::optional(numbers->front()) : std::nullopt;
  }
  const Node& n = program().node(value);
  if (!n.is(ops::kReciprocal) && !n.is(ops::kNeg) && !n.is(ops::kLayout)) return std::nullopt;
  auto of = number(n.operands[0]);
  if (!of || n.is(ops::kLayout)) return of;
  return n.is(ops::kNeg) ? -*of : 1 / *of;
}

Expected<Constant> ViewBuilder::evaluated(Value constant) const {
  return ConstantEvaluator(program(), view_.constants, view_.elements).value(constant);
}

Value ViewBuilder::copy(const View& from, int node, const std::function<Value(Value)>& moved) {
  auto i = static_cast<size_t>(node);
  const Node& n = from.program.nodes()[i];
  Value v;
  if (auto c = from.constants.find(node); c != from.constants.end()) {
    v = constant(n.names[0], c->second);
  } else if (n.is(ops::kInput)) {
    v = input(n.names[0], n.shapes[0], from.elements[i]);
  } else {
    std::vector<Value> operands;
    for (Value o : n.operands)
      operands.push_back(moved(o));
    auto added = add(*n.op, std::move(operands), n.attributes, n.names, from.provenance[i], from.elements[i]);
    assert(added && "a node that fitted once fits again");
    v = *added;
  }
  for (int o = 0; o < static_cast<int>(n.names.size()); ++o) {
    if (auto it = from.names.find({node, o}); it != from.names.end()) name({v.node, o}, it->second);
  }
  return v;
}

std::string ViewBuilder::unique(const std::string& base) {
  std::string name = base;
  for (int i = 2; !reserved_.insert(name).second; ++i)
    name = fmt::format("{}_{}", base, i);
  return name;
}

int ViewBuilder::countPieces(int node, std::set<int>& known) const {
  if (constant_[static_cast<size_t>(node)] || !known.insert(node).second) return 0;
  const Node& n = program().nodes()[static_cast<size_t>(node)];
  auto whole = view_.pieces.find(node);
  int count = whole != view_.pieces.end() ? whole->second : isPiece(n) ? 1 : 0;
  for (Value v : n.operands)
    count += countPieces(v.node, known);
  return count;
}

void ViewBuilder::standsForPieces(Value whole, Value last) {
  std::set<int> known;
  for (Value v : program().node(whole).operands)
    known.insert(v.node);
  const int count = countPieces(last.node, known);
  view_.pieces.insert_or_assign(whole.node, count);
}

View ViewBuilder::finish(std::vector<Value> outputs) && {
  view_.program = std::move(program_).finish(std::move(outputs));
  return std::move(view_);
}

Expected<View> boundTo(const View& view, const Bindings& sizes) {
  if (sizes.empty()) return view;
  std::map<std::string, Expr> by;
  for (const auto& [name, value] : sizes)
    by.emplace(name, Expr(value));
  auto program = view.program.substitute(by);
  if (!program) return tl::unexpected(program.error());
  for (const Node& n : program->nodes()) {
    for (const Shape& s : n.shapes) {
      auto fits = [](const Dim& d) { return d.asConstant().value_or(-1) >= 0; };
      if (!std::all_of(s.begin(), s.end(), fits))
        return fail(ErrorKind::kCheck, fmt::format("it would have the extents {}", str(s)), n.names[0]);
    }
  }
  View bound = view;
  bound.program = std::move(*program);
  return bound;
}

std::set<std::string> symbolsOf(const View& view) {
  std::set<std::string> symbols;
  for (const Node& n : view.program.nodes()) {
    for (const Shape& shape : n.shapes) {
      for (const Dim& d : shape) {
        for (const Expr& atom : d.atoms())
          atom.collectVariables(symbols);
      }
    }
  }
  return symbols;
}

bool isCentring(const View& view, int node) {
  const auto i = static_cast<size_t>(node);
  return view.program.nodes()[i].is(ops::kSub) && view.elements[i] == ElementType::kInt16;
}

bool isOfCentred(const View& view, int node) {
  const auto& nodes = view.program.nodes();
  auto i = static_cast<size_t>(node);
  while (nodes[i].op->layout && nodes[i].operands.size() == 1)
    i = static_cast<size_t>(nodes[i].operands[0].node);
  return isCentring(view, static_cast<int>(i));
}

namespace {

/// In a view in which nodes are elsewhere, or gone (-1); nullopt: nobody needs the result.
std::optional<ReadAway> movedTo(const std::vector<int>& moved, ReadAway read) {
  auto move = [&](int& node) { node = moved[static_cast<size_t>(node)]; };
  for (int& n : read.nodes)
    move(n);
  std::erase(read.nodes, -1);
  for (Value& v : read.operands)
    move(v.node);
  move(read.result.node);
  if (!std::binary_search(read.nodes.begin(), read.nodes.end(), read.result.node)) return std::nullopt;
  return read;
}

}  // namespace

const ReadAway* ViewBuilder::readAwayTo(Value result) const {
  const auto& all = view_.readAway;
  auto found = std::find_if(all.rbegin(), all.rend(), [&](const ReadAway& read) { return read.result == result; });
  return found == all.rend() ? nullptr : &*found;
}

View pruned(View view) {
  const auto& nodes = view.program.nodes();
  std::vector<bool> live(nodes.size());
  for (Value v : view.program.outputs())
    live[static_cast<size_t>(v.node)] = true;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (Value v : nodes[i].operands)
      live[static_cast<size_t>(v.node)] = true;
  }
  if (std::find(live.begin(), live.end(), false) == live.end()) return view;
  ViewBuilder builder;
  std::vector<int> moved(nodes.size(), -1);
  auto at = [&](Value v) { return Value{moved[static_cast<size_t>(v.node)], v.output}; };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (live[i]) moved[i] = builder.copy(view, static_cast<int>(i), at).node;
  }
  for (const ReadAway& read : view.readAway) {
    if (auto still = movedTo(moved, read)) builder.replaces(std::move(*still));
  }
  std::map<int, int> pieces;
  for (auto [node, count] : view.pieces) {
    if (live[static_cast<size_t>(node)]) pieces.emplace(moved[static_cast<size_t>(node)], count);
  }
  std::vector<Value> outputs;
  for (Value v : view.program.outputs())
    outputs.push_back(at(v));
  View result = std::move(builder).finish(std::move(outputs));
  result.pieces = std::move(pieces);
  return result;
}

std::vector<bool> knownNodes(const Program& program) {
  std::vector<bool> known = constantNodes(program);
  for (size_t i = 0; i < known.size(); ++i) {
    const Node& n = program.nodes()[i];
    auto isKnown = [&](Value v) { return known[static_cast<size_t>(v.node)]; };
    auto isConstant = [](const Shape& s) { return asConstants(s).has_value(); };
    known[i] = known[i] && std::all_of(n.operands.begin(), n.operands.end(), isKnown) &&
               std::all_of(n.shapes.begin(), n.shapes.end(), isConstant);
  }
  return known;
}

Uses::Uses(const Program& program) : readers(pet::readers(program)), constant(knownNodes(program)) {}

void PartBuilder::copy(int node) {
  const Value first = builder_.copy(whole_, node, [&](Value o) { return moved_.at(o); });
  const auto results = static_cast<int>(whole_.program.nodes()[static_cast<size_t>(node)].names.size());
  for (int o = 0; o < results; ++o)
    moved_[Value{node, o}] = Value{first.node, o};
}

void PartBuilder::bring(Value v) {
  if (moved_.contains(v)) return;
  const Program& program = whole_.program;
  if (!isBrought_(v.node)) {
    moved_[v] = builder_.input(program.name(v), program.shape(v), whole_.elements[static_cast<size_t>(v.node)]);
    inputs_.push_back(v);
    return;
  }
  for (Value o : program.node(v).operands)
    bring(o);
  copy(v.node);
}

void PartBuilder::add(int node) {
  for (Value o : whole_.program.nodes()[static_cast<size_t>(node)].operands)
    bring(o);
  copy(node);
}

ViewPart::ViewPart(const View& whole, const Uses& uses, const std::set<int>& nodes) {
  const Program& program = whole.program;
  PartBuilder part(whole, [&](int n) { return uses.constant[static_cast<size_t>(n)] || isOfCentred(whole, n); });
  for (int n : nodes)
    part.add(n);
  moved_ = part.moved();
  std::vector<Value> outputs;
  for (int n : nodes) {
    for (int o = 0; o < static_cast<int>(program.nodes()[static_cast<size_t>(n)].names.size()); ++o) {
      auto by = uses.readers.find({n, o});
      if (by == uses.readers.end()) continue;
      auto isOutside = [&](int reader) { return !nodes.contains(reader); };
      if (std::any_of(by->second.begin(), by->second.end(), isOutside)) outputs.push_back(moved_.at({n, o}));
    }
  }
  view_ = std::move(part).finish(std::move(outputs));
}

std::map<Value, std::vector<int>> readers(const Program& program) {
  std::map<Value, std::vector<int>> result;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    for (Value v : program.nodes()[i].operands)
      result[v].push_back(static_cast<int>(i));
  }
  for (Value v : program.outputs())
    result[v].push_back(-1);
  return result;
}

}  // namespace pet
