#include "applier/write/emit.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "applier/operators/onnx_rows.h"
#include "applier/operators/stored_operands.h"
#include "applier/view/evaluate_constants.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

/// What is written as a whole: an ONNX node as it was, or a node of the new view.
struct Unit {
  enum class Kind { kOriginal, kNew };
  Kind kind = Kind::kOriginal;
  int index = 0;
  friend auto operator<=>(const Unit&, const Unit&) = default;
};

/// An Add of per-channel constants that becomes the bias operand of the operator it follows.
struct FusedBias {
  int conv = -1;
  Value bias;
};

class Emitter {
 public:
  Emitter(const Graph& graph,
          const View& before,
          const View& after,
          const RenewedNodes& renewed,
          TakenNames& taken,
          const NewWeights& weights);
  Expected<Graph> run();

 private:
  const Program& program() const { return after_.program; }
  bool intact(int original) const { return partsBefore_[index(original)] == partsAfter_[index(original)]; }
  static size_t index(int i) { return static_cast<size_t>(i); }

  const GraphNode& original(int i) const {
    auto it = renewed_.find(i);
    return it == renewed_.end() ? graph_.nodes[index(i)] : it->second;
  }
  bool isGone(const std::string& name) const;
  std::optional<Unit> unitOf(const std::string& name) const;
  std::optional<Unit> unitOf(Value v) const;
  std::vector<Unit> needs(Unit u) const;
  std::optional<FusedBias> fusedBias(int add) const;
  bool isNew(int node) const;
  void breakUp(const View& before);

  void visit(Unit root, std::set<Unit>& seen, std::vector<Unit>& order) const;
  std::vector<Unit> schedule() const;
  void write(Unit u);
  void writeNew(int node);
  std::string nameOf(Value v);
  std::string biasName(const FusedBias& fused);
  std::string constantName(const std::string& base, const Constant& c) { return sink_.initializer(base, c); }
  Constant evaluated(Value v);
  void dropUnreadInitializers();

  const Graph& graph_;
  const View& after_;
  const NewWeights& weights_;
  const RenewedNodes& renewed_;
  Graph out_;
  NodeSink sink_;
  ConstantEvaluator constants_;
  std::vector<bool> constant_;                     ///< per node of the new view
  std::map<Value, std::vector<int>> readers_;      ///< in the new view
  std::vector<int> partsBefore_, partsAfter_;      ///< per ONNX node: how many nodes of the view stand for it
  std::unordered_map<std::string, int> producer_;  ///< ONNX value -> ONNX node
  std::unordered_map<std::string, Value> valueByName_;
  std::map<int, FusedBias> fused_;      ///< by the Add
  std::map<Value, std::string> given_;  ///< names of new values
};

Emitter::Emitter(const Graph& graph,
                 const View& before,
                 const View& after,
                 const RenewedNodes& renewed,
                 TakenNames& taken,
                 const NewWeights& weights)
    : graph_(graph),
      after_(after),
      weights_(weights),
      renewed_(renewed),
      out_(graph),
      sink_(out_, ElementType::kFloat, taken, before.openSizes),
      constants_(after),
      constant_(knownNodes(after.program)),
      readers_(readers(after.program)),
      partsBefore_(graph.nodes.size()),
      partsAfter_(graph.nodes.size()) {
  out_.nodes.clear();
  for (const Provenance& p : before.provenance) {
    if (p.origin >= 0) ++partsBefore_[index(p.origin)];
  }
  for (const Provenance& p : after.provenance) {
    if (p.origin >= 0) ++partsAfter_[index(p.origin)];
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& name : graph.nodes[i].outputs)
      producer_.emplace(name, static_cast<int>(i));
  }
  for (const auto& [value, name] : after.names)
    valueByName_.emplace(name, value);
  breakUp(before);
  for (int i = 0; i < static_cast<int>(program().nodes().size()); ++i) {
    if (auto f = fusedBias(i)) fused_.emplace(i, *f);
  }
}

