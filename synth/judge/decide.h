#pragma once

#include <string>
#include <variant>
#include <vector>

#include "synth/judge/verdict.h"
#include "synth/prove/prove.h"
#include "synth/prove/witness.h"

namespace pet {

/// An output of the programs is equal outside these boxes of its digits.
struct ProvedOutsideBoxes {
  std::string output;  ///< its name; empty where there is only one
  std::vector<Box> boxes;
  std::optional<Witness> witness;  ///< a position in a box where they really differ, if evaluation found one
  size_t shapes = 0;               ///< at which it looked
};

/// They are not equal: the witness says where.
struct Refuted {
  std::string reason;  ///< of shapes: both of them
  Witness witness;
};

/// The class does not imply what a program needs to mean something.
struct Violated {
  Constraint obligation;
  std::string whose;               ///< "the candidate", "the pattern", "the pattern's class"
  std::optional<Bindings> member;  ///< of the class, for which it does not hold
  std::string reason() const;
};

using Decision = std::variant<Proved, ProvedOutsideBoxes, Refuted, Violated, Unknown>;

struct DecideOptions {
  unsigned long budget = 4'000'000;  ///< isl operations for one output
  WitnessOptions witness = {};
  /// At so many of the shapes the programs are evaluated before the proof: what is false is mostly so at small ones,
  /// and a proof that ends in boxes takes longer than a look at them.
  size_t shapesBeforeProof = 0;
  bool check = true;  ///< have the independent checker confirm what is proved (judgeClaim())
};

/// Does the rule's replacement compute what the pattern computes, for every shape of the rule's class? Proof, boxes and
/// mutant of the rule are not looked at.
///
/// First the class: it has a member and implies the pattern's class and all obligations. Then, output by output, the
/// shapes, then the prover. Of several outputs the worst decides, the first of those: refuted before unknown before
/// proved outside boxes (unknown with a witness at another output is refuted). *Refuted* rests on evaluation alone:
/// shapes differ at a member, or values do where the prover says nothing of any position (it does not know, or its
/// boxes are the whole output at every shape). Everything that runs out of budget or of 64 bits is unknown. The result
/// is a function of the arguments.
Decision decide(const Pattern& pattern, const Rule& rule, const DecideOptions& options = {});

/// "proved", "proved outside boxes", "refuted" or "unknown"; an obligation that fails is unknown, for the programs
/// cannot be compared.
std::string verdictOf(const Decision& decision);
/// Boxes, witness or reason, as lines of text; empty for a proof.
std::string explain(const Decision& decision);

}  // namespace pet
