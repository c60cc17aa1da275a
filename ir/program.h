#pragma once

#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "ir/error.h"
#include "ir/ops/names.h"
#include "ir/shape.h"

namespace pet {

struct OpRow;

/// One named axis of a Layout: its digits are moved as a whole.
struct LayoutAxis {
  std::string name;
  Dim extent;
  friend bool operator==(const LayoutAxis&, const LayoutAxis&) = default;
};

/// The regrouping of a Layout operator, as in einops: every input dimension is the product of the axes in its `left`
/// group, every output dimension the product of its `right` group; each axis stands once on either side.
struct LayoutSpec {
  std::vector<LayoutAxis> axes;
  std::vector<std::vector<int>> left, right;  ///< indices into axes, outermost first
  friend bool operator==(const LayoutSpec&, const LayoutSpec&) = default;
};

/// The map of an IndexMap operator: out[axes…] = in[source…] where the source position exists and all guards hold, else
/// 0. It is the form that derived weight programs take (docs/search-space.md, The symbolic vote), and Gathers by tables
/// that count in normal form.
struct IndexMapSpec {
  std::vector<std::vector<LayoutAxis>> dims;  ///< output dimensions as groups of named, affine axes
  std::vector<std::vector<Expr>> source;  ///< per input dimension, one expression per atom, in axis names and symbols
  std::vector<Constraint> guards;
  friend bool operator==(const IndexMapSpec&, const IndexMapSpec&) = default;
};

using Attribute = std::variant<Expr, std::vector<Expr>, double, std::string, LayoutSpec, IndexMapSpec>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// An output of a node.
struct Value {
  int node = -1;
  int output = 0;
  friend auto operator<=>(const Value&, const Value&) = default;
};

/// (operator, attributes, operands), with the inferred output shapes.
struct Node {
  const OpRow* op = nullptr;
  Attributes attributes;
  std::vector<Value> operands;
  std::vector<std::string> names;  ///< one per output
  std::vector<Shape> shapes;       ///< one per output

  bool is(OpName name) const;
  const Expr& scalar(std::string_view name) const { return std::get<Expr>(attributes.find(name)->second); }
  const std::vector<Expr>& list(std::string_view name) const {
    return std::get<std::vector<Expr>>(attributes.find(name)->second);
  }
  double number(std::string_view name) const { return std::get<double>(attributes.find(name)->second); }
  const std::string& text(std::string_view name) const { return std::get<std::string>(attributes.find(name)->second); }
};

/// An immutable DAG of operators in single-assignment form; nodes stand in topological order. Shapes and attributes are
/// quasi-affine in shape symbols (constants in an instantiated program).
class Program {
 public:
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(Value v) const { return nodes_[static_cast<size_t>(v.node)]; }
  const Shape& shape(Value v) const { return node(v).shapes[static_cast<size_t>(v.output)]; }
  const std::string& name(Value v) const { return node(v).names[static_cast<size_t>(v.output)]; }
  const std::vector<Value>& outputs() const { return outputs_; }
  /// The Input nodes, in order of declaration.
  std::vector<Value> inputs() const;
  std::optional<Value> find(std::string_view name) const;

  /// The same program with symbols replaced; shapes are inferred anew.
  Expected<Program> substitute(const std::map<std::string, Expr>& by) const;
  /// The same program with the nodes that no output needs left out. Inputs stay.
  Program withoutDeadNodes() const;
  /// What these values are computed from, and no other inputs; they are its outputs.
  Program computing(const std::vector<Value>& values) const;
  /// What these outputs are computed from where all that reads one of `cut` reads an input of its name instead,
  /// constant if `constant`. An output that is one of `cut` gets another name.
  Program computingFrom(const std::set<Value>& cut, const std::vector<Value>& outputs, bool constant = false) const;

 private:
  friend class ProgramBuilder;
  /// The program of these outputs, of the nodes that are `kept` or needed; `cut` and `constant` as above.
  Program restricted(std::vector<bool> kept,
                     const std::vector<Value>& outputs,
                     const std::set<Value>& cut = {},
                     bool constant = false) const;

  std::vector<Node> nodes_;
  std::vector<Value> outputs_;
};

/// Adds the defaults of attributes that are left out; `rank`: of the first operand. kText: one that is not known, is
/// missing, or has another form.
Expected<void> completeAttributes(const OpRow& op, size_t rank, Attributes& attributes);

/// Builds a Program node by node; shapes are inferred as nodes are added, and wrong shapes or attributes are errors.
class ProgramBuilder {
 public:
  ProgramBuilder() = default;
  /// Continues from a finished program (its outputs are forgotten).
  explicit ProgramBuilder(Program base) : program_(std::move(base)) {}

  /// An input; `constant` marks one that must be an initializer of the model (a weight).
  Value input(std::string name, Shape shape, bool constant = false);
  /// Adds an operator by its table row; missing attributes take their defaults. Empty names are generated.
  Expected<Value> add(const OpRow& op,
                      std::vector<Value> operands,
                      Attributes attributes = {},
                      std::vector<std::string> names = {});
  Expected<Value> add(std::string_view op,
                      std::vector<Value> operands,
                      Attributes attributes = {},
                      std::string name = "");

  const Program& peek() const { return program_; }
  const Shape& shape(Value v) const { return program_.shape(v); }
  Program finish(std::vector<Value> outputs) &&;

 private:
  Program program_;
};

/// Adds a node of a program once more, of what stands for its operands in `moved`, and enters what stands for its
/// results. Errors are those of ProgramBuilder::add().
Expected<void> copyNode(ProgramBuilder& builder, const Program& program, int node, std::map<Value, Value>& moved);

/// True if the value is computed from constant inputs alone.
bool isConstant(const Program& program, Value value);
/// The same of every node.
std::vector<bool> constantNodes(const Program& program);

}  // namespace pet
