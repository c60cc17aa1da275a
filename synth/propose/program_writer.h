#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.h"

namespace pet {

/// The pattern's class after `where`, with the symbols that stand there and not in the pattern, and what the program
/// demands.
ShapeClass classOf(const Pattern& pattern,
                   const std::vector<std::pair<std::string, Expr>>& where,
                   const Program& program);

using AxisGroup = std::vector<LayoutAxis>;
AxisGroup operator+(AxisGroup a, const AxisGroup& b);
/// Dimensions first … last - 1 as one group of axes a0, a1, …, by their numbers; or as a group each.
AxisGroup joined(const Shape& shape, size_t first, size_t last);
std::vector<AxisGroup> singles(const Shape& shape, size_t first, size_t last);

/// Zeros, or a value, in front of and behind a dimension.
struct DimPad {
  size_t dim;
  Expr begin, end;
};

/// Writes a program operator by operator. After the first error it does nothing more; finish() returns it.
class ProgramWriter {
 public:
  /// Begins with the pattern's inputs.
  explicit ProgramWriter(const Program& pattern);
  /// Begins with a program's nodes.
  explicit ProgramWriter(ProgramBuilder builder) : builder_(std::move(builder)) {}

  /// False after an error; then values say nothing.
  bool ok() const { return status_.has_value(); }
  Value find(std::string_view name) const { return *builder_.peek().find(name); }
  const Shape& shape(Value v) const { return builder_.shape(v); }

  Value add(std::string_view op, std::vector<Value> operands, Attributes attributes = {}, std::string name = "");
  /// The axes of the operand's dimensions, and where they go. A group without axes is a dimension of extent 1.
  Value layout(Value x, const std::vector<AxisGroup>& from, const std::vector<AxisGroup>& to, std::string name = "");
  /// The same, or the operand where nothing changes.
  Value regrouped(Value x, const std::vector<AxisGroup>& from, const std::vector<AxisGroup>& to) {
    return from == to ? x : layout(x, from, to);
  }
  Value pad(Value x, const std::vector<DimPad>& pads, double value = 0);
  Value slice(Value x, size_t dim, const Expr& start, const Expr& end);
  /// The first positions of dimensions from `first` on.
  Value crop(Value x, size_t first, const std::vector<Expr>& extents);
  Value concat(std::vector<Value> parts, size_t dim);
  Value constant(double value, std::vector<Expr> shape = {});

  Expected<Program> finish(Value output) && { return std::move(*this).finish(std::vector{output}); }
  Expected<Program> finish(std::vector<Value> outputs) &&;

 private:
  ProgramBuilder builder_;
  Expected<void> status_;
};

}  // namespace pet
