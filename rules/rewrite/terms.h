#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ir/program.h"

namespace pet::rewrite {

/// The values of many programs over the same inputs. Equal computations are one value, so programs are equal up to
/// names if their outputs are the same values. Some laws hold by construction (docs/rewriting.md): operands of Add and
/// Mul have no order, Identity is its operand, Transposes of Transposes are one, a Split of a Concat where it joined is
/// the Concat's operands, a Concat of all parts of a Split in order is the Split's operand.
class Terms {
 public:
  /// With the inputs of a program, in their order.
  explicit Terms(const Program& program);

  /// All values so far, as nodes of one program.
  const Program& all() const { return builder_.peek(); }
  const std::vector<Value>& inputs() const { return inputs_; }

  /// The operator's outputs. Errors are those of ProgramBuilder::add.
  Expected<std::vector<Value>> add(const OpRow& op, std::vector<Value> operands, Attributes attributes);
  /// The outputs of a program, `inputs` being its inputs, in their order.
  Expected<std::vector<Value>> add(const Program& program, const std::vector<Value>& inputs);
  /// The same values with each key of `by` replaced wherever it is read.
  Expected<std::vector<Value>> replaced(const std::vector<Value>& values, const std::map<Value, Value>& by);

  /// The nodes that the values need, themselves too; inputs are none. Sorted: operands come first.
  std::vector<int> nodesOf(const std::vector<Value>& values) const;
  /// A program with these outputs, all inputs, and new names.
  Program extract(const std::vector<Value>& outputs) const;

 private:
  using Key = std::tuple<const OpRow*, std::vector<Value>, std::string>;

  const Node& node(Value v) const { return all().node(v); }
  Expected<std::vector<Value>> addTranspose(const OpRow& op, Value operand, Attributes attributes);
  Expected<std::vector<Value>> addNew(const OpRow& op, std::vector<Value> operands, Attributes attributes);

  ProgramBuilder builder_;
  std::vector<Value> inputs_;
  std::map<Key, int> known_;
};

/// True of Add and Mul.
bool commutes(const OpRow& op);

/// The same program as a Terms makes it.
Expected<Program> normalised(const Program& program);

}  // namespace pet::rewrite
