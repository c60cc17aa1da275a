#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "ir/error.h"

// The substitutions that TASO (SOSP'19) publishes: pairs of small graphs that compute the same.
namespace pet::taso {

/// An operand: output `output` of the operator `op` of the same side, or, where op < 0, a variable of that name.
struct Tensor {
  int op = 0;
  int output = 0;
  bool isVariable() const { return op < 0; }
  friend auto operator<=>(const Tensor&, const Tensor&) = default;
};

/// Keys of Operator::parameters; others are only for TASO's own matcher.
enum Parameter {
  kKernelH = 4,
  kKernelW = 5,
  kStrideH = 6,
  kStrideW = 7,
  kPad = 8,         ///< 0 same, 1 valid
  kActivation = 9,  ///< 0 none, 1 sigmoid, 2 relu, 3 tanh
  kRank = 10,
  kAxis = 11,
  kPerm = 12,  ///< the digits of the permutation in base rank, the first one highest
  kGroupCount = 14,
};

struct Operator {
  int type = 0;  ///< TASO's number, see rules/taso/operators.cc and windows.cc
  std::vector<Tensor> inputs;
  std::map<int, int> parameters;
  /// The parameter's value, or `otherwise` where the file has none.
  int parameter(int key, int otherwise) const {
    auto it = parameters.find(key);
    return it == parameters.end() ? otherwise : it->second;
  }
};

/// Output `sourceOutput` of the source's operator `source` is output `targetOutput` of the target's operator `target`.
struct MappedOutput {
  int source = 0, target = 0, sourceOutput = 0, targetOutput = 0;
};

/// source = target; operands of an operator stand before it.
struct Substitution {
  std::vector<Operator> source, target;
  std::vector<MappedOutput> outputs;
};

/// Reads a RuleCollection in protocol buffers' wire format:
///
///     RuleCollection  rule[1] repeated Rule
///     Rule            srcOp[1], dstOp[2] repeated Operator; mappedOutput[3] repeated MapOutput
///     Operator        type[1] int32; input[2] repeated Tensor; para[3] repeated Parameter
///     Tensor          opId[1], tsId[2] int32
///     Parameter       key[1], value[2] int32
///     MapOutput       srcOpId[1], dstOpId[2], srcTsId[3], dstTsId[4] int32
///
/// Errors (kText) name the byte, or the rule: bytes that are no such message, fields that these messages do not have
/// or lack, operands and outputs that do not exist.
Expected<std::vector<Substitution>> readSubstitutions(std::string_view bytes, std::string_view file);

}  // namespace pet::taso