/// Where a node of the view reads an inner value of another ONNX node (of a Conv, without its bias), both ONNX nodes
/// are written as they were, or neither is. Nor is an ONNX node that reads what is gone: where the view has a Slice of
/// a Slice as one, that does not read the first.
void Emitter::breakUp(const View& before) {
  constexpr int kBroken = -1;
  const std::vector<bool> constant = knownNodes(before.program);
  std::vector<std::pair<size_t, size_t>> joined;
  for (size_t i = 0; i < before.program.nodes().size(); ++i) {
    const int reader = before.provenance[i].origin;
    for (Value v : before.program.nodes()[i].operands) {
      const int made = before.provenance[index(v.node)].origin;
      if (reader >= 0 && made >= 0 && made != reader && !constant[index(v.node)] && !before.names.contains(v))
        joined.emplace_back(index(made), index(reader));
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [a, b] : joined) {
      const bool isIntact = intact(static_cast<int>(a));
      if (isIntact == intact(static_cast<int>(b))) continue;
      partsAfter_[isIntact ? a : b] = kBroken;
      changed = true;
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (partsBefore_[i] == 0 || !intact(static_cast<int>(i))) continue;
      const std::vector<std::string> read = readsOf(original(static_cast<int>(i)));
      if (std::none_of(read.begin(), read.end(), [&](const std::string& name) { return isGone(name); })) continue;
      partsAfter_[i] = kBroken;
      changed = true;
    }
  }
}

/// The node is to be written anew.
bool Emitter::isNew(int node) const {
  int origin = after_.provenance[index(node)].origin;
  return !constant_[index(node)] && !program().nodes()[index(node)].is(ops::kInput) && (origin < 0 || !intact(origin));
}

std::optional<FusedBias> Emitter::fusedBias(int add) const {
  const Node& n = program().nodes()[index(add)];
  if (!n.is(ops::kAdd) || !isNew(add)) return std::nullopt;
  for (size_t side : {0, 1}) {
    Value y = n.operands[side], bias = n.operands[1 - side];
    const Node& conv = program().node(y);
    const OnnxRow* row = findWriter(conv.op->name);
    bool fits = row && row->takesBias && isComputed(after_.elements[index(add)]) && isNew(y.node) &&
                readers_.at(y).size() == 1 && constant_[index(bias.node)] && !after_.names.contains(y);
    if (!fits) continue;
    const Shape& out = n.shapes[0];
    const Extents b = concrete(program().shape(bias));
    if (out != program().shape(y)) continue;
    size_t channel =
        b.size() + 1 >= out.size() ? b.size() + 1 - out.size() : b.size();  // of the bias, aligned at the right
    bool perChannel =
        elementCount(b) == 1 || (channel < b.size() && b[channel] == elementCount(b) && Dim(b[channel]) == out[1]);
    if (perChannel) return FusedBias{y.node, bias};
  }
  return std::nullopt;
}

/// A node of the model made the value, and nothing does now.
bool Emitter::isGone(const std::string& name) const {
  auto it = producer_.find(name);
  if (it == producer_.end() || intact(it->second)) return false;
  auto value = valueByName_.find(name);
  return value == valueByName_.end() || !isNew(value->second.node);
}

std::optional<Unit> Emitter::unitOf(const std::string& name) const {
  if (isGone(name)) throw NotEmitted{fmt::format("'{}' is read but no longer computed", name)};
  auto it = producer_.find(name);
  if (it != producer_.end() && intact(it->second)) return Unit{Unit::Kind::kOriginal, it->second};
  auto value = valueByName_.find(name);
  if (value != valueByName_.end() && isNew(value->second.node)) return Unit{Unit::Kind::kNew, value->second.node};
  return std::nullopt;  // an input or an initializer
}

std::optional<Unit> Emitter::unitOf(Value v) const {
  if (auto name = after_.names.find(v); name != after_.names.end()) {
    // A named constant is one that the model computes or holds; anything else may have been renewed.
    if (!isNew(v.node)) return unitOf(name->second);
  }
  if (!isNew(v.node)) return std::nullopt;  // folded
  return Unit{Unit::Kind::kNew, v.node};
}

