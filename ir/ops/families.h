#pragma once

#include "ir/ops/op.h"

// One function per file of rows; table.cc joins them. A new operator is a new row in its family's file.
namespace pet {

std::span<const OpRow> inputRows();
std::span<const OpRow> convRows();
std::span<const OpRow> matmulRows();
std::span<const OpRow> einsumRows();
std::span<const OpRow> layoutRows();
std::span<const OpRow> moveRows();
std::span<const OpRow> reshapeRows();
std::span<const OpRow> gatherRows();
std::span<const OpRow> col2imRows();
std::span<const OpRow> arithmeticRows();
std::span<const OpRow> functionRows();
std::span<const OpRow> poolRows();
std::span<const OpRow> normalizationRows();
std::span<const OpRow> resizeRows();
std::span<const OpRow> fourierRows();
std::span<const OpRow> cumulativeRows();

}  // namespace pet
