#pragma once

#include <optional>
#include <string>
#include <vector>

#include "applier/measure/extract.h"
#include "applier/onnx/model.h"

namespace pet::tune {

/// A value of a model that is looked through for cliffs.
struct SubjectValue {
  std::string name;
  ElementType element = ElementType::kUnknown;
  std::optional<Extents> extents;  ///< nullopt: not known
  bool constant = false;           ///< an initializer, or computed from such
  bool output = false;             ///< of the model
  int producer = -1;
  std::vector<int> readers = {};     ///< ascending, each once
  const Constant* number = nullptr;  ///< its entries, where it is an initializer or a Constant

  double elements() const;
  double bytes() const;
};

/// A node, its values by their positions; -1: left out.
struct SubjectNode {
  std::vector<int> operands, results;
  /// It computes with activations of known extents, and can be cut out.
  bool mined = false;
  /// It gives its operand's bytes another shape: engines do nothing for it.
  bool free = false;
};

/// A model at concrete extents, its calls of functions inlined: what can be cut out of it and timed.
class Subject {
 public:
  /// kModel: unreadable, or sizes that it leaves open and that none were found for.
  static Expected<Subject> read(const std::string& path);

  const std::string& path() const { return path_; }
  /// The file's name without its extension.
  const std::string& name() const { return name_; }
  const GraphNode& graphNode(int n) const { return model_->graph.nodes[static_cast<size_t>(n)]; }
  const std::vector<SubjectNode>& nodes() const { return nodes_; }
  const SubjectNode& node(int n) const { return nodes_[static_cast<size_t>(n)]; }
  const SubjectValue& value(int v) const { return values_[static_cast<size_t>(v)]; }

  /// These nodes as a model of their own. kUnsupported: extents are not known, or they read integers that others
  /// compute of activations.
  Expected<Model> cut(const std::vector<int>& nodes) const;
  /// All of it, with inputs of fixed extents.
  Expected<Model> whole() const;

 private:
  int enter(const std::string& name);
  void wire();

  std::string path_, name_;
  std::shared_ptr<const Model> model_;
  ValueTypes types_;
  std::map<std::string, int, std::less<>> positions_;
  std::vector<SubjectValue> values_;
  std::vector<SubjectNode> nodes_;
};

}  // namespace pet::tune
