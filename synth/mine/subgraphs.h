#pragma once

#include <vector>

#include "ir/program.h"

// Which parts of a model's program may become patterns.
namespace pet::mine {

struct SubgraphLimits {
  size_t operators = 3;     ///< of one subgraph, at most
  size_t most = 1'000'000;  ///< sets of operators that are looked at
};

struct Subgraphs {
  std::vector<std::vector<int>> nodes;  ///< of each subgraph, sorted; small ones first, then in the program's order
  bool complete = true;                 ///< false: there were more than `most`
};

/// The connected convex sets of operators on activations: two operators are connected where one reads the other's
/// result, or both read one value that is no constant (of very many readers, those next to each other). Convex: no path
/// leads out of the set and back, so that it can be computed in one step. What only constants compute is a constant.
Subgraphs subgraphs(const Program& program, const SubgraphLimits& limits);

/// The nodes in this order, operands first, as a program of their own, without symbols: values from outside are inputs
/// ("x", "x2", …) or, where they are constants, constant ones ("w", "w2", …). Its outputs are what is read outside and
/// what nobody reads, in the order of the nodes. Inputs come where they are first read.
Program cut(const Program& program, const std::vector<int>& nodes);

/// Every order of the nodes with operands first.
std::vector<std::vector<int>> orders(const Program& program, const std::vector<int>& nodes);

}  // namespace pet::mine