std::vector<Unit> Emitter::needs(Unit u) const {
  std::vector<Unit> result;
  auto add = [&](const std::optional<Unit>& unit) {
    if (unit) result.push_back(*unit);
  };
  if (u.kind == Unit::Kind::kOriginal) {
    for (const std::string& name : readsOf(original(u.index)))
      add(unitOf(name));
    return result;
  }
  auto fused = fused_.find(u.index);
  int node = fused == fused_.end() ? u.index : fused->second.conv;
  for (Value v : program().nodes()[index(node)].operands)
    add(unitOf(v));
  return result;
}

/// Appends what `root` needs and then `root`, each once.
void Emitter::visit(Unit root, std::set<Unit>& seen, std::vector<Unit>& order) const {
  struct Frame {
    Unit unit;
    std::vector<Unit> open;
  };
  if (!seen.insert(root).second) return;
  std::vector<Frame> stack{{root, needs(root)}};
  while (!stack.empty()) {
    if (stack.back().open.empty()) {
      order.push_back(stack.back().unit);
      stack.pop_back();
      continue;
    }
    Unit next = stack.back().open.front();
    stack.back().open.erase(stack.back().open.begin());
    if (seen.insert(next).second) stack.push_back({next, needs(next)});
  }
}

/// What has to be written, operands first, else in the old order.
std::vector<Unit> Emitter::schedule() const {
  const auto read = readersIn(graph_);
  std::vector<Unit> roots;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {  // nodes that nobody read before stay
    const auto& outputs = graph_.nodes[i].outputs;
    if (std::none_of(outputs.begin(), outputs.end(), [&](const auto& o) { return read.contains(o); })) {
      Unit original{Unit::Kind::kOriginal, static_cast<int>(i)};
      roots.push_back(outputs.empty() || outputs[0].empty() ? original : unitOf(outputs[0]).value_or(original));
    }
  }
  for (const std::string& name : graph_.outputs) {
    if (auto u = unitOf(name)) roots.push_back(*u);
  }
  std::set<Unit> live;
  std::vector<Unit> any, order;
  for (Unit u : roots)
    visit(u, live, any);
  std::set<Unit> seen;
  for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
    if (live.contains({Unit::Kind::kOriginal, i})) visit({Unit::Kind::kOriginal, i}, seen, order);
  }
  for (Unit u : roots)
    visit(u, seen, order);
  return order;
}

Constant Emitter::evaluated(Value v) {
  if (const Constant* known = weights_.find(after_, v)) return *known;
  auto c = constants_.value(v);
  if (!c) throw NotEmitted{c.error().message()};
  return weights_.kept(std::move(*c));
}

/// The bias as one value per channel of the result.
std::string Emitter::biasName(const FusedBias& fused) {
  Constant c = evaluated(fused.bias);
  int64_t channels = program().nodes()[index(fused.conv)].shapes[0][1].asConstant().value();
  size_t each = elementSize(c.element);
  if (c.bytes->size() == each && channels > 1) {
    std::string repeated;
    for (int64_t i = 0; i < channels; ++i)
      repeated += *c.bytes;
    c.bytes = Bytes(std::move(repeated));
  }
  c.extents = {channels};
  return constantName(program().nodes()[index(fused.conv)].names[0] + "/bias", c);
}

std::string Emitter::nameOf(Value v) {
  if (auto it = after_.names.find(v); it != after_.names.end()) return it->second;
  if (auto it = given_.find(v); it != given_.end()) return it->second;
  std::string name =
      constant_[index(v.node)] ? constantName(program().name(v), evaluated(v)) : sink_.uniqueValue(program().name(v));
  return given_[v] = name;
}

