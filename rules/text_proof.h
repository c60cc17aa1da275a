#pragma once

#include <string>

#include "ir/text.h"
#include "rules/rule.h"

// The text form of proofs: docs/rule-language.md, "Proofs".
namespace pet {

/// "{ … }" after the word "proof" (the clause), with the output's name before it where there are several. Goes to
/// `proofs`, which has none of this output yet.
Expected<void> readProof(TextReader& in,
                         const Token& clause,
                         const std::vector<std::string>& outputs,
                         std::vector<Proof>& proofs);
/// In the order of the outputs; an empty one for each that has none.
std::vector<Proof> oneForEach(const std::vector<std::string>& outputs, const std::vector<Proof>& proofs);
/// The whole block, "  proof {…  }\n", or "  proof y {…  }\n" with the name of an output.
std::string print(const Proof& proof);

}  // namespace pet
