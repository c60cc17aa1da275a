#include "applier/infer/infer.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "applier/infer/check_node.h"
#include "applier/infer/declarations.h"
#include "applier/infer/entries.h"
#include "applier/infer/rules.h"
#include "applier/infer/seen_calls.h"
#include "applier/onnx/inline.h"
#include "applier/onnx/quantized.h"
#include "ir/limits.h"

namespace pet {
namespace {

using ProblemKind = InferenceProblem::Kind;

// What is kept of all values of a graph together; of those that come later, less is known.
constexpr size_t kMostTermsKept = 4'000'000;
constexpr size_t kFewEntries = 64;
constexpr size_t kMostEntriesKept = 1'000'000;     ///< in tensors of at most kFewEntries
constexpr size_t kMostLargeEntriesKept = 400'000;  ///< in larger ones

/// Takes so many out of what is left, if there are.
bool takeFrom(size_t& left, size_t count) {
  if (count > left) return false;
  left -= count;
  return true;
}

/// How often a node of a body is inferred anew, for other operands: on average.
constexpr size_t kMostInferences = 16;
constexpr size_t kMostDepth = 64;  ///< of subgraphs and calls together

size_t nodesWithin(const Graph& graph, std::set<const Function*>& seen) {
  size_t count = graph.nodes.size();
  for (const GraphNode& n : graph.nodes) {
    forEachSubgraph(n, [&](const auto&, const Subgraph& inner) { count += nodesWithin(*inner, seen); });
    if (n.callee && seen.insert(n.callee.get()).second) count += nodesWithin(n.callee->body, seen);
  }
  return count;
}

/// What the inferences of a graph and of all in it have in common.
struct Common {
  Common(const Graph& graph, const InferOptions& given, const EqualSymbols& known) : options(given), sizes(known) {
    std::set<const Function*> seen;
    nodesLeft = kMostInferences * nodesWithin(graph, seen);
  }
  const InferOptions& options;
  Sizes sizes;
  size_t termsLeft = kMostTermsKept, entriesLeft = kMostEntriesKept, largeEntriesLeft = kMostLargeEntriesKept;
  size_t nodesLeft = 0;
  bool isComplete = true;  ///< nothing was left out because of a limit
};

using Constants = std::map<std::string, const Constant*, std::less<>>;

bool sameOuter(const Constant* a, const Constant* b) {
  return a == b || (a && b && sameConstant(*a, *b));
}

bool sameUse(const FunctionUse& a, const FunctionUse& b) {
  return a.agree && b.agree && a.operands == b.operands && a.given == b.given &&
         sameAttributeValues(a.attributes, b.attributes) &&
         std::equal(a.constants.begin(), a.constants.end(), b.constants.begin(), b.constants.end(), sameOuter);
}

class GraphInference : public BodyInference {
 public:
  /// The main graph.
  GraphInference(const Graph& graph, Common& common)
      : graph_(graph), common_(common), sizes_(common.sizes), declarations_(graph, sizes_, true) {
    enterNames();
  }
  /// A subgraph, or the body of a function, where `inputs` go in.
  GraphInference(const Graph& graph, const GraphInference& outer, bool isCertain)
      : graph_(graph),
        common_(outer.common_),
        sizes_(common_.sizes),
        declarations_(graph, sizes_, false),
        depth_(outer.depth_ + 1),
        isCertain_(isCertain) {
    for (const std::string& name : graph.captured) {
      if (auto it = outer.types_.find(name); it != outer.types_.end()) types_.insert(*it);
      if (auto it = outer.constants_.find(name); it != outer.constants_.end()) constants_.insert(*it);
    }
  }

  void enterInputs();
  void enterInput(const std::string& name, InferredType type, const Constant* constant);
  Inference run();
  std::vector<InferredType> outputs(const Subgraph& body, const std::vector<InferredType>& inputs) override;

 private:
  void enterNames();
  void enterInitializers();
  void enterNode(const GraphNode& node, bool isExecuted);
  void enterConstant(const GraphNode& node);
  void keep(const std::string& name, InferredType type);
  void inferNode(NodeInference& n);
  void inferQuantized(NodeInference& n);
  void inferCall(NodeInference& n);
  bool mayEnter(const Graph& body);
  void take(Inference inner, const std::string& where);
  /// What was inferred for a value, with what the file declares where nothing was.
  InferredType merged(const GraphNode& node, const std::string& name, InferredType inferred);
  Constants outerConstants() const;