void Emitter::writeNew(int node) {
  if (isCentring(after_, node)) {  // operators take the integers and their zero point
    given_[{node, 0}] = nameOf(program().nodes()[index(node)].operands[0]);
    return;
  }
  auto fused = fused_.find(node);
  int main = fused == fused_.end() ? node : fused->second.conv;
  const Node& n = program().nodes()[index(node)];
  const ViewOutput from{after_, constant_, [this](Value v) { return nameOf(v); },
                        [this](Value v) { return evaluated(v); }};
  std::vector<std::string> operands = operandNames(sink_, from, main), outputs;
  if (fused != fused_.end()) operands.push_back(biasName(fused->second));
  for (int o = 0; o < static_cast<int>(n.names.size()); ++o)
    outputs.push_back(nameOf({node, o}));
  writeNode(sink_, program(), main, std::move(operands), std::move(outputs));
}

void Emitter::write(Unit u) {
  if (u.kind == Unit::Kind::kOriginal) {
    sink_.node(original(u.index));
  } else {
    writeNew(u.index);
  }
}

/// Initializers that some node read before and none reads now, and new ones that a node was written without.
void Emitter::dropUnreadInitializers() {
  const auto before = readersIn(graph_), now = readersIn(out_);
  std::set<std::string_view> were;
  for (const Initializer& i : graph_.initializers)
    were.insert(i.name);
  std::erase_if(out_.initializers, [&](const Initializer& i) {
    return !i.overridable && !now.contains(i.name) && (before.contains(i.name) || !were.contains(i.name));
  });
}

Expected<Graph> Emitter::run() {
  try {
    for (Unit u : schedule())
      write(u);
  } catch (const NotEmitted& e) {
    return fail(ErrorKind::kUnsupported, e.reason);
  }
  dropUnreadInitializers();
  return std::move(out_);
}

}  // namespace

Expected<Graph> emit(const Graph& graph, const View& before, const View& after) {
  TakenNames taken(graph);
  return emit(graph, before, after, {}, taken, NewWeights());
}

Expected<Graph> emit(const Graph& graph,
                     const View& before,
                     const View& after,
                     const RenewedNodes& renewed,
                     TakenNames& taken,
                     const NewWeights& weights) {
  return Emitter(graph, before, after, renewed, taken, weights).run();
}

Expected<Graph> toGraph(const Program& program,
                        const std::map<std::string, Constant, std::less<>>& constants,
                        int64_t opset,
                        ElementType element) {
  Graph graph;
  graph.opset = opset;
  if (!constants.empty()) element = constants.begin()->second.element;
  auto declare = [&](const std::string& name, const Shape& shape, ElementType type) {
    Extents e = concrete(shape);
    graph.types[name] = {type, std::vector<std::optional<int64_t>>(e.begin(), e.end())};
  };
  ViewBuilder builder;
  std::vector<Value> outputs;
  for (int i = 0; i < static_cast<int>(program.nodes().size()); ++i) {
    const Node& n = program.nodes()[static_cast<size_t>(i)];
    Value v;
    if (!n.is(ops::kInput)) {
      auto added = builder.add(*n.op, n.operands, n.attributes, n.names, {}, element);
      if (!added) return tl::unexpected(added.error());
      v = *added;
    } else if (n.scalar("constant") == Expr(1)) {
      auto c = constants.find(n.names[0]);
      if (c == constants.end()) return fail(ErrorKind::kUsage, "no value is given for this constant", n.names[0]);
      v = builder.constant(n.names[0], c->second);
      builder.name(v, n.names[0]);
      graph.initializers.push_back({n.names[0], c->second, false, -1});
    } else {
      const ElementType type = positionsChosenBy(program, {i, 0}) ? ElementType::kInt64 : element;
      v = builder.input(n.names[0], n.shapes[0], type);
      builder.name(v, n.names[0]);
      graph.inputs.push_back(n.names[0]);
      declare(n.names[0], n.shapes[0], type);
    }
  }
  for (Value v : program.outputs()) {
    builder.name(v, program.name(v));
    graph.outputs.push_back(program.name(v));
    declare(program.name(v), program.shape(v), builder.element(v));
  }
  View view = std::move(builder).finish(program.outputs());
  return emit(graph, view, view);
}

}  // namespace pet
