#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ir/program.h"

namespace pet {

/// What a rewritten program has of its original. Both are without symbols.
struct Counterparts {
  /// Of the rewritten program's values: those of the original, of the same extents, that they stand for. Of constant
  /// ones those alone that are the same.
  std::map<Value, Value> values = {};
  /// Per node of the rewritten program: what its operands stand for gives what its results stand for by the same
  /// operator with the same attributes, or it is the same input. Empty: nothing is known.
  std::vector<bool> same = {};
};

/// Outputs of the parts of a rewritten program that are not the original's, and the values that these parts read: all
/// of them stand for values of the original.
struct RewrittenParts {
  std::vector<Value> outputs;
  std::set<Value> read;
};

/// How many numbers a value has; 0 where extents are open.
int64_t floatsOf(const Program& program, Value value);

/// The rewritten program's values that depend on no node of its own: the original computes them.
std::vector<bool> sharedNodes(const Program& rewritten, const Counterparts& counterparts);

/// The shared values, none of them constant and none an input, that other nodes of what the outputs need read.
std::set<Value> readOfShared(const Program& rewritten,
                             const std::vector<bool>& shared,
                             const std::vector<Value>& outputs);

/// All parts, in groups of at most `mostFloats` of the original's values (or of one output). If each output is what it
/// stands for wherever what the part reads is, so is every output of the program.
std::vector<RewrittenParts> rewrittenParts(const Program& rewritten,
                                           const Counterparts& counterparts,
                                           int64_t mostFloats);

}  // namespace pet
