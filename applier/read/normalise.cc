#include "applier/read/normalise.h"

#include <algorithm>

#include <fmt/format.h>

#include "applier/infer/infer.h"
#include "applier/operators/onnx_rows.h"
#include "applier/read/finite.h"
#include "applier/read/fold_constants.h"
#include "applier/view/element_types.h"
#include "ir/layout_algebra.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

using NeverTrue = std::set<std::string, std::less<>>;

class Normaliser {
 public:
  Normaliser(const Graph& graph, const NormaliseOptions& options, Inference inference, NeverTrue neverTrue)
      : graph_(graph), options_(options), inference_(std::move(inference)) {
    scope_.neverTrue = std::move(neverTrue);
    scope_.readers = readersIn(graph_);
    useMultiples();
    std::vector<Constraint> known = options_.assumed;
    for (const Expr& e : inference_.positive)
      known.push_back(Constraint::le(1, e));
    sizes_ = ModelSizes(std::move(inference_.least), std::move(known));
  }

  Normalised run();
  Expected<WholeProgram> runWhole();

 private:
  void useMultiples();
  void enterInputs();
  void enterValue(const std::string& name);
  void enterConstant(const std::string& name, const Constant& value);
  /// The reason why the node stays out; empty if it is in.
  std::string enterNode(size_t position);
  std::string enterConstants(const GraphNode& node, std::vector<Constant> values);
  bool isReadByValue(const GraphNode& node) const;
  std::string lift(size_t position);
  std::vector<std::string> enterNodes();
  OpenSizes openSizes() const;
  bool isReadBeside(size_t position, const std::string& name) const;
  std::vector<Value> required(const std::vector<std::string>& opaque);

  const Graph& graph_;
  NormaliseOptions options_;
  Inference inference_;
  ViewBuilder builder_;
  ModelSizes sizes_;  ///< without samples
  Scope scope_{&inference_, &sizes_, &builder_, {}, {}, {}, {}};
  ModelSizes::Parts parts_;  ///< the symbols of useMultiples()
};

/// Puts k times a symbol of its own for each symbol that is promised to be a multiple of k.
void Normaliser::useMultiples() {
  if (options_.multiples.empty()) return;
  std::map<std::string, Expr> by;
  for (const auto& [symbol, k] : options_.multiples) {
    std::string each = fmt::format("{}_per_{}", symbol, k);
    by.emplace(symbol, Expr::variable(each) * k);
    parts_.emplace(each, ModelSizes::Part{symbol, k});
    if (auto it = inference_.least.find(symbol); it != inference_.least.end())
      inference_.least[each] = -floorDivide(-it->second, k);
    if (auto it = options_.expected.find(symbol); it != options_.expected.end()) {
      std::vector<int64_t>& values = options_.expected[each] = it->second;
      for (int64_t& value : values)
        value = std::max<int64_t>(1, value / k);
    }
  }
  for (auto& [name, type] : inference_.types) {
    if (type.dims) type.dims = substitute(*type.dims, by);
  }
  for (Expr& e : inference_.positive)
    e = e.substitute(by);
  for (Constraint& c : options_.assumed)
    c = c.substitute(by);
}

/// Known entries: a tensor of sizes, as exporters compute them with Shape, Gather and Concat. No rule is about those.
bool isOfSizes(const InferredType& type) {
  return !isComputed(type.element) && type.data.has_value();
}

/// A value of the model's that is an input of the view, if pet moves values of its type and its rank is known.
void Normaliser::enterValue(const std::string& name) {
  auto it = inference_.types.find(name);
  if (it == inference_.types.end() || it->second.kind != InferredType::Kind::kTensor || !it->second.dims) return;
  if (!isMoved(it->second.element) || isOfSizes(it->second) || scope_.values.contains(name)) return;
  Value v = builder_.input(name, *it->second.dims, it->second.element);
  builder_.name(v, name);
  scope_.values[name] = v;
}

void Normaliser::enterInputs() {
  for (const std::string& name : graph_.inputs)
    enterValue(name);
  for (const Initializer& i : graph_.initializers) {
    bool fixed = !i.overridable || options_.freezeInputs;
    if (fixed) scope_.constants[i.name] = i.value;
    if (!isMoved(i.value.element) || !i.value.bytes) continue;
    if (fixed) {
      enterConstant(i.name, i.value);
    } else {
      enterValue(i.name);
    }
  }
}

void Normaliser::enterConstant(const std::string& name, const Constant& value) {
  Value v = builder_.constant(name, value);
  builder_.name(v, name);
  scope_.values[name] = v;
}

