#pragma once

#include <string>
#include <variant>

#include "rules/rule.h"
#include "synth/poly/poly.h"

namespace pet {

/// Equal for every shape of the class, with the record.
struct Proved {
  Proof proof;
};
/// Equal outside `bad`, a set of output positions (digits v0, v1, …) that is an upper bound of where the programs
/// differ.
struct ProvedOutside {
  poly::Set bad;
};
struct Unknown {
  std::string reason;
};
using Equality = std::variant<Proved, ProvedOutside, Unknown>;

/// Compares the single outputs of two multilinear programs with the same inputs, over the context's class (DESIGN,
/// section 4). The proof is a bijection between the reduction spaces that keeps coefficient and factors; it is looked
/// for where the factors determine the reduction indices on both sides. Does not look at obligations.
Equality proveEqual(const poly::Context& context, const Program& pattern, const Program& candidate);

/// The first obligation of `program` that the class does not imply, or nullopt.
std::optional<Constraint> failedObligation(const poly::Context& context, const Program& program);

}  // namespace pet
