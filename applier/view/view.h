#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "applier/onnx/graph.h"
#include "ir/program.h"

namespace pet {

/// Where a node of a view comes from.
struct Provenance {
  /// The ONNX node, by its position in Graph::nodes, that this node stands for, together with all others of the same
  /// origin; -1: an input, or new.
  int origin = -1;
  /// The site that made it, by its position in the list of rewritten sites; -1: none.
  int site = -1;
  /// A step of a rule that says that several Layouts are quicker than one: it is not joined with the site's others.
  bool isStep = false;
};

/// Where an extent that a model leaves open is found when it runs: dimension of a graph input, divided by a number.
struct OpenSize {
  std::string value;
  int dimension = 0;
  int64_t divisor = 1;
};
/// By symbol.
using OpenSizes = std::map<std::string, OpenSize, std::less<>>;

/// An ONNX node of an operator that views read away (rules/rewrite/normal_form.h), as the model has it.
struct ReadAway {
  const OpRow* op = nullptr;
  std::vector<Value> operands;
  Attributes attributes;
  std::vector<int> nodes;  ///< of the view, in its place; sorted
  Value result;            ///< of one of them
};

/// The part of a graph that pet understands, as one program. Its symbols are the extents that the model leaves open,
/// none of which is 0. What pet does not understand shows as inputs (the values that come from there) and as outputs
/// (the values that go there): those must stay, whatever is rewritten.
struct View {
  Program program;
  std::vector<Provenance> provenance;  ///< per node
  std::vector<ElementType> elements;   ///< per node: a type that holds its numbers (element_types.h)
  std::map<int, Constant> constants;   ///< the values of the constant inputs, by node
  std::map<Value, std::string> names;  ///< the ONNX value that a value of the program is
  std::vector<ReadAway> readAway;      ///< of a graph's view
  /// Of a graph's view: the nodes that the model has in pieces (rules/rewrite/idioms.h), of how many operators.
  std::map<int, int> pieces;
  OpenSizes openSizes;  ///< of a graph's view: those of its symbols that are extents of graph inputs
};

/// The extents of a shape that is known to have no symbols: a constant's.
Extents concrete(const Shape& shape);
Shape shapeOf(const Extents& extents);

/// Builds a View; see ProgramBuilder.
class ViewBuilder {
 public:
  static constexpr int kMostMoves = 16;
  Value input(std::string name, Shape shape, ElementType element);
  Value constant(std::string name, Constant constant);
  /// Of the type that resultType() says; `element`: of a node without operands. kUnsupported: the operator is not for
  /// the types of its operands.
  Expected<Value> add(const OpRow& op,
                      std::vector<Value> operands,
                      Attributes attributes,
                      std::vector<std::string> names,
                      Provenance provenance,
                      ElementType element = ElementType::kFloat);
  /// 8-bit integers less their zero point, which is one number, or constants where the integers are: the numbers that a
  /// product of integers takes. The difference is no part of an ONNX node; what moves the integers stands behind it,
  /// `mostMoves` times, on behalf of the ONNX node `origin`. The same of the same operands.
  Expected<Value> centred(
      Value stored, Value zeroPoint, const std::string& name, int origin, int mostMoves = kMostMoves);
  /// `value` is centred(), and `of` its integers or their zero point.
  bool isCentred(Value value, Value of) const;
  /// Adds a node of another view as it stands, with its ONNX names; `moved` says where its operands are now. It stays
  /// part of its ONNX node as long as its operands are the same ONNX values.
  Value copy(const View& from, int node, const std::function<Value(Value)>& moved);
  /// Says that `value` is this ONNX value.
  void name(Value value, std::string onnxName) { view_.names[value] = std::move(onnxName); }

  /// Says what the view has in the place of an operator.
  void replaces(ReadAway readAway) { view_.readAway.push_back(std::move(readAway)); }
  /// The latest one with this result; null: there is none.
  const ReadAway* readAwayTo(Value result) const;
  /// Says that `whole`, which is the first result of a node, stands for the operators that compute `last` from its
  /// operands.
  void standsForPieces(Value whole, Value last);

  bool named(Value value) const { return view_.names.contains(value); }
  /// The ONNX value; null: none.
  const std::string* nameOf(Value value) const {
    auto it = view_.names.find(value);
    return it == view_.names.end() ? nullptr : &it->second;
  }

