#pragma once

#include "rules/check/check.h"
#include "rules/check/formula.h"
#include "rules/check/meaning/sum.h"

// A rule's correctness as statements about integers. Private to this folder.
namespace pet::check {

/// For all integers in the rule's class, `given` implies `goal`.
struct Claim {
  enum class Kind {
    kHolds,     ///< the implication
    kPossible,  ///< some integers in the class satisfy `given`
    kFails,     ///< it is known that it does not hold: the `reason`
    kOpen,      ///< it is not known what to show: the `reason`
  };
  Kind kind = Kind::kHolds;
  std::string what;
  Formula given = {}, goal = {};
  std::string reason = {};
  /// The goal is a sufficient condition only: where it fails, evaluation tells whether the programs differ there, else
  /// it is unknown for the `reason`.
  bool sufficient = false;
};

using Claims = std::vector<Claim>;

inline Claim fails(std::string what, std::string reason) {
  return {.kind = Claim::Kind::kFails, .what = std::move(what), .reason = std::move(reason)};
}
inline Claim open(std::string what, std::string reason) {
  return {.kind = Claim::Kind::kOpen, .what = std::move(what), .reason = std::move(reason)};
}

/// A program with the meaning of one of its outputs.
struct Side {
  std::string noun;  ///< "pattern"
  const Program& program;
  Meaning meaning;
  std::vector<std::string> inputs;  ///< two programs need not declare them in one order

  const Sum& sum(int number) const { return meaning.sums[static_cast<size_t>(number)]; }
  const Application& application(int number) const { return meaning.applications[static_cast<size_t>(number)]; }
};

// The parts of a check, in this order. Each is of use only where the earlier ones are proved.
Claims classClaims(const Pattern& pattern, const Rule& rule, const Program& source);
/// The pattern's numbers that stand for others: what follows knows them by their names and that they are > 0.
Claims numberClaims(const Pattern& pattern, const Rule& rule, const Program& source);
Claims shapeClaims(const Rule& rule, const Program& source);
Claims recordClaims(const Rule& rule, const Proof& proof, const Side& pattern, const Side& replacement);
Claims numericsClaims(const Pattern& pattern, const Rule& rule, const Program& source);
Claims boxClaims(const Rule& rule, const Side& replacement, const Side& mutant);

/// Positions of the mutant's output that are in no box.
Formula outsideBoxes(const Rule& rule, const std::vector<std::string>& index);

/// All of them, part by part.
std::vector<Claims> claimsOf(const Pattern& pattern, const Rule& rule);

}  // namespace pet::check
