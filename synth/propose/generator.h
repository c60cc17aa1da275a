#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "synth/judge/proposal.h"

namespace pet {

/// Which generator a candidate comes from, and so what of it was found and what was given.
enum class Source {
  kMoves,     ///< program, weights and class are derived from moves along the pattern's axes
  kAxes,      ///< the pattern's operator one axis at a time; matrices are what the operator makes of the unit matrix
  kExchange,  ///< enumerated: the pattern's own operators in another arrangement
  kSkeleton,  ///< one of a fixed set of arrangements of operators; their weights and attributes are derived
  kTemplate,  ///< a program that we wrote, with sizes as parameters; only that it is equal is found out
};
/// "moves", "axes", "exchange", "skeleton", "template".
std::string_view sourceName(Source source);
std::optional<Source> sourceOf(std::string_view name);

/// A declared space of candidates for one pattern, cut into units that are done apart from each other: on any thread,
/// in any process, in any order. A generator proposes and does not judge. What a unit proposes is a function of
/// pattern, depth, the unit's number and the judge's answers. Units are neither so small that handing them out counts,
/// nor so large that a search that is stopped loses much.
class Generator {
 public:
  Generator() = default;
  virtual ~Generator() = default;
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  virtual const Pattern& pattern() const = 0;
  virtual Source source() const = 0;
  virtual size_t size() const = 0;
  /// A stable, readable key of a unit; unique in the generator.
  virtual std::string name(size_t unit) const = 0;
  /// Hands the unit's candidates to the judge, one after the other. Thread-safe.
  virtual void propose(size_t unit, const Judge& judge) const = 0;
  /// Why the space is empty, if it is.
  virtual std::string whyEmpty() const { return ""; }
};

/// A generator for a pattern, or why it has no space for it; "" if that needs no words.
using MadeGenerator = tl::expected<std::unique_ptr<Generator>, std::string>;

}  // namespace pet