  const Graph& graph_;
  Common& common_;
  Sizes& sizes_;
  Declarations declarations_;
  size_t depth_ = 0;
  bool isCertain_ = true;  ///< whatever the inputs, the graph is executed
  InferredTypes types_;
  Constants constants_;  ///< what is one in this graph
  std::vector<InferenceProblem> problems_;
  std::map<const Graph*, InferredScope> inside_;
  std::map<const Function*, FunctionUse> functions_;
  std::vector<std::pair<Subgraph, Inference>> bodies_;  ///< of the node that is being inferred, as inferred last
};

void GraphInference::keep(const std::string& name, InferredType type) {
  if (type.dims && !takeFrom(common_.termsLeft, termsOf(*type.dims))) type.dims.reset();
  if (type.data) {
    size_t& left = type.data->size() <= kFewEntries ? common_.entriesLeft : common_.largeEntriesLeft;
    if (!type.dims || !takeFrom(left, type.data->size())) type.data.reset();
  }
  types_.insert_or_assign(name, std::move(type));
}

/// Symbols of the inputs may have another least value than others of the file's.
void GraphInference::enterNames() {
  auto enter = [&](const ValueType& type, int64_t least) {
    for (const std::string& name : type.names) {
      if (!name.empty()) sizes_.named(name, least);
    }
  };
  for (const std::string& input : graph_.inputs) {
    if (auto it = graph_.types.find(input); it != graph_.types.end()) enter(it->second, common_.options.leastExtent);
  }
  for (const auto& [value, type] : graph_.types)
    enter(type, 0);
}

void GraphInference::enterInputs() {
  for (const std::string& name : graph_.inputs) {
    auto it = graph_.types.find(name);
    if (it != graph_.types.end()) keep(name, declarations_.typeOf(it->second, common_.options.leastExtent));
  }
  sizes_.closeInputs();
}

/// Of what goes in, the declaration counts where nothing is known.
void GraphInference::enterInput(const std::string& name, InferredType type, const Constant* constant) {
  if (constant) constants_[name] = constant;
  if (auto it = graph_.types.find(name); it != graph_.types.end()) {
    if (type.kind == InferredType::Kind::kUnknown) {
      type = declarations_.typeOf(it->second);
    } else if (type.kind == InferredType::Kind::kTensor && !type.dims) {
      type.dims = declarations_.typeOf(it->second).dims;
    }
  }
  keep(name, std::move(type));
}

// What a caller may replace has the declared type, and no entries.
void GraphInference::enterInitializers() {
  for (const Initializer& i : graph_.initializers) {
    InferredType type{InferredType::Kind::kTensor, i.value.element};
    if (i.value.extents.size() <= kMostDimensions) type.dims = Shape(i.value.extents.begin(), i.value.extents.end());
    auto declared = graph_.types.find(i.name);
    if (i.overridable && !common_.options.freezeInputs) {
      if (declared != graph_.types.end() && declared->second.dims && !declared->second.extents())
        type.dims = declarations_.typeOf(declared->second).dims;
    } else if (auto entries = type.dims ? entriesOf(i.value) : std::nullopt) {
      type.data = std::move(entries);
    }
    if (!i.overridable || common_.options.freezeInputs) constants_[i.name] = &i.value;
    keep(i.name, std::move(type));
  }
  for (const std::string& name : graph_.sparse) {
    if (auto it = graph_.types.find(name); it != graph_.types.end()) keep(name, declarations_.typeOf(it->second));
  }
}

// What does not fit its signature is invalid, executed or not; what does not fit its operands only where it is
// executed: exporters leave branches that are never taken.
void GraphInference::inferNode(NodeInference& n) {
  const GraphNode& node = n.node();
  if (node.standard && graph_.opset < 1)
    NodeInference::invalid("is an operator of ONNX's own, and the model has no opset");
  const Signature* signature = node.standard ? findSignature(node.type, graph_.opset) : nullptr;
  const InferRule* rule = signature ? findInferRule(node.type) : nullptr;
  try {
    if (node.callee) inferCall(n);
    if (!node.standard && !node.callee) inferQuantized(n);
    if (!rule) return;
    checkNode(n, *signature);
    try {
      rule->infer(n);
      const EntryRule* entries = findEntryRule(node.type);
      if (entries && n.resultCount() > 0) entries->infer(n);
    } catch (const InvalidNode&) {
      bodies_.clear();
      if (isCertain_) throw;
      for (size_t i = 0; i < n.resultCount(); ++i)  // element types stand
        n.result(i) = {n.result(i).kind, n.result(i).element};
    }
  } catch (const NothingKnown&) {
    bodies_.clear();
  } catch (const OverflowError&) {  // extents beyond 64 bits: those are not said
    bodies_.clear();
  }
}

/// Of ONNX Runtime's own domain: what an operator of ONNX gives of the same integers. All of them are of one type, but
/// for QLinearConcat, whose result is of its zero point's.
void GraphInference::inferQuantized(NodeInference& n) {
  const GraphNode& node = n.node();
  const bool isOfOneType = node.domain == "com.microsoft" && node.type.starts_with("QLinear") &&
                           node.type != "QLinearConv" && node.type != "QLinearMatMul";
  auto plain = isOfOneType ? unquantized(node) : std::nullopt;
  if (!plain || n.resultCount() != 1) return;
  NodeInference like(*plain, graph_.opset, types_, sizes_, *this);
  try {
    inferNode(like);
    n.result(0) = like.result(0);
    if (node.type == "QLinearConcat") n.result(0).element = n.operand(1).element;
  } catch (const InvalidNode&) {  // of no operator of ONNX's: it says nothing
  }
}

bool GraphInference::mayEnter(const Graph& body) {
  bool may = depth_ < kMostDepth && takeFrom(common_.nodesLeft, body.nodes.size());
  common_.isComplete = common_.isComplete && may;
  return may;
}

std::vector<InferredType> GraphInference::outputs(const Subgraph& body, const std::vector<InferredType>& inputs) {
  std::erase_if(bodies_, [&](const auto& known) { return known.first == body; });
  if (!mayEnter(*body) || inputs.size() != body->inputs.size()) throw NothingKnown();
  GraphInference inner(*body, *this, false);
  for (size_t i = 0; i < inputs.size(); ++i)
    inner.enterInput(body->inputs[i], inputs[i], nullptr);
  Inference inference = inner.run();
  std::vector<InferredType> results;
  for (const std::string& name : body->outputs)
    results.push_back(inference.types[name]);
  inference.inside[body.get()] = {inference.types, inner.outerConstants()};
  bodies_.emplace_back(body, std::move(inference));
  return results;
}

/// Of the second call that is like the first nothing is taken: it is the same.
void GraphInference::inferCall(NodeInference& n) {
  const GraphNode& node = n.node();
  const Function& function = *node.callee;
  FunctionUse use{bodyFor(node), {}, {}, {}, {}, node.attributes};
  const Graph& body = *use.body;
  if (!mayEnter(body) || node.inputs.size() > body.inputs.size()) throw NothingKnown();
  GraphInference inner(body, *this, isCertain_);
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    auto constant = n.has(i) ? constants_.find(node.inputs[i]) : constants_.end();
    use.operands.push_back(n.operand(i));
    use.given.push_back(n.has(i));
    use.constants.push_back(constant == constants_.end() ? nullptr : constant->second);
    inner.enterInput(body.inputs[i], use.operands.back(), use.constants.back());
  }
  Inference inference = inner.run();
  for (size_t i = 0; i < n.resultCount() && i < body.outputs.size(); ++i)
    n.result(i) = inference.types[body.outputs[i]];
  use.scope = {inference.types, inner.outerConstants()};
  auto [known, isFirst] = functions_.try_emplace(&function, use);
  if (!isFirst && sameUse(known->second, use)) return;
  if (!isFirst) known->second.agree = false;
  take(std::move(inference), describe(node));
}

Constants GraphInference::outerConstants() const {
  Constants outer;
  for (const auto* names : {&graph_.captured, &graph_.inputs}) {
    for (const std::string& name : *names) {
      if (auto it = constants_.find(name); it != constants_.end()) outer.insert(*it);
    }
  }
  return outer;
}

/// What is known within a node is known of this graph.
void GraphInference::take(Inference inner, const std::string& where) {
  for (InferenceProblem& p : inner.problems)
    problems_.push_back({p.kind, fmt::format("in {}, {}", where, p.text)});
  inside_.merge(inner.inside);
  for (auto& [function, use] : inner.functions) {
    auto [known, isFirst] = functions_.try_emplace(function, use);
    if (!isFirst) known->second.agree = sameUse(known->second, use);
  }
}

InferredType GraphInference::merged(const GraphNode& node, const std::string& name, InferredType inferred) {
  auto declared = graph_.types.find(name);
  if (declared == graph_.types.end()) return inferred;
  return declarations_.merged(declared->second, std::move(inferred), [&](const std::string& what) {
    problems_.push_back({ProblemKind::kDeclaration, fmt::format("{}: its result '{}' {}", describe(node), name, what)});
  });
}

void GraphInference::enterNode(const GraphNode& node, bool isExecuted) {
  NodeInference n(node, graph_.opset, types_, sizes_, *this, isExecuted);
  bool valid = true;
  try {
    inferNode(n);
  } catch (const InvalidNode& e) {
    // A newer opset may allow what ours forbids.
    if (graph_.opset <= kNewestOpset)
      problems_.push_back({ProblemKind::kNode, fmt::format("{}: {}", describe(node), e.what)});
    valid = false;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string& name = node.outputs[i];
    if (!name.empty()) keep(name, merged(node, name, valid ? n.result(i) : InferredType()));
  }
}

/// Per node: an output of the main graph needs it. Engines leave others out.
std::vector<bool> executedNodes(const Graph& graph) {
  std::vector<bool> executed(graph.nodes.size());
  std::set<std::string, std::less<>> needed(graph.outputs.begin(), graph.outputs.end());
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const GraphNode& node = graph.nodes[i];
    executed[i] =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](const auto& o) { return needed.contains(o); });
    if (!executed[i]) continue;
    for (const std::string& name : readsOf(node))
      needed.insert(name);
  }
  return executed;
}

