#pragma once

#include <optional>

#include "ir/program.h"

namespace pet {

/// A program that is one operator of one operand which is composed of others (OpRow::lower), by these. They may be
/// composed themselves. Of a Softmax the pieces in which it is computed: the largest value is subtracted first.
/// Nullopt: it is no such program, or its parts overflow where the operator does not, as those of LogSoftmax do.
std::optional<Program> inPieces(const Program& program);

}  // namespace pet
