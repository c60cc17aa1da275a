#pragma once

#include <memory>
#include <string>
#include <vector>

#include "applier/view/view.h"
#include "runtime/prepared.h"

namespace pet::session {

/// An operand of a node that is to run by itself.
struct LiftedOperand {
  ElementType element = ElementType::kUnknown;
  Extents extents;
  /// Its values, where they are part of the program: the node's meaning depends on them (extents, axes, indices), or
  /// they are weights; else null.
  const Constant* fixed = nullptr;
  bool isWeight = false;  ///< fixed, and the same bytes in every run
};

/// A node by itself as a program, by the rows that read ONNX (applier/operators/): floating point of at most 32 bits
/// runs on the engine, doubles and integers in the reference.
class LiftedNode {
 public:
  /// `operands`: one per operand of the node; those that it leaves out are not looked at. The first is not fixed.
  /// kUnsupported: why the node is no program.
  static Expected<LiftedNode> make(const GraphNode& node,
                                   int64_t opset,
                                   const std::vector<LiftedOperand>& operands,
                                   const ProgramEngine& engine);
  /// On operands of these types. One result per output of the node; empty for one that it leaves out.
  Expected<std::vector<Constant>> run(const std::vector<const Constant*>& operands) const;

 private:
  template <class T>
  Expected<std::vector<Constant>> evaluated(const std::vector<const Constant*>& operands) const;
  Expected<std::vector<Constant>> prepared(const std::vector<const Constant*>& operands) const;
  std::vector<Constant> inOrder(std::vector<Constant> results) const;

  View view_;
  std::vector<size_t> operandOf_;             ///< per input of the program that is not constant
  std::vector<int> resultOf_;                 ///< per output of the node: the program's, or -1
  std::unique_ptr<PreparedProgram> program_;  ///< null: the reference evaluates
};

}  // namespace pet::session
