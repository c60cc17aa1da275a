#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "rules/taso/extents.h"
#include "rules/taso/substitutions.h"

namespace pet::taso {

/// One dimension: its extent, and where the most recent Concat along it joined (null: none did). Parts are shared: a
/// chain of Concats of something with itself has exponentially many.
struct Dimension {
  Expr size;
  std::shared_ptr<const std::vector<Dimension>> parts = nullptr;
};
using Dimensions = std::vector<Dimension>;

/// The role of a tensor for an operator: its rank, and the names of its dimensions.
enum class Role {
  kSame,    ///< of the same rank as all others that are kSame
  kImage,   ///< N C H W
  kKernel,  ///< F C R S
  kLeft,    ///< M K
  kRight,   ///< K N
  kMatrix,  ///< M N
  kScalar,
};
/// None for kSame.
std::optional<size_t> rankOf(Role role);
/// The names of its dimensions, where they are asked for.
std::vector<std::string> lettersOf(Role role, size_t rank);

/// A convolution whose number of groups is open: TASO's follows from the shapes, group · inner = channels.
struct GroupEquation {
  Expr channels, inner, filters;
};

/// The view of a row when it says which shapes it takes and makes.
struct ShapeView {
  const Operator& op;
  const std::vector<Dimensions>& operands;
  size_t rank;  ///< of the result, for operators without operands
  Extents& extents;
  std::vector<GroupEquation>& groups;  ///< a convolution adds its own
};

/// The view of a row when it becomes nodes: all extents are solved.
struct EmitView {
  const Operator& op;
  const std::vector<Value>& operands;
  const std::vector<Dimensions>& outputs;
  Expr group;        ///< of a convolution
  std::string name;  ///< of the first result
  ProgramBuilder& builder;

  const Shape& shape(size_t operand) const { return builder.shape(operands[operand]); }
};

/// One row of TASO's operator table; only operators with a translation have one.
struct OperatorRow {
  int type;
  std::string_view name;
  std::vector<Role> operands;  ///< a last kSame stands for any number more
  Role result;
  bool variadic = false;
  /// The results' dimensions; equations that must hold go to view.extents.
  Expected<std::vector<Dimensions>> (*shape)(const ShapeView&) = nullptr;
  /// Nodes that compute the first result (further ones are the same node's), without the activation.
  Expected<Value> (*emit)(const EmitView&) = nullptr;

  Role role(size_t operand) const { return operands[std::min(operand, operands.size() - 1)]; }
};

/// The row; kUnsupported, with the operator's name, where it has no translation.
Expected<const OperatorRow*> findOperator(int type);
/// The operator that a fused activation stands for; null for none. kText for an unknown one.
Expected<const OpRow*> activationOf(const Operator& op);

}  // namespace pet::taso
