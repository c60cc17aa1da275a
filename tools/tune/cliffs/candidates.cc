#include "tools/tune/cliffs/candidates.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/tune/cliffs/groups.h"
#include "tools/tune/cliffs/work.h"

namespace pet::tune {
namespace {

constexpr size_t kShortList = 64;  ///< constants of so many entries are a part of what a candidate is

std::string textOf(const std::optional<Extents>& extents) {
  return extents ? fmt::format("[{}]", fmt::join(*extents, ",")) : "[?]";
}

std::string textOf(const GraphAttribute& attribute) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, float> || std::is_same_v<T, std::string>) {
          return fmt::format("{}", value);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<float>> ||
                             std::is_same_v<T, std::vector<std::string>>) {
          return fmt::format("[{}]", fmt::join(value, ","));
        } else {
          return "…";
        }
      },
      attribute);
}

bool areAll(const GraphAttribute& attribute, int64_t number) {
  const auto* list = std::get_if<std::vector<int64_t>>(&attribute);
  return list && std::all_of(list->begin(), list->end(), [&](int64_t n) { return n == number; });
}

/// An attribute that says what holds without it, or what the extents of a kernel say as well.
bool isUsual(const std::string& name, const GraphAttribute& value) {
  if (name == "auto_pad") return textOf(value) == "NOTSET";
  if (name == "group") return textOf(value) == "1";
  if (name == "strides" || name == "dilations") return areAll(value, 1);
  return name == "pads" && areAll(value, 0);
}

/// "ReduceSum(axes=[2],keepdims=0)"; for people without what is usual.
std::string operatorText(const GraphNode& node, bool isWhole = true) {
  std::vector<std::string> attributes;
  for (const auto& [name, value] : node.attributes) {
    if (isWhole || !isUsual(name, value)) attributes.push_back(fmt::format("{}={}", name, textOf(value)));
  }
  return attributes.empty() ? node.type : fmt::format("{}({})", node.type, fmt::join(attributes, ","));
}

/// The entries of a constant that has few; else nothing.
std::string entriesOf(const SubjectValue& value) {
  if (!value.number || value.elements() > static_cast<double>(kShortList)) return "";
  if (auto whole = value.number->integers()) return fmt::format("={}", fmt::join(*whole, ","));
  if (auto numbers = value.number->numbers()) return fmt::format("={}", fmt::join(*numbers, ","));
  return "";
}

/// Nodes as text that is equal where they take the same time: operators, attributes, element types, extents, small
/// constants, and who reads whose result.
class KeyWriter {
 public:
  explicit KeyWriter(const Subject& subject) : subject_(subject) {}

  std::string key(const std::vector<int>& nodes) const {
    std::map<int, std::string> names;  // values that were met, by position
    std::string text;
    for (int n : nodes) {
      const SubjectNode& node = subject_.node(n);
      const GraphNode& from = subject_.graphNode(n);
      text += fmt::format("{}:{}:", from.domain, operatorText(from));
      for (int v : node.operands)
        text += v < 0 ? "-;" : nameOf(v, names) + ";";
      for (size_t r = 0; r < node.results.size(); ++r) {
        if (node.results[r] >= 0) names[node.results[r]] = fmt::format("#{}", names.size());
        text += node.results[r] < 0 ? "-" : isRead(node.results[r], nodes) ? ">" : ".";
      }
      text += "\n";
    }
    return text;
  }

 private:
  /// Outside the group.
  bool isRead(int v, const std::vector<int>& nodes) const {
    const SubjectValue& value = subject_.value(v);
    return value.output || std::any_of(value.readers.begin(), value.readers.end(),
                                       [&](int r) { return !std::binary_search(nodes.begin(), nodes.end(), r); });
  }

  std::string nameOf(int v, std::map<int, std::string>& names) const {
    if (auto it = names.find(v); it != names.end()) return it->second;
    const SubjectValue& value = subject_.value(v);
    const std::string type = fmt::format("{}{}", str(value.element), textOf(value.extents));
    if (value.constant) return "const " + type + entriesOf(value);
    const std::string name = fmt::format("#{}", names.size());
    names[v] = name;
    return name + type;
  }

