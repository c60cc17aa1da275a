#include "tools/tune/cliffs/subject.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "applier/measure/wiring.h"
#include "applier/onnx/inline.h"
#include "applier/read/normalise.h"

namespace pet::tune {
namespace {

bool isOneOf(const std::string& type, std::initializer_list<std::string_view> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool isView(const GraphNode& node) {
  return isOneOf(node.type, {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Dropout"});
}

/// It says something of its operand's shape, and reads nothing of it.
bool readsShape(const GraphNode& node) {
  return isOneOf(node.type, {"Shape", "Size"});
}

bool hasSubgraph(const GraphNode& node) {
  bool has = false;
  forEachSubgraph(node, [&](const std::string&, const Subgraph&) { has = true; });
  return has;
}

}  // namespace

double SubjectValue::elements() const {
  if (!extents) return 0;
  return std::accumulate(extents->begin(), extents->end(), 1.0,
                         [](double a, int64_t b) { return a * static_cast<double>(b); });
}

double SubjectValue::bytes() const {
  return elements() * static_cast<double>(elementSize(element));
}

Expected<Subject> Subject::read(const std::string& path) {
  auto model = load(path);
  if (!model) return tl::unexpected(model.error());
  Subject subject;
  subject.path_ = path;
  subject.name_ = std::filesystem::path(path).stem().string();
  subject.model_ = std::make_shared<Model>(inlineCalls(*model, [](const GraphNode&) { return true; }).model);
  const Graph& graph = subject.model_->graph;
  const ModelSizes sizes = normalise(graph).sizes;
  if (sizes.samples().empty()) {
    return fail(ErrorKind::kModel, "it leaves sizes open, and none were found at which it runs", path,
                "bind them (pet-apply --bind) first");
  }
  subject.types_ = typesOf(graph, sizes.typical());
  subject.wire();
  return subject;
}

int Subject::enter(const std::string& name) {
  auto [it, added] = positions_.emplace(name, static_cast<int>(values_.size()));
  if (!added) return it->second;
  SubjectValue value{.name = name, .extents = std::nullopt};
  if (auto type = types_.find(name); type != types_.end()) {
    value.element = type->second.element;
    value.extents = type->second.extents();
  }
  values_.push_back(std::move(value));
  return it->second;
}

void Subject::wire() {
  const Graph& graph = model_->graph;
  const Wiring wiring(graph);
  for (const Initializer& i : graph.initializers) {
    SubjectValue& value = values_[static_cast<size_t>(enter(i.name))];
    value.number = &i.value;
    value.element = i.value.element;
    value.extents = i.value.extents;
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& from = graph.nodes[n];
    SubjectNode node;
    for (const std::string& name : from.inputs) {
      node.operands.push_back(name.empty() ? -1 : enter(name));
      if (name.empty()) continue;
      auto& readers = values_[static_cast<size_t>(node.operands.back())].readers;
      if (readers.empty() || readers.back() != static_cast<int>(n)) readers.push_back(static_cast<int>(n));
    }
    for (const std::string& name : from.outputs) {
      node.results.push_back(name.empty() ? -1 : enter(name));
      if (!name.empty()) values_[static_cast<size_t>(node.results.back())].producer = static_cast<int>(n);
    }
    if (auto value = from.attributes.find("value"); from.type == "Constant" && value != from.attributes.end()) {
      if (const auto* number = std::get_if<Constant>(&value->second); number && node.results[0] >= 0)
        values_[static_cast<size_t>(node.results[0])].number = number;
    }
    nodes_.push_back(std::move(node));
  }
  for (SubjectValue& value : values_) {
    value.constant = wiring.isConstant(value.name);
    value.output = wiring.isOutput(value.name);
  }
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const GraphNode& from = graph.nodes[n];
    auto known = [&](int v) { return v < 0 || (value(v).extents && elementSize(value(v).element) > 0); };
    auto active = [&](int v) { return v >= 0 && !value(v).constant && isComputed(value(v).element); };
    auto any = [&](const std::vector<int>& all, auto holds) { return std::any_of(all.begin(), all.end(), holds); };
    SubjectNode& node = nodes_[n];
    node.free = isView(from);
    const bool computes = any(node.operands, active) || any(node.results, active);
    const bool isConstant = !node.results.empty() && node.results[0] >= 0 && value(node.results[0]).constant;
    node.mined = computes && !isConstant && !readsShape(from) && !hasSubgraph(from) &&
                 std::all_of(node.operands.begin(), node.operands.end(), known) &&
                 std::all_of(node.results.begin(), node.results.end(), known);
  }
}

Expected<Model> Subject::cut(const std::vector<int>& nodes) const {
  const Part part = partOf(model_->graph, types_, nodes);
  for (int n : part.nodes) {
    if (std::binary_search(nodes.begin(), nodes.end(), n)) continue;
    for (int v : node(n).results) {
      if (v >= 0 && !value(v).constant && isComputed(value(v).element))
        return fail(ErrorKind::kUnsupported, "it reads integers that depend on activations", value(v).name);
    }
  }
  return extract(*model_, types_, part);
}

Expected<Model> Subject::whole() const {
  Part part{{}, model_->graph.inputs, model_->graph.outputs};
  part.nodes.resize(nodes_.size());
  std::iota(part.nodes.begin(), part.nodes.end(), 0);
  return extract(*model_, types_, part);
}

}  // namespace pet::tune
