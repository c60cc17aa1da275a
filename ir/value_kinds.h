#pragma once

#include <optional>

#include "ir/program.h"

// What programs hold as real numbers, and ONNX has types of its own for.
namespace pet {

/// It is made by comparing numbers, or indices with positions: of truth values, 1 or 0 in programs. They are negated,
/// moved, and chosen by (Where), and nothing computes with them.
bool isTruth(const Program& program, Value value);

/// An operator computes with such a value.
bool computesWithTruth(const Program& program);

/// Its first operand is of indices.
bool readsIndices(const OpRow& op);
/// An operator reads the input as indices (OneHot, Lookup), maybe by way of others that move or bound them: among how
/// many positions they choose. Nullopt: it is none.
std::optional<Expr> positionsChosenBy(const Program& program, Value input);

}  // namespace pet
