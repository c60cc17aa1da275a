#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.h"

namespace pet {

/// Names of operators.
using OperatorNames = std::set<std::string_view>;
/// By the name of a rule.
using PatternsOfRules = std::map<std::string, const Pattern*>;

/// Patterns and rules that are read when they are asked for. What it gives stays where it is as long as the source is
/// there. Errors are about the source: it is damaged.
class RuleSource {
 public:
  virtual ~RuleSource() = default;
  /// The patterns whose anchor, the operator of the first output, is one of these, or may be another one in normal
  /// form; by name.
  virtual Expected<std::vector<const Pattern*>> patternsOf(const OperatorNames& anchors) = 0;
  /// The rules of one of its patterns, by name. They may be without their proofs.
  virtual Expected<std::vector<const Rule*>> rulesOf(const Pattern& pattern) = 0;
  /// The patterns of the rules whose names are wanted, by the rule's name.
  virtual Expected<PatternsOfRules> patternsOfRules(const std::function<bool(std::string_view rule)>& isWanted) = 0;
};

/// The operator of a pattern's first output.
std::string_view anchorOf(const Pattern& pattern);
/// A pattern with this anchor may have a site among such operators.
bool mayMatch(std::string_view anchor, const OperatorNames& operators);

/// A set of rules, which outlives it.
class WholeSet final : public RuleSource {
 public:
  explicit WholeSet(const RuleSet& rules) : rules_(rules) {}
  Expected<std::vector<const Pattern*>> patternsOf(const OperatorNames& anchors) override;
  Expected<std::vector<const Rule*>> rulesOf(const Pattern& pattern) override;
  Expected<PatternsOfRules> patternsOfRules(const std::function<bool(std::string_view rule)>& isWanted) override;

 private:
  const RuleSet& rules_;
};

}  // namespace pet
