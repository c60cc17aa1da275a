#pragma once

#include <optional>
#include <string>

#include "applier/onnx/graph.h"
#include "ir/program.h"

// What programs may do with values of each element type (docs/semantics.md, Integers).
namespace pet {

/// The operator's values are values of its operands, chosen by position or by a condition, and a number that it is
/// given. Integers are real numbers, so what is true of such operators over the reals is true of any type, exactly.
bool movesValues(const OpRow& op);

/// Why a node of this operator cannot have operands of the type; nullopt if it can. An operator that computes cannot
/// have integers: those overflow, and their quotients are no quotients.
std::optional<std::string> whyNotOf(ElementType element, const OpRow& op, const Attributes& attributes);
/// The same of all operators of a program.
std::optional<std::string> whyNotOf(ElementType element, const Program& program);

}  // namespace pet
