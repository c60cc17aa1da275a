#include "tools/tune/cliffs/work.h"

#include <algorithm>
#include <map>

#include "applier/read/normalise.h"
#include "ir/expr.h"
#include "ir/work.h"

namespace pet::tune {
namespace {

double elementsOf(const Subject& subject, const std::vector<int>& values) {
  double sum = 0;
  for (int v : values)
    sum += v < 0 ? 0 : subject.value(v).elements();
  return sum;
}

double operandElements(const Subject& subject, const SubjectNode& node, size_t i) {
  return i < node.operands.size() && node.operands[i] >= 0 ? subject.value(node.operands[i]).elements() : 0;
}

/// By the operator table; nullopt where pet does not know the operator, or not with these attributes.
std::optional<double> workInTable(const Subject& subject, int n) {
  auto model = subject.cut({n});
  if (!model) return std::nullopt;
  const Normalised read = normalise(model->graph);
  const bool isKnown = std::all_of(read.opaque.begin(), read.opaque.end(),
                                   [](const std::string& why) { return why.empty() || why == kFolded; });
  if (!isKnown || read.view.program.outputs().empty()) return std::nullopt;
  try {
    return workOf(read.view.program, Bindings{});
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

/// Each step multiplies the input and the state with their weights.
std::optional<double> recurrentWork(const Subject& subject, int n) {
  const std::string& type = subject.graphNode(n).type;
  if (type != "LSTM" && type != "GRU" && type != "RNN") return std::nullopt;
  const SubjectNode& node = subject.node(n);
  const Extents& x = *subject.value(node.operands[0]).extents;
  return static_cast<double>(x[0]) * static_cast<double>(x[1]) *
         (operandElements(subject, node, 1) + operandElements(subject, node, 2));
}

/// Queries times keys, and what comes of it times values.
std::optional<double> attentionWork(const Subject& subject, int n) {
  if (subject.graphNode(n).type != "Attention") return std::nullopt;
  const SubjectNode& node = subject.node(n);
  const Extents& keys = *subject.value(node.operands[1]).extents;
  const double positions = static_cast<double>(keys[keys.size() - 2]);
  return positions * (operandElements(subject, node, 0) + subject.value(node.results[0]).elements());
}

bool readsAPart(const GraphNode& node) {
  constexpr std::string_view kTypes[] = {"Slice", "Gather", "GatherElements", "GatherND"};
  return std::find(std::begin(kTypes), std::end(kTypes), node.type) != std::end(kTypes);
}

}  // namespace

double flopsOf(const Subject& subject, int n) {
  if (auto work = workInTable(subject, n)) return 2 * *work;
  if (auto work = recurrentWork(subject, n)) return 2 * *work;
  if (auto work = attentionWork(subject, n)) return 2 * *work;
  const SubjectNode& node = subject.node(n);
  return 2 * std::max(elementsOf(subject, node.operands), elementsOf(subject, node.results));
}

double compulsoryBytes(const Subject& subject, const std::vector<int>& nodes) {
  auto isInside = [&](int n) { return std::binary_search(nodes.begin(), nodes.end(), n); };
  std::map<int, double> values;  // bytes of those at the border
  for (int n : nodes) {
    const SubjectNode& node = subject.node(n);
    double made = 0;
    for (int v : node.results) {
      if (v < 0) continue;
      const SubjectValue& value = subject.value(v);
      made += value.bytes();
      const bool leaves = value.output || !std::all_of(value.readers.begin(), value.readers.end(), isInside);
      if (leaves) values[v] = value.bytes();
    }
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const int v = node.operands[i];
      if (v < 0 || (subject.value(v).producer >= 0 && isInside(subject.value(v).producer))) continue;
      const double whole = subject.value(v).bytes();
      const double read = i == 0 && readsAPart(subject.graphNode(n)) ? std::min(whole, made) : whole;
      values[v] = std::max(values[v], read);
    }
  }
  double bytes = 0;
  for (const auto& [v, each] : values)
    bytes += each;
  return bytes;
}

}  // namespace pet::tune
