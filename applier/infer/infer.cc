#include "applier/infer/infer.h"

#include <algorithm>

#include <fmt/format.h>

#include "applier/infer/check_node.h"
#include "applier/infer/entries.h"
#include "applier/infer/rules.h"
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

class GraphInference {
 public:
  GraphInference(const Graph& graph, const InferOptions& options) : graph_(graph), options_(options) {}

  Inference run();

 private:
  void enterNames();
  void enterInputs();
  void enterInitializers();
  InferredType declaredType(const ValueType& declared, int64_t least = 0);
  void enterNode(const GraphNode& node);
  void keep(const std::string& name, InferredType type);
  void inferNode(NodeInference& n);
  /// What was inferred for a value, with what the file declares where nothing was.
  InferredType merged(const GraphNode& node, const std::string& name, InferredType inferred);
  void mergeDims(InferredType& type, const ValueType& declared, const std::string& where);
  void declarationProblem(const std::string& where, std::string what) {
    problems_.push_back({ProblemKind::kDeclaration, where + std::move(what)});
  }

  const Graph& graph_;
  const InferOptions& options_;
  Sizes sizes_;
  InferredTypes types_;
  std::vector<InferenceProblem> problems_;
  size_t termsLeft_ = kMostTermsKept, entriesLeft_ = kMostEntriesKept, largeEntriesLeft_ = kMostLargeEntriesKept;
};

void GraphInference::keep(const std::string& name, InferredType type) {
  if (type.dims && !takeFrom(termsLeft_, termsOf(*type.dims))) type.dims.reset();
  if (type.data) {
    size_t& left = type.data->size() <= kFewEntries ? entriesLeft_ : largeEntriesLeft_;
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
    if (auto it = graph_.types.find(input); it != graph_.types.end()) enter(it->second, options_.leastExtent);
  }
  for (const auto& [value, type] : graph_.types)
    enter(type, 0);
}

/// `least`: of an extent that has neither value nor name.
InferredType GraphInference::declaredType(const ValueType& declared, int64_t least) {
  InferredType type;
  if (declared.element == ElementType::kUnknown && !declared.dims) return type;
  type.kind = InferredType::Kind::kTensor;
  type.element = declared.element;
  if (!declared.dims || declared.dims->size() > kMostDimensions) return type;
  type.dims.emplace();
  for (size_t i = 0; i < declared.dims->size(); ++i) {
    if (const auto& k = (*declared.dims)[i]) {
      type.dims->emplace_back(*k);
    } else if (std::string_view name = declared.nameOf(i); !name.empty()) {
      type.dims->push_back(sizes_.named(name));
    } else if (sizes_.canMakeMore()) {
      type.dims->push_back(sizes_.fresh(least));
    } else {
      type.dims.reset();
      return type;
    }
  }
  return type;
}

void GraphInference::enterInputs() {
  for (const std::string& name : graph_.inputs) {
    auto it = graph_.types.find(name);
    if (it != graph_.types.end()) keep(name, declaredType(it->second, options_.leastExtent));
  }
}

// What a caller may replace has the declared type, and no entries.
void GraphInference::enterInitializers() {
  for (const Initializer& i : graph_.initializers) {
    InferredType type{InferredType::Kind::kTensor, i.value.element};
    if (i.value.extents.size() <= kMostDimensions) type.dims = Shape(i.value.extents.begin(), i.value.extents.end());
    auto declared = graph_.types.find(i.name);
    if (i.overridable && !options_.freezeInputs) {
      if (declared != graph_.types.end() && declared->second.dims && !declared->second.extents())
        type.dims = declaredType(declared->second).dims;
    } else if (auto entries = type.dims ? entriesOf(i.value) : std::nullopt) {
      type.data = std::move(entries);
    }
    keep(i.name, std::move(type));
  }
  for (const std::string& name : graph_.sparse) {
    if (auto it = graph_.types.find(name); it != graph_.types.end()) keep(name, declaredType(it->second));
  }
}

void GraphInference::inferNode(NodeInference& n) {
  const GraphNode& node = n.node();
  const Signature* signature = node.standard ? findSignature(node.type, graph_.opset) : nullptr;
  const InferRule* rule = signature ? findInferRule(node.type) : nullptr;
  if (!rule) return;
  const size_t results = n.resultCount();
  try {
    checkNode(n, *signature);
    rule->infer(n);
    const EntryRule* entries = findEntryRule(node.type);
    if (entries && results > 0) entries->infer(n);
  } catch (const NothingKnown&) {
  } catch (const OverflowError&) {  // extents beyond 64 bits: those are not said
  }
}

void GraphInference::mergeDims(InferredType& type, const ValueType& declared, const std::string& where) {
  if (!declared.dims || type.kind != InferredType::Kind::kTensor) return;
  if (!type.dims) {
    type.dims = declaredType(declared).dims;
    return;
  }
  if (type.dims->size() != declared.dims->size()) {
    return declarationProblem(where, fmt::format("is declared with {} dimensions, but has {}: {}",
                                                 declared.dims->size(), type.dims->size(), str(*type.dims)));
  }
  for (size_t i = 0; i < type.dims->size(); ++i) {
    Dim& d = (*type.dims)[i];
    auto inferred = d.asConstant();
    const auto& k = (*declared.dims)[i];
    if (inferred && k && *inferred != *k)
      declarationProblem(where,
                         fmt::format("is declared with extent {} in dimension {}, but has {}", *k, i, *inferred));
    if (!sizes_.isMade(d)) continue;
    if (k) d = *k;
    if (std::string_view name = declared.nameOf(i); !name.empty()) d = sizes_.named(name);
  }
}

InferredType GraphInference::merged(const GraphNode& node, const std::string& name, InferredType inferred) {
  auto it = graph_.types.find(name);
  if (it == graph_.types.end()) return inferred;
  const ValueType& declared = it->second;
  if (inferred.kind == InferredType::Kind::kUnknown) return declaredType(declared);
  const std::string where = fmt::format("{}: its result '{}' ", describe(node), name);
  if (inferred.element == ElementType::kUnknown) {
    inferred.element = declared.element;
  } else if (inferred.kind == InferredType::Kind::kTensor && declared.element != ElementType::kUnknown &&
             declared.element != inferred.element) {
    declarationProblem(where,
                       fmt::format("is declared as {}, but is of {}", str(declared.element), str(inferred.element)));
  }
  mergeDims(inferred, declared, where);
  return inferred;
}

void GraphInference::enterNode(const GraphNode& node) {
  NodeInference n(node, graph_.opset, types_, sizes_);
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

Inference GraphInference::run() {
  enterNames();
  enterInputs();
  enterInitializers();
  for (const GraphNode& node : graph_.nodes)
    enterNode(node);
  return {std::move(types_), sizes_.names(), sizes_.leastValues(), std::move(problems_)};
}

}  // namespace

Inference infer(const Graph& graph, const InferOptions& options) {
  return GraphInference(graph, options).run();
}

}  // namespace pet