  const Subject& subject_;
};

/// What comes in and goes out, for people.
void describe(const Subject& subject, const std::vector<int>& nodes, Candidate& into) {
  auto isInside = [&](int n) { return std::binary_search(nodes.begin(), nodes.end(), n); };
  std::vector<int> seen;
  for (int n : nodes) {
    into.operators.push_back(operatorText(subject.graphNode(n), /*isWhole=*/false));
    for (int v : subject.node(n).operands) {
      if (v < 0 || std::find(seen.begin(), seen.end(), v) != seen.end()) continue;
      seen.push_back(v);
      const SubjectValue& value = subject.value(v);
      if (value.producer >= 0 && isInside(value.producer)) continue;
      const bool isSmall = value.elements() < 2 || !isComputed(value.element);
      if (!value.constant || !isSmall) into.inputs.push_back((value.constant ? "w" : "") + textOf(value.extents));
    }
    for (int v : subject.node(n).results) {
      if (v < 0) continue;
      const auto& readers = subject.value(v).readers;
      if (subject.value(v).output || !std::all_of(readers.begin(), readers.end(), isInside))
        into.outputs.push_back(textOf(subject.value(v).extents));
    }
  }
}

class Collector {
 public:
  explicit Collector(const std::vector<Subject>& models) : models_(models), candidateOf_(models.size()) {}

  void addOperators(size_t model) {
    const Subject& subject = models_[model];
    const KeyWriter writer(subject);
    candidateOf_[model].assign(subject.nodes().size(), -1);
    for (int n = 0; n < static_cast<int>(subject.nodes().size()); ++n) {
      if (!subject.node(n).mined || subject.node(n).free) continue;
      auto [candidate, added] = enter(writer.key({n}), {model, {n}});
      candidateOf_[model][static_cast<size_t>(n)] = static_cast<int>(candidate);
      if (!added) continue;
      describe(subject, {n}, found_.all[candidate]);
      found_.all[candidate].flops = flopsOf(subject, n);
      found_.all[candidate].bytes = compulsoryBytes(subject, {n});
    }
    found_.operators = found_.all.size();
  }

  void addGroups(size_t model, size_t size) {
    const Subject& subject = models_[model];
    const KeyWriter writer(subject);
    Groups groups = groupsOf(subject, size);
    found_.complete = found_.complete && groups.complete;
    for (std::vector<int>& nodes : groups.nodes) {
      auto [candidate, added] = enter(writer.key(nodes), {model, nodes});
      if (added) fill(subject, model, nodes, found_.all[candidate]);
    }
  }

  Candidates take() && { return std::move(found_); }

 private:
  std::pair<size_t, bool> enter(const std::string& key, Occurrence where) {
    auto [it, added] = byKey_.emplace(key, found_.all.size());
    if (added) found_.all.emplace_back();
    found_.all[it->second].occurrences.push_back(std::move(where));
    return {it->second, added};
  }

  void fill(const Subject& subject, size_t model, const std::vector<int>& nodes, Candidate& candidate) {
    describe(subject, nodes, candidate);
    candidate.bytes = compulsoryBytes(subject, nodes);
    for (int n : nodes) {
      const int part = candidateOf_[model][static_cast<size_t>(n)];
      if (part < 0) continue;
      candidate.parts.push_back(static_cast<size_t>(part));
      candidate.flops += found_.all[static_cast<size_t>(part)].flops;
    }
  }

  const std::vector<Subject>& models_;
  std::vector<std::vector<int>> candidateOf_;  ///< by model and node
  std::unordered_map<std::string, size_t> byKey_;
  Candidates found_;
};

}  // namespace

Candidates candidatesOf(const std::vector<Subject>& models, size_t size) {
  Collector collector(models);
  for (size_t model = 0; model < models.size(); ++model)
    collector.addOperators(model);
  for (size_t model = 0; model < models.size(); ++model)
    collector.addGroups(model, size);
  return std::move(collector).take();
}

}  // namespace pet::tune
