#pragma once

#include <string>
#include <vector>

#include "synth/outcome.h"

namespace pet {

/// A declared space of candidates for one pattern, cut into units that are done apart from each other: on any thread,
/// in any process, in any order. What a unit gives is a function of pattern, depth, operations and the unit's number
/// alone; what depends on several units is left to reduce(). Units are neither so small that handing them out counts,
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
  /// Thread-safe.
  virtual std::vector<CandidateOutcome> run(size_t unit) const = 0;
  /// Why the space is empty, if it is.
  virtual std::string whyEmpty() const = 0;
};

/// A candidate in the form in which it is stored and sent; `name` is without the pattern's.
CandidateOutcome outcomeOf(const Candidate& candidate, std::string name, uint64_t rank);

}  // namespace pet
