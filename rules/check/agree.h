#pragma once

#include <optional>

#include "ir/program.h"
#include "rules/check/formula.h"

namespace pet::check {

/// Whether two programs compute the same at a shape, by evaluation over F_p with seeded random inputs. Nullopt: too
/// large, or it cannot be evaluated. `where` limits the comparison to some positions of each output, given as digits
/// v0, v1, ….
std::optional<bool> agreeAt(const Program& a, const Program& b, const Bindings& symbols, const Formula& where);

}  // namespace pet::check
