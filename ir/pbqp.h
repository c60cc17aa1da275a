#pragma once

#include <map>
#include <utility>
#include <vector>

namespace pet {

/// A partitioned boolean quadratic problem (docs/applier.md, Choose): one alternative is chosen for each variable, so
/// that the sum of their costs, and of the costs of pairs of them, is least. infinity(): never, or never together.
///
/// Variables with no neighbour, one or two are folded into what is left, which loses nothing (R0, RI, RII of Scholz and
/// Eckstein, 2002). Where only variables with more are left, the one with the most gets the alternative that is best
/// with the best of each neighbour, a heuristic (RN), after which single variables are changed as long as the sum
/// falls, and with each those that its new alternative excludes. What a chain, a forest or a ladder of sites needs is
/// exact, in O(n · (log n + a³)) for n variables of a alternatives.
class Pbqp {
 public:
  /// At least one alternative with a finite cost. Returns the variable's number: 0, 1, …
  int variable(std::vector<double> costs);
  /// Adds a cost to an alternative.
  void alone(int variable, int alternative, double cost);
  /// Adds a cost to a pair of alternatives of two different variables.
  void together(int a, int alternativeOfA, int b, int alternativeOfB, double cost);

  struct Solution {
    std::vector<int> choice;  ///< per variable
    double cost = 0;
    bool exact = true;  ///< no heuristic was needed
  };
  Solution solve() const;
  double cost(const std::vector<int>& choice) const;

 private:
  /// Costs of pairs, row by row: alternatives of the variable with the smaller number.
  using Matrix = std::vector<std::vector<double>>;
  class Reducer;

  void improve(std::vector<int>& choice) const;

  std::vector<std::vector<double>> variables_;
  std::map<std::pair<int, int>, Matrix> edges_;
};

}  // namespace pet
