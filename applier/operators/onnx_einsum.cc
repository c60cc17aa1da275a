// Einsum, in the form that ir's row has it: of letters, each with one extent. In normal form it is products and sums of
// other operators (rules/rewrite/einsum.h).

#include <algorithm>
#include <map>

#include "applier/operators/onnx_rows.h"
#include "ir/limits.h"
#include "ir/ops/einsum.h"

namespace pet {
namespace {

/// The product of very many operands would be read two at a time in time that grows with the cube of their number.
constexpr size_t kMostOperands = 8;

bool has(const std::string& labels, char c) {
  return labels.find(c) != std::string::npos;
}

/// `labels` with the last `count` of `dots` in the place of an ellipsis.
std::string withoutDots(const std::string& labels, const std::string& dots, size_t count) {
  const size_t at = labels.find('.');
  if (at == std::string::npos) return labels;
  return labels.substr(0, at) + dots.substr(dots.size() - count) + labels.substr(at + 1);
}

/// An equation on its way to one of letters that all operands fit.
class LetteredEinsum {
 public:
  explicit LetteredEinsum(const Lifting& l) : l_(l), equation_(readEinsum(l.text("equation", ""))) {
    if (equation_.operands.size() != l.operandCount()) Lifting::refuse("an equation of other operands");
    if (l.operandCount() > kMostOperands) Lifting::refuse("a product of very many");
    for (size_t i = 0; i < l.operandCount(); ++i)
      operands_.push_back(l.operand(i));
    expandDots();
    findExtents();
    for (size_t i = 0; i < operands_.size(); ++i)
      dropBroadcast(i);
  }

  Value run() const {
    const Value y = l_.add("Einsum", operands_, {{"equation", inOrder(equation_)}});
    if (!l_.operandsOf(y, ops::kEinsum).empty()) Lifting::refuse("extents that the model leaves open");
    return y;
  }

 private:
  void expandDots() {
    std::vector<size_t> counts;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const std::string& labels = equation_.operands[i];
      const size_t rank = l_.rank(operands_[i]), letters = labels.size() - (has(labels, '.') ? 1 : 0);
      if (has(labels, '.') ? rank < letters || rank > kMostDimensions : rank != letters)
        Lifting::refuse("labels that do not fit the operand");
      counts.push_back(rank - letters);
    }
    const size_t most = *std::max_element(counts.begin(), counts.end());
    if (most > 0 && !has(equation_.result, '.')) Lifting::refuse("a sum over an ellipsis");
    const auto dots = unusedLetters(equation_, most);
    if (!dots) Lifting::refuse("very many labels");
    for (size_t i = 0; i < operands_.size(); ++i)
      equation_.operands[i] = withoutDots(equation_.operands[i], *dots, counts[i]);
    equation_.result = withoutDots(equation_.result, *dots, most);
  }

  /// Of a label's extents those of 1 stand for all positions of the other.
  void findExtents() {
    for (size_t i = 0; i < operands_.size(); ++i) {
      for (size_t d = 0; d < equation_.operands[i].size(); ++d) {
        const Dim& extent = l_.shape(operands_[i])[d];
        const size_t first = equation_.operands[i].find(equation_.operands[i][d]);
        if (l_.shape(operands_[i])[first] != extent) Lifting::refuse("a diagonal of no square");
        Dim& joint = extents_.try_emplace(equation_.operands[i][d], extent).first->second;
        if (joint == Dim(1)) joint = extent;
        if (extent != joint && extent != Dim(1)) Lifting::refuse("operands that may be broadcast");
      }
    }
  }

  void dropBroadcast(size_t i) {
    std::string own;
    Shape shape;
    for (size_t d = 0; d < equation_.operands[i].size(); ++d) {
      const char label = equation_.operands[i][d];
      if (l_.shape(operands_[i])[d] != extents_.at(label)) continue;
      own += label;
      shape.push_back(extents_.at(label));
    }
    if (own == equation_.operands[i]) return;
    operands_[i] = l_.reshape(operands_[i], shape);
    equation_.operands[i] = own;
  }

  const Lifting& l_;
  EinsumEquation equation_;
  std::map<char, Dim> extents_;  ///< of each label
  std::vector<Value> operands_;
};

std::vector<Value> readEinsumNode(const Lifting& l, const OnnxRow&) {
  return {LetteredEinsum(l).run()};
}

const OnnxRow kOnnxEinsumRows[] = {
    {.op = "Einsum", .read = readEinsumNode},
};

}  // namespace

std::span<const OnnxRow> onnxEinsumRows() {
  return kOnnxEinsumRows;
}

}  // namespace pet
