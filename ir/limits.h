#pragma once

#include <cstddef>
#include <cstdint>

// How much work a text or a pack may cause (docs/rule-language.md, Limits). Beyond a limit the reader refuses the text
// and the prover and the checker say unknown: verdicts depend on these numbers, never on the machine.
namespace pet {

inline constexpr size_t kMostNodes = 1000;  ///< inputs and operators of a program, also once it is lowered
inline constexpr size_t kMostEntries =
    10'000;                               ///< of a list in a text: an attribute, a class, a shape, a proof's lemmas
inline constexpr size_t kMostMaps = 512;  ///< of a proof or a lemma, in both directions together
inline constexpr size_t kMostDimensions = 64;  ///< of a shape
inline constexpr size_t kMostTerms = 4096;     ///< in the extents of a shape, those within divisions too
inline constexpr size_t kMostCases = 256;      ///< of one operator that regroups dimensions
inline constexpr size_t kMostPieces = 4096;    ///< of a sum of products
inline constexpr size_t kMostFactors = 256;    ///< of a product
inline constexpr size_t kMostNesting = 128;    ///< functions and maxima, nested in one another
inline constexpr size_t kMostVisits = 4096;    ///< ways in which an output reaches partial functions
/// Factors, conditions and indices written while a program is multiplied out.
inline constexpr size_t kMostWork = 4'000'000;

/// One level of recursion, as long as it lives: recursive functions must not run out of stack.
class Recursion {
 public:
  explicit Recursion(size_t& depth) : depth_(depth) { ++depth_; }
  ~Recursion() { --depth_; }
  Recursion(const Recursion&) = delete;
  Recursion& operator=(const Recursion&) = delete;
  bool isTooDeep() const { return depth_ > kMostNesting; }

 private:
  size_t& depth_;
};

}  // namespace pet
