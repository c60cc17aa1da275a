// Einsum, as products and sums of other operators.

#include <algorithm>
#include <map>

#include "applier/infer/einsum.h"
#include "applier/operators/onnx_rows.h"

namespace pet {
namespace {

/// A value whose dimensions have labels.
struct Labelled {
  Value value;
  std::string labels;
};

bool has(const std::string& labels, char c) {
  return labels.find(c) != std::string::npos;
}

/// Those labels of `of` for which `wanted` holds.
template <class Wanted>
std::string chosen(const std::string& of, Wanted wanted) {
  std::string result;
  std::copy_if(of.begin(), of.end(), std::back_inserter(result), wanted);
  return result;
}

class EinsumReader {
 public:
  explicit EinsumReader(const Lifting& l) : l_(l), equation_(readEinsum(l.text("equation", ""))) {
    if (equation_.operands.size() != l.operandCount() || l.operandCount() > 2)
      Lifting::refuse("a product of more than two");
    for (size_t i = 0; i < l.operandCount(); ++i)
      enter(l.operand(i), equation_.operands[i]);
    if (has(equation_.result, '.')) Lifting::refuse("an ellipsis");
  }

  Value run() {
    const std::string& result = equation_.result;
    if (operands_.size() == 1) return inOrder(summed(operands_[0], result), result).value;
    const Labelled a = summed(operands_[0], operands_[1].labels + result),
                   b = summed(operands_[1], operands_[0].labels + result);
    const bool contracts = std::any_of(a.labels.begin(), a.labels.end(), [&](char c) { return !has(result, c); });
    return contracts ? inOrder(product(a, b), result).value : l_.add("Mul", {aligned(a), aligned(b)});
  }

 private:
  void enter(Value x, const std::string& labels) {
    const Shape& shape = l_.shape(x);
    if (has(labels, '.')) Lifting::refuse("an ellipsis");
    if (labels.size() != shape.size()) Lifting::refuse("labels that do not fit the operand");
    for (size_t d = 0; d < labels.size(); ++d) {
      if (has(labels.substr(0, d), labels[d])) Lifting::refuse("a diagonal");
      if (!extents_.emplace(labels[d], shape[d]).second && extents_.at(labels[d]) != shape[d])
        Lifting::refuse("operands that are broadcast");
    }
    operands_.push_back({x, labels});
  }

  Shape extentsOf(const std::string& labels) const {
    Shape shape;
    for (char c : labels)
      shape.push_back(extents_.at(c));
    return shape;
  }

  /// Without the dimensions that nobody needs.
  Labelled summed(const Labelled& x, const std::string& needed) const {
    std::vector<Expr> axes;
    for (size_t d = 0; d < x.labels.size(); ++d) {
      if (!has(needed, x.labels[d])) axes.emplace_back(static_cast<int64_t>(d));
    }
    if (axes.empty()) return x;
    return {l_.add("ReduceSum", {x.value}, {{"axes", axes}, {"keepdims", Expr(0)}}),
            chosen(x.labels, [&](char c) { return has(needed, c); })};
  }

  Labelled inOrder(const Labelled& x, const std::string& labels) const {
    std::vector<Expr> perm;
    for (char c : labels)
      perm.emplace_back(static_cast<int64_t>(x.labels.find(c)));
    return {l_.add("Transpose", {x.value}, {{"perm", perm}}), labels};
  }

  /// In the order of the result, with extents of 1 where it has no label.
  Value aligned(const Labelled& x) const {
    const std::string order = chosen(equation_.result, [&](char c) { return has(x.labels, c); });
    Shape shape;
    for (char c : equation_.result)
      shape.push_back(has(order, c) ? extents_.at(c) : Dim(1));
    return l_.reshape(inOrder(x, order).value, shape);
  }

  /// Matrix products over the labels that both have and the result has not. Labels of one operand alone are rows, of
  /// the other columns; those of both and the result number the products.
  Labelled product(const Labelled& a, const Labelled& b) const {
    const std::string& result = equation_.result;
    const std::string batch = chosen(result, [&](char c) { return has(a.labels, c) && has(b.labels, c); }),
                      inner = chosen(a.labels, [&](char c) { return !has(result, c); }),
                      rows = chosen(a.labels, [&](char c) { return has(result, c) && !has(b.labels, c); }),
                      columns = chosen(b.labels, [&](char c) { return has(result, c) && !has(a.labels, c); });
    const Dim depth = Dim::product(extentsOf(inner));
    Shape left = extentsOf(batch), right = left;
    if (batch.empty() && !rows.empty()) {
      left = extentsOf(rows);
    } else {
      left.push_back(Dim::product(extentsOf(rows)));
    }
    left.push_back(depth);
    right.push_back(depth);
    right.push_back(Dim::product(extentsOf(columns)));
    Value y = l_.add("MatMul", {l_.reshape(inOrder(a, batch + rows + inner).value, left),
                                l_.reshape(inOrder(b, batch + inner + columns).value, right)});
    const std::string labels = batch + rows + columns;
    return {l_.reshape(y, extentsOf(labels)), labels};
  }

  const Lifting& l_;
  EinsumEquation equation_;
  std::map<char, Dim> extents_;
  std::vector<Labelled> operands_;
};

std::vector<Value> readEinsumNode(const Lifting& l, const OnnxRow&) {
  return {EinsumReader(l).run()};
}

const OnnxRow kOnnxEinsumRows[] = {
    {.type = "Einsum", .read = readEinsumNode, .write = nullptr},
};

}  // namespace

std::span<const OnnxRow> onnxEinsumRows() {
  return kOnnxEinsumRows;
}

}  // namespace pet