std::string Normaliser::lift(size_t position) {
  const GraphNode& node = graph_.nodes[position];
  const OnnxRow* row = node.standard ? findReader(node.type) : nullptr;
  if (!row && isQuantized(node)) throw NotLifted{"quantized: rules are for floating point"};
  if (!row) {
    throw NotLifted{node.domain.empty() ? "an operator that is not known"
                                        : fmt::format("an operator of the domain {}", node.domain)};
  }
  Lifting lifting(node, static_cast<int>(position), graph_.opset, scope_, builder_);
  std::vector<Value> outputs = row->read(lifting, *row);
  for (size_t i = 0; i < outputs.size() && i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    scope_.values[node.outputs[i]] = outputs[i];
    // An Identity's value is its operand's, which keeps its own name.
    if (builder_.provenance(outputs[i]).origin == static_cast<int>(position))
      builder_.name(outputs[i], node.outputs[i]);
  }
  return "";
}

std::string Normaliser::enterConstants(const GraphNode& node, std::vector<Constant> values) {
  for (size_t i = 0; i < values.size() && i < node.outputs.size(); ++i) {
    if (isMoved(values[i].element) && values[i].bytes) enterConstant(node.outputs[i], values[i]);
    scope_.constants[node.outputs[i]] = std::move(values[i]);
  }
  return std::string(kFolded);
}

/// The result is of a type in which models keep what others read by its values: indices, extents, conditions.
bool Normaliser::isReadByValue(const GraphNode& node) const {
  auto it = node.outputs.empty() ? inference_.types.end() : inference_.types.find(node.outputs[0]);
  if (it == inference_.types.end()) return false;
  const ElementType element = it->second.element;
  return element == ElementType::kInt64 || element == ElementType::kInt32 || element == ElementType::kBool;
}

std::string Normaliser::enterNode(size_t position) {
  const GraphNode& node = graph_.nodes[position];
  if (node.standard && graph_.opset < 1) return "the model has no opset";
  if (!node.outputs.empty() && scope_.neverTrue.contains(node.outputs[0])) return "";
  try {
    if (auto known = node.standard ? knownConstants(node, scope_) : std::nullopt)
      return enterConstants(node, std::move(*known));
    auto early = isReadByValue(node) ? computedConstant(node, graph_.opset, scope_) : std::nullopt;
    if (early) return enterConstants(node, {std::move(*early)});
    try {
      return lift(position);
    } catch (const NotLifted& e) {
      auto computed = computedConstant(node, graph_.opset, scope_);
      return computed ? enterConstants(node, {std::move(*computed)}) : e.reason;
    }
  } catch (const OverflowError&) {
    return "extents beyond 64 bits";
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {  // a constant operand that is empty, a variant of another kind
    return fmt::format("malformed: {}", e.what());
  }
}

/// The ONNX node in the view reads these integers, and none of the view's nodes that stand for it does: a target shape
/// that is computed, where the file declares what comes out. Numbers chosen by a condition are read as that, indices
/// within bounds or in other extents as those that they were.
bool Normaliser::isReadBeside(size_t position, const std::string& name) const {
  auto it = scope_.values.find(name);
  const Program& program = builder_.program();
  if (it == scope_.values.end() || isComputed(builder_.element(it->second)) || builder_.isConstant(it->second))
    return false;
  const Node& made = program.node(it->second);
  const bool isChosen = made.is(ops::kWhere) && isTruth(program, made.operands[0]);
  if (isChosen || made.is(ops::kClip) || isTruth(program, it->second)) return false;
  bool any = false;
  for (int n = it->second.node + 1; n < static_cast<int>(program.nodes().size()); ++n) {
    if (builder_.provenance({n, 0}).origin != static_cast<int>(position)) continue;
    any = true;
    const auto& operands = program.nodes()[static_cast<size_t>(n)].operands;
    auto reads = [&](Value v) {
      const bool inOtherExtents = made.is(ops::kLayout) && movesNothing(made) && v == made.operands[0];
      return v == it->second || inOtherExtents || builder_.isCentred(v, it->second);
    };
    if (std::any_of(operands.begin(), operands.end(), reads)) return false;
  }
  return any;
}

/// The values that must stay: the graph's outputs, what nodes outside the view read, and results that nobody reads.
std::vector<Value> Normaliser::required(const std::vector<std::string>& opaque) {
  std::vector<Value> result;
  std::set<Value> known;
  auto require = [&](const std::string& name) {
    auto it = scope_.values.find(name);
    if (it == scope_.values.end() || builder_.program().node(it->second).is(ops::kInput)) return;
    if (!known.insert(it->second).second) return;
    result.push_back(it->second);
    // An inner value of one ONNX node may be the result of another: of an Unsqueeze behind the Gather of a scalar.
    if (!builder_.named(it->second)) builder_.name(it->second, name);
  };
  std::set<std::string> read(graph_.outputs.begin(), graph_.outputs.end());
  for (const std::string& name : graph_.outputs)
    require(name);
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    auto names = readsOf(graph_.nodes[i]);
    read.insert(names.begin(), names.end());
    for (const std::string& name : names) {
      if (!opaque[i].empty() || isReadBeside(i, name)) require(name);
    }
  }
  for (const GraphNode& n : graph_.nodes) {
    bool dead = std::none_of(n.outputs.begin(), n.outputs.end(), [&](const auto& o) { return read.contains(o); });
    if (dead) std::for_each(n.outputs.begin(), n.outputs.end(), require);
  }
  return result;
}