  const Program& program() const { return program_.peek(); }
  const Shape& shape(Value value) const { return program_.shape(value); }
  ElementType element(Value value) const { return view_.elements[static_cast<size_t>(value.node)]; }
  /// The zero point, where the model keeps the value's numbers with one.
  std::optional<Value> zeroPoint(Value value) const;
  /// Integers that the view computes: a sum of products, or what is made of such.
  bool isSum(Value value) const { return sums_[static_cast<size_t>(value.node)]; }
  bool isConstant(Value value) const { return constant_[static_cast<size_t>(value.node)]; }
  /// A constant of one element, or such a one negated, inverted or with other dimensions; nullopt: no constant, or
  /// another one.
  std::optional<double> number(Value value) const;
  /// What is computed from constants alone. Errors are those of ConstantEvaluator.
  Expected<Constant> evaluated(Value constant) const;
  const Provenance& provenance(Value value) const { return view_.provenance[static_cast<size_t>(value.node)]; }

  /// Keeps a name from being given by unique().
  void reserve(const std::string& name) { reserved_.insert(name); }
  /// `base`, or with a number behind it where that is taken.
  std::string unique(const std::string& base);

  View finish(std::vector<Value> outputs) &&;

 private:
  /// The value of one operand, all of it, in other places.
  bool onlyMoves(Value value) const;
  /// The operators of the model that compute a value, behind the nodes in `known`, which grows.
  int countPieces(int node, std::set<int>& known) const;

  ProgramBuilder program_;
  View view_;
  std::vector<bool> constant_, sums_;
  std::map<std::pair<Value, Value>, Value> centred_;                           ///< by integers and zero point
  std::map<Value, std::pair<Value, Value>> centredOf_;                         ///< the other way round
  std::map<std::tuple<ElementType, Extents, std::string>, Value> zeroPoints_;  ///< constants, by what they are
  std::set<std::string> reserved_;
};

/// The view with numbers for its symbols, node by node the same. Errors are those of shapes: not every number will do.
Expected<View> boundTo(const View& view, const Bindings& sizes);
/// The symbols of a view's extents.
std::set<std::string> symbolsOf(const View& view);

/// The node is ViewBuilder::centred().
bool isCentring(const View& view, int node);
/// It is that, or moves such integers: how the model keeps them is seen there.
bool isOfCentred(const View& view, int node);

/// The view without the nodes that no output needs. Inputs that nothing reads go, too.
View pruned(View view);

/// Per node: its values are known before the model runs. As constantNodes(), but for what depends on an extent that the
/// model leaves open, as an identity matrix of such does.
std::vector<bool> knownNodes(const Program& program);

/// Who reads what in a view, and what is constant there: made once where many ask.
struct Uses {
  explicit Uses(const Program& program);
  std::map<Value, std::vector<int>> readers;  ///< as readers() has them
  std::vector<bool> constant;                 ///< as knownNodes() has them
};

/// Copies nodes of a view, in topological order, into a view of their own. What they read is copied with them where
/// `isBrought` says so, with all that it reads, and is an input else.
class PartBuilder {
 public:
  PartBuilder(const View& whole, std::function<bool(int node)> isBrought)
      : whole_(whole), isBrought_(std::move(isBrought)) {}

  void add(int node);
  /// Where values of the whole view that were copied, or are inputs, are in the part.
  const std::map<Value, Value>& moved() const { return moved_; }
  /// In the whole view, in the order in which they are inputs of the part.
  const std::vector<Value>& inputs() const { return inputs_; }
  /// `outputs`: in the part.
  View finish(std::vector<Value> outputs) && { return std::move(builder_).finish(std::move(outputs)); }

 private:
  void copy(int node);
  void bring(Value v);

  const View& whole_;
  std::function<bool(int)> isBrought_;
  ViewBuilder builder_;
  std::map<Value, Value> moved_;
  std::vector<Value> inputs_;
};

/// Some nodes of a view as a view of their own, with the constants that they need. What else they read becomes an
/// input, what is read elsewhere (or is an output) an output.
class ViewPart {
 public:
  /// `uses`: of the whole.
  ViewPart(const View& whole, const Uses& uses, const std::set<int>& nodes);
  const View& view() const { return view_; }
  /// Where a node, or a value that the nodes make or read, is in the part.
  int node(int of) const { return value({of, 0}).node; }
  Value value(Value of) const { return moved_.at(of); }

 private:
  View view_;
  std::map<Value, Value> moved_;
};

/// Per value: the nodes that read it (once per operand), and -1 for each time that it is an output.
std::map<Value, std::vector<int>> readers(const Program& program);

}  // namespace pet