/// Only what stands in the file: what others compute, normalise() folds.
void GraphInference::enterConstant(const GraphNode& node) {
  auto value = node.standard && node.type == "Constant" ? node.attributes.find("value") : node.attributes.end();
  const auto* constant = value == node.attributes.end() ? nullptr : std::get_if<Constant>(&value->second);
  if (constant && !node.outputs.empty()) constants_[node.outputs[0]] = constant;
}

Inference GraphInference::run() {
  enterInitializers();
  const bool mayBeEqual = depth_ == 0 && sizes_.leavesOpen();
  const std::vector<bool> executed = mayBeEqual ? executedNodes(graph_) : std::vector<bool>(graph_.nodes.size());
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const GraphNode& node = graph_.nodes[i];
    enterConstant(node);
    enterNode(node, executed[i]);
    for (auto& [body, inference] : bodies_)
      take(std::move(inference), describe(node));
    bodies_.clear();
  }
  Inference result;
  result.types = std::move(types_);
  result.problems = std::move(problems_);
  result.inside = std::move(inside_);
  result.functions = std::move(functions_);
  return result;
}

}  // namespace

// What is equal makes more equal: extents that are broadcast, say.
Inference infer(const Graph& graph, const InferOptions& options) {
  constexpr int kMostRounds = 4;
  EqualSymbols known;
  for (int round = 1;; ++round) {
    Common common(graph, options, known);
    GraphInference main(graph, common);
    main.enterInputs();
    Inference result = main.run();
    if (common.sizes.equal().count() > known.count() && round < kMostRounds) {
      known = common.sizes.equal();
      continue;
    }
    for (const auto& [name, symbol] : common.sizes.names()) {
      const Expr is = known.of(symbol);
      if (is.asVariable() == symbol) {
        result.symbols.emplace(name, symbol);
      } else {
        result.equal.emplace(name, is);
      }
    }
    result.least = common.sizes.leastValues();
    result.made = common.sizes.operations();
    result.positive = common.sizes.positive();
    distrustUnseenCalls(graph, common.isComplete, result);
    return result;
  }
}

}  // namespace pet
