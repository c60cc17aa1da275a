#pragma once

#include <string>

#include "ir/text.h"
#include "rules/rule.h"

// The text form of proofs: docs/rule-language.md, "Proofs".
namespace pet {

/// "{ … }", after the word "proof".
Expected<Proof> readProof(TextReader& in);
/// The whole block, "  proof {…  }\n".
std::string print(const Proof& proof);

}  // namespace pet
