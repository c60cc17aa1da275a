#pragma once

#include <functional>

#include "ir/ops/op.h"
#include "synth/mine/unknowns.h"

namespace pet::mine {

struct Choice {
  bool pointwise = true;  ///< a kernel of extents 1 stays one, without pads
};

/// One operator of a subgraph on its way to unknown extents. Operands are those of the model's operator, whose extents
/// are numbers; those that are inputs get their unknowns from the operator that reads them first.
class Step {
 public:
  struct Operand {
    bool constant = false;
    Extents extents;             ///< in the model
    std::optional<Shape> shape;  ///< in unknowns; none: an input that nothing has read yet
  };
  Step(const Node& modelNode, std::vector<Operand> its, const Choice& choose, Unknowns& unknowns)
      : node(modelNode),
        operands(std::move(its)),
        choice(choose),
        attributes(modelNode.attributes),
        unknowns_(unknowns) {}

  const Node& node;  ///< the model's
  std::vector<Operand> operands;
  const Choice& choice;
  Attributes attributes;  ///< with what has become an unknown

  bool isOpen(size_t i) const { return !operands[i].shape; }
  size_t rank(size_t i) const { return operands[i].extents.size(); }
  int64_t extent(size_t i, size_t d) const { return operands[i].extents[d]; }
  const Dim& dim(size_t i, size_t d) const { return (*operands[i].shape)[d]; }
  int64_t number(std::string_view attribute) const { return *node.scalar(attribute).asConstant(); }
  Extents numbers(std::string_view attribute) const;

  Expr fresh(std::string letter, int64_t value, int64_t least = 1) {
    return unknowns_.fresh(std::move(letter), value, least);
  }
  /// Gives an open operand unknowns of these letters; an extent with the letter "1" stays 1.
  void enter(size_t i, const std::vector<std::string>& letters);
  /// a = b; what cannot be solved gets its numbers.
  void equal(const Dim& a, const Dim& b);
  /// The operand's extent stays what it is in the model.
  void pin(size_t i, size_t d) { unknowns_.pin(dim(i, d)); }

 private:
  Unknowns& unknowns_;
};

/// What the operator demands of its operands' extents, and which of its attributes are unknowns. An operator without
/// demands of its own leaves its attributes as they are.
void demand(Step& step);

}  // namespace pet::mine
