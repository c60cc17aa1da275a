#pragma once

#include <map>
#include <vector>

#include "ir/program.h"

// Which parts of a model's program may become patterns.
namespace pet::mine {

/// A program, and what is asked about it again and again. The program must outlive it.
class Source {
 public:
  Source(const Program& program);

  const Program& program() const { return program_; }
  const Node& node(int n) const { return program_.nodes()[static_cast<size_t>(n)]; }
  int count() const { return static_cast<int>(constant_.size()); }
  /// Computed from constants alone.
  bool isConstant(Value v) const { return constant_[static_cast<size_t>(v.node)]; }
  /// The nodes that read a value, in order, each once; -1 behind them if it is one of the program's outputs.
  const std::vector<int>& readers(Value v) const;

 private:
  const Program& program_;
  std::vector<bool> constant_;
  std::map<Value, std::vector<int>> readers_;
};

struct SubgraphLimits {
  size_t operators = 3;   ///< of one subgraph, at most
  size_t inputs = 8;      ///< that are no constants, of one subgraph, at most
  size_t most = 200'000;  ///< subgraphs of a program
};

struct Subgraphs {
  std::vector<std::vector<int>> nodes;  ///< of each subgraph, sorted; small ones first, then in the program's order
  size_t wide = 0;                      ///< left out, for they have more inputs
  bool complete = true;                 ///< false: there were more than `most`
};

/// The connected convex sets of operators on activations: two operators are connected where one reads the other's
/// result, or both read one value that is no constant (of very many readers, those next to each other). Convex: no path
/// leads out of the set and back, so that it can be computed in one step. What only constants compute is a constant.
Subgraphs subgraphs(const Source& source, const SubgraphLimits& limits);

/// The nodes in this order, operands first, as a program of their own, without symbols: values from outside are inputs
/// ("x", "x2", …) or, where they are constants, constant ones ("w", "w2", …). Its outputs are what is read outside and
/// what nobody reads, in the order of the nodes. Inputs come where they are first read.
Program cut(const Source& source, const std::vector<int>& nodes);

/// Every order of the nodes with operands first.
std::vector<std::vector<int>> orders(const Program& program, const std::vector<int>& nodes);

}  // namespace pet::mine