std::vector<std::string> Normaliser::enterNodes() {
  for (const std::string& name : graph_.inputs)
    builder_.reserve(name);
  for (const Initializer& i : graph_.initializers)
    builder_.reserve(i.name);
  for (const GraphNode& n : graph_.nodes) {
    for (const std::string& name : n.outputs)
      builder_.reserve(name);
  }
  enterInputs();
  std::vector<std::string> opaque(graph_.nodes.size());
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    opaque[i] = enterNode(i);
    if (opaque[i].empty()) continue;
    for (const std::string& name : graph_.nodes[i].outputs)
      enterValue(name);
  }
  return opaque;
}

OpenSizes Normaliser::openSizes() const {
  OpenSizes sizes;
  for (const std::string& name : graph_.inputs) {
    auto it = inference_.types.find(name);
    if (it == inference_.types.end() || it->second.kind != InferredType::Kind::kTensor || !it->second.dims) continue;
    for (size_t d = 0; d < it->second.dims->size(); ++d) {
      const Dim& extent = (*it->second.dims)[d];
      if (!extent.isAffine() || extent.affine().constant() != 0 || extent.affine().terms().size() != 1) continue;
      const auto& [term, divisor] = extent.affine().terms()[0];
      if (!term.division && divisor > 0) sizes.try_emplace(term.name, OpenSize{name, static_cast<int>(d), divisor});
    }
  }
  return sizes;
}

Normalised Normaliser::run() {
  auto opaque = enterNodes();
  auto outputs = required(opaque);
  View view = pruned(std::move(builder_).finish(std::move(outputs)));
  view.openSizes = openSizes();
  sizes_.setParts(std::move(parts_));
  sizes_.setOperations(std::move(inference_.made));
  sizes_.setSamples(sampleSizes(view, sizes_, options_.expected));
  return {std::move(view), std::move(sizes_), std::move(opaque)};
}

Expected<WholeProgram> Normaliser::runWhole() {
  auto opaque = enterNodes();
  auto unknown = [&](const std::string& value) {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& n = graph_.nodes[i];
      if (std::find(n.outputs.begin(), n.outputs.end(), value) == n.outputs.end()) continue;
      return fail(ErrorKind::kUnsupported, fmt::format("{} is not in pet's vocabulary: {}", n.type, opaque[i]),
                  describe(n));
    }
    return fail(ErrorKind::kUnsupported, "its extents are not known, or pet does not compute with its type", value);
  };
  std::vector<Value> outputs;
  for (const std::string& name : graph_.outputs) {
    auto it = scope_.values.find(name);
    if (it == scope_.values.end()) return unknown(name);
    outputs.push_back(it->second);
  }
  View view = pruned(std::move(builder_).finish(std::move(outputs)));
  for (size_t i = 0; i < view.elements.size(); ++i) {
    if (!isComputed(view.elements[i]))
      return fail(ErrorKind::kUnsupported, fmt::format("pet does not compute with {}", str(view.elements[i])),
                  view.program.nodes()[i].names[0]);
  }
  WholeProgram whole{view.program, {}};
  for (Value v : view.program.inputs()) {
    const std::string& name = view.program.name(v);
    if (!asConstants(view.program.shape(v)))
      return fail(ErrorKind::kUnsupported, fmt::format("it leaves extents open: {}", str(view.program.shape(v))), name,
                  "pet-apply --bind gives them numbers");
    if (auto c = view.constants.find(v.node); c != view.constants.end()) {
      whole.constants.emplace(name, c->second);
    } else if (std::find(graph_.inputs.begin(), graph_.inputs.end(), name) == graph_.inputs.end()) {
      return unknown(name);
    }
  }
  return whole;
}

bool asksForNaN(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode& n) { return n.type == "IsNaN"; });
}

}  // namespace

Normalised normalise(const Graph& graph, const NormaliseOptions& options) {
  return normalise(graph, options, infer(graph, {.freezeInputs = options.freezeInputs}));
}

Normalised normalise(const Graph& graph, const NormaliseOptions& options, Inference inference) {
  if (!asksForNaN(graph) || options.neverTrue)
    return Normaliser(graph, options, std::move(inference), options.neverTrue.value_or(NeverTrue{})).run();
  Normalised read = Normaliser(graph, options, inference, {}).run();
  auto never = neverTrue(graph, read, inference);
  if (never.empty()) return read;
  read = Normaliser(graph, options, std::move(inference), never).run();
  read.neverTrue = std::move(never);
  return read;
}

Expected<WholeProgram> toProgram(const Graph& graph) {
  const NormaliseOptions options{.freezeInputs = true};
  Inference inference = infer(graph, {.freezeInputs = true});
  NeverTrue never;
  if (asksForNaN(graph)) never = neverTrue(graph, Normaliser(graph, options, inference, {}).run(), inference);
  return Normaliser(graph, options, std::move(inference), std::move(never)).runWhole();
}

}  // namespace pet
