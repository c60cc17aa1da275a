#pragma once

#include <string>
#include <variant>

#include "rules/rule.h"
#include "synth/poly/poly.h"

namespace pet {

/// Equal for every shape of the class, with the records, one per output: wherever the pattern has a value, so has the
/// replacement, and it is the same.
struct Proved {
  std::vector<Proof> proofs;
};
/// One output is equal outside `bad`, a set of its positions (digits v0, v1, …) that is an upper bound of where the
/// programs differ, or the candidate has no value.
struct ProvedOutside {
  poly::Set bad;
  size_t output = 0;
};
struct Unknown {
  std::string reason;
};
using Equality = std::variant<Proved, ProvedOutside, Unknown>;

/// Compares the outputs of two multilinear programs with the same inputs, in order, over the context's class
/// (docs/semantics.md, Equality is of multisets). The proof is a bijection between the reduction spaces that keeps
/// coefficient and factors; it is looked for where the factors determine the reduction indices on both sides. Does not
/// look at obligations. Of several outputs the first that is not proved is the answer, an unknown one before one that
/// is equal outside.
Equality proveEqual(const poly::Context& context, const Program& pattern, const Program& candidate);

/// The first obligation of `program` that the class does not imply, or nullopt.
std::optional<Constraint> failedObligation(const poly::Context& context, const Program& program);

}  // namespace pet
