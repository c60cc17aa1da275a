#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "synth/judge/verdict.h"

namespace pet {

/// A program that may compute what a pattern does, for a class of shapes. Nothing in it is trusted.
struct Proposal {
  std::string name;    ///< unique in its pattern
  std::string family;  ///< a word for people
  std::vector<std::pair<std::string, Expr>> where;
  ShapeClass shapes;  ///< the pattern's class after `where`, and all that the program demands
  Program program;
  /// Where corrections may be written back besides the output: what the layouts at the end of the program read.
  std::optional<Value> main = std::nullopt;
  /// Pays only by less arithmetic at some shape or without some operator of the pattern, not by another layout alone.
  bool mustSave = false;
};

/// What a generator has to say of one candidate: a proposal, or why there is none.
struct Candidate {
  std::string name;
  tl::expected<Proposal, Drop> proposal;
  StageTimes seconds{};  ///< before it is judged
};

/// Takes a candidate; true if it became a rule.
using Judge = std::function<bool(Candidate)>;

}  // namespace pet
