#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <tl/expected.hpp>

#include "rules/rule.h"
#include "synth/poly/poly.h"

namespace pet {

/// Why a candidate is no rule. The order is that of the steps (synth/judge/pipeline.h), then of what is known only when
/// several candidates meet (synth/search/reduce.h).
enum class DropReason {
  kNotApplicable,  ///< the moves do not fit the operator
  kNoVote,         ///< no position-independent weights
  kShape,          ///< shapes do not fit
  kEmptyClass,     ///< no shape satisfies the obligations
  kTooDeep,        ///< more operators than asked for
  kIdentity,       ///< the pattern itself
  kCost,           ///< too much arithmetic for any shape tried
  kFingerprint,    ///< differs from the pattern on most of a small concrete output
  kUnknown,        ///< the prover does not know
  kNoCorrection,   ///< wrong on a set that no strips cover
  kUnproved,       ///< the corrected program was not proved equal
  kUnchecked,      ///< the independent checker does not confirm the proof
  kComposition,    ///< follows from two smaller rules
  kDuplicate,      ///< the same program as another rule, over no other shapes
  kInstance,       ///< another rule with other names or over more shapes
};
/// A word, as reports have it: "too deep".
std::string_view dropName(DropReason reason);
/// What it means, for people.
std::string_view dropMeaning(DropReason reason);
std::optional<DropReason> dropOf(std::string_view name);

/// A candidate that is no rule.
struct Drop {
  DropReason reason;
  std::string detail;
};

/// Seconds by stage, summed over threads.
struct StageTimes {
  double build = 0, filter = 0, prove = 0, correct = 0, check = 0;
  StageTimes& operator+=(const StageTimes& o);
};

/// What became of a candidate: a rule with its proofs, or why it is none.
struct Judged {
  std::variant<Rule, Drop> verdict;
  StageTimes seconds;

  bool isRule() const { return std::holds_alternative<Rule>(verdict); }
};

/// The result of `step`, a tl::expected<T, Drop>, or the Drop that an exception from below stands for: the one place
/// where exceptions become verdicts.
template <class Step>
auto orDrop(const Step& step) -> decltype(step()) {
  try {
    return step();
  } catch (const poly::BudgetExceeded& e) {
    return tl::unexpected(Drop{DropReason::kUnknown, e.what()});
  } catch (const OverflowError& e) {
    return tl::unexpected(Drop{DropReason::kShape, e.what()});
  }
}

}  // namespace pet
