#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "applier/match/forms.h"
#include "applier/match/match_index.h"
#include "applier/match/reason.h"
#include "applier/match/weight_factors.h"
#include "rules/numbers.h"
#include "rules/rewrite/batch.h"
#include "rules/rewrite/symbols.h"
#include "rules/rule.h"
#include "rules/surroundings.h"

namespace pet {

/// One place in a view where a pattern matches.
struct Site {
  const Pattern* pattern = nullptr;
  /// What matched: the pattern's program, or the same with other batch dimensions (rules/rewrite/batch.h). Where the
  /// pattern has an expression of weights, the constant is an input.
  std::shared_ptr<const Program> program;
  bool isReadAway = false;                    ///< its nodes stand for one operator of the model, which is what matched
  bool isInPieces = false;                    ///< its node stands for several operators of the model, which matched
  int anchor = -1;                            ///< the node that the pattern's first output is of
  ElementType element = ElementType::kFloat;  ///< of its results
  std::vector<int> nodes;                     ///< the nodes that the pattern's operators matched, sorted
  std::vector<Value> inputs;   ///< what the inputs of `program` stand for, in the order of Program::inputs()
  std::vector<Value> outputs;  ///< what the pattern's outputs stand for
  rewrite::Symbols symbols;    ///< the values of the pattern's symbols, in the model's
  Numbers numbers = {};        ///< what the pattern's numbers are here that stand for others
  std::optional<rewrite::BatchDimensions> batch = {};  ///< with which it matched, if they are others
  Surroundings beside = {};                     ///< all that it takes is plain, all that it makes is last (MatchIndex)
  std::vector<FactoredConstant> factored = {};  ///< the weights that the model has in constants with others

  /// What an input of `program` stands for.
  Value operand(std::string_view input) const;
};

/// A rule, or all rules of a pattern, that were not used at a node.
struct Refusal {
  int anchor = -1;
  std::string pattern, rule;  ///< `rule` is empty where no rule of the pattern could be used
  Reason reason;
};

/// All sites of a pattern, by anchor in the view's order. A site is one only if
/// - operators, attributes (numbers that stand for any: one number > 0 for each) and extents, with any number of batch
/// dimensions, agree for some values of the pattern's
///   symbols that are in its class, whatever the extents are that the model leaves open (MatchIndex::sizes),
/// - a variable that occurs twice stands for the same value,
/// - a pattern that is an operator that views read away stands where the model has it,
/// - a pattern of several operators which are one in normal form stands where the model has at least as many,
/// - the pattern's constant inputs are constants of the model, what depends on its symbols alone (a band mask) is
///   a constant of the model with these values, and an expression of weights one that gives weights of which it is that
///   constant,
/// - no interior value is read from outside the site or has to stay,
/// - outputs of different operators of the pattern are of different nodes, and
/// - no path leads from a result of the site to what it takes.
/// Several outputs are found along the values that they share, so a pattern whose outputs share none has no site;
/// of very many siblings only those next to the anchor are looked at. What
/// is alike in the pattern may be found in any order: of sites with the same nodes, outputs and symbols there is the
/// first, by the places of its outputs in the view. Where only the operators agree, the reason goes to `refusals`.
/// `forms`: of all patterns that are looked for, in however many graphs; alone for one pattern in one graph.
std::vector<Site> match(const MatchIndex& index, const Pattern& pattern, Forms& forms, std::vector<Refusal>& refusals);
std::vector<Site> match(const MatchIndex& index, const Pattern& pattern, std::vector<Refusal>& refusals);

}  // namespace pet
