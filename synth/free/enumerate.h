#pragma once

#include <functional>

#include "ir/progress.h"
#include "synth/free/classes.h"

namespace pet::freemode {

/// A graph, by its last operator, and what it computes.
struct Candidate {
  uint64_t fingerprint = 0;
  Application application;
  uint32_t size = 0;  ///< operators

  /// By fingerprint, the smallest graphs first.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return std::tie(a.fingerprint, a.size, a.application) < std::tie(b.fingerprint, b.size, b.application);
  }
};

/// What one level came to. Graphs are counted with every choice of names for their inputs.
struct LevelCount {
  uint64_t evaluated = 0;  ///< applications computed
  uint64_t graphs = 0;
  uint64_t sharing = 0;  ///< of graphs of two operators: pairs with the same first one
  uint64_t classes = 0;  ///< new ones; of the last level those of canonical graphs, by value
};

/// The graphs of no operators: classes of the inputs and constants.
ClassTable leafClasses(const Vocabulary& vocabulary, uint64_t seed);

/// The leaves as candidates of no operators: their application's operand is the leaf.
std::vector<Candidate> leafCandidates(const ClassTable& table);

/// Adds the classes of the graphs with one operator more, all of them, with their members; what is computed again (the
/// class is older, or the node set is) is dropped after it has been handed on. `found` gets every canonical graph.
/// Without values they are computed again where they are read: for a last level but one that is too large for them.
/// `progress`: of this level.
enum class Values { kKept, kDropped };
LevelCount extend(ClassTable& table,
                  std::vector<Candidate>& found,
                  Values values = Values::kKept,
                  const ReportShare& progress = nullptr);

/// The graphs with one operator more, without their values: those canonical ones whose fingerprint lies in the part of
/// all fingerprints, 0 <= part < parts.
struct Part {
  uint32_t index = 0, count = 1;
  bool holds(uint64_t fingerprint) const { return (fingerprint >> 32) * count >> 32 == index; }
};
std::vector<Candidate> lastLevel(const ClassTable& table,
                                 const Part& part,
                                 LevelCount& count,
                                 const ReportShare& progress = nullptr);
/// How many there are in all parts, without computing them.
uint64_t countLastLevel(const ClassTable& table);

}  // namespace pet::freemode
