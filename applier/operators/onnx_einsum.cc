// Einsum, as products and sums of other operators.

#include <algorithm>
#include <map>
#include <tuple>

#include "applier/infer/einsum.h"
#include "applier/operators/onnx_rows.h"
#include "ir/limits.h"

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

/// The dimensions of an ellipsis have labels that are no letters, by their places from behind.
constexpr int kFirstOfDots = 128;
constexpr size_t kMostOperands = 8;

/// `labels` with one for each of the `count` dimensions of the ellipsis.
std::string withoutDots(const std::string& labels, size_t count) {
  const size_t dots = labels.find('.');
  if (dots == std::string::npos) return labels;
  std::string each;
  for (size_t i = count; i-- > 0;)
    each += static_cast<char>(kFirstOfDots + static_cast<int>(i));
  return labels.substr(0, dots) + each + labels.substr(dots + 1);
}

/// Those of both, each once.
std::string together(const std::string& a, const std::string& b) {
  return a + chosen(b, [&](char c) { return !has(a, c); });
}

class EinsumReader {
 public:
  explicit EinsumReader(const Lifting& l) : l_(l), equation_(readEinsum(l.text("equation", ""))) {
    if (equation_.operands.size() != l.operandCount()) Lifting::refuse("an equation of other operands");
    if (l.operandCount() > kMostOperands) Lifting::refuse("a product of very many");
    expandDots();
    for (size_t i = 0; i < l.operandCount(); ++i)
      enter(withoutDiagonals({l.operand(i), equation_.operands[i]}));
    for (Labelled& x : operands_)
      x = withoutBroadcast(x);
    if (together(equation_.result, known()).size() != known().size()) Lifting::refuse("a label of no operand");
  }

  Value run() {
    while (operands_.size() > 1)
      joinTwo();
    return inOrder(summed(operands_[0], equation_.result), equation_.result).value;
  }

 private:
  void expandDots() {
    size_t most = 0;
    for (size_t i = 0; i < equation_.operands.size(); ++i) {
      std::string& labels = equation_.operands[i];
      const size_t rank = l_.rank(l_.operand(i)), letters = labels.size() - (has(labels, '.') ? 1 : 0);
      if (has(labels, '.') ? rank < letters || rank > kMostDimensions : rank != letters)
        Lifting::refuse("labels that do not fit the operand");
      most = std::max(most, rank - letters);
      labels = withoutDots(labels, rank - letters);
    }
    if (most > 0 && !has(equation_.result, '.')) Lifting::refuse("a sum over an ellipsis");
    equation_.result = withoutDots(equation_.result, most);
  }

  /// Of a label's extents those of 1 stand for all positions of the other.
  void enter(const Labelled& x) {
    for (size_t d = 0; d < x.labels.size(); ++d) {
      const Dim& extent = l_.shape(x.value)[d];
      Dim& joint = extents_.try_emplace(x.labels[d], extent).first->second;
      if (joint == Dim(1)) joint = extent;
      if (extent != joint && extent != Dim(1)) Lifting::refuse("operands that may be broadcast");
    }
    operands_.push_back(x);
  }

  std::string known() const {
    std::string labels;
    for (const auto& [c, extent] : extents_)
      labels += c;
    return labels;
  }

  /// x[.., i, i, ..]: of the two dimensions as one, every (n + 1)-th position.
  Labelled withoutDiagonals(Labelled x) const {
    for (size_t d = 0; d < x.labels.size();) {
      const size_t again = x.labels.find(x.labels[d], d + 1);
      if (again == std::string::npos) {
        ++d;
        continue;
      }
      Extents shape = l_.extents(x.value);
      const int64_t n = shape[d];
      if (shape[again] != n) Lifting::refuse("a diagonal of no square");
      std::vector<Expr> perm;
      for (size_t i = 0; i < shape.size(); ++i) {
        if (i != again) perm.emplace_back(static_cast<int64_t>(i));
        if (i == d) perm.emplace_back(static_cast<int64_t>(again));
      }
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(again));
      shape[d] = checkedMul(n, n);
      const Value square = l_.reshape(l_.add("Transpose", {x.value}, {{"perm", perm}}), shape);
      x.value = l_.add("Slice", {square},
                       {{"axes", exprs({static_cast<int64_t>(d)})},
                        {"starts", exprs({0})},
                        {"ends", exprs({shape[d]})},
                        {"steps", exprs({n + 1})}});
      x.labels.erase(again, 1);
    }
    return x;
  }

  Labelled withoutBroadcast(const Labelled& x) const {
    const std::string own =
        chosen(x.labels, [&](char c) { return l_.shape(x.value)[x.labels.find(c)] == extents_.at(c); });
    return {l_.reshape(x.value, extentsOf(own)), own};
  }

  /// Those two operands become one that have the fewest labels together, the first of such. It has the labels that the
  /// result needs, or an operand that is left.
  void joinTwo() {
    auto count = [&](size_t i, size_t j) { return together(operands_[i].labels, operands_[j].labels).size(); };
    size_t first = 0, second = 1;
    for (size_t i = 0; i < operands_.size(); ++i) {
      for (size_t j = i + 1; j < operands_.size(); ++j) {
        if (count(i, j) < count(first, second)) std::tie(first, second) = std::pair(i, j);
      }
    }
    const Labelled a = operands_[first], b = operands_[second];
    operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(second));
    std::string needed = equation_.result;
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (i != first) needed = together(needed, operands_[i].labels);
    }
    const std::string both = together(a.labels, b.labels);
    operands_[first] = product(a, b, chosen(needed, [&](char c) { return has(both, c); }));
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

  /// In the order of `labels`, with extents of 1 where it has no such label.
  Value aligned(const Labelled& x, const std::string& labels) const {
    const std::string order = chosen(labels, [&](char c) { return has(x.labels, c); });
    Shape shape;
    for (char c : labels)
      shape.push_back(has(order, c) ? extents_.at(c) : Dim(1));
    return l_.reshape(inOrder(x, order).value, shape);
  }

  /// x·y with the labels `kept`, summed over the others.
  Labelled product(const Labelled& x, const Labelled& y, const std::string& kept) const {
    const Labelled a = summed(x, together(y.labels, kept)), b = summed(y, together(x.labels, kept));
    const bool contracts = std::any_of(a.labels.begin(), a.labels.end(), [&](char c) { return !has(kept, c); });
    return contracts ? matrixProduct(a, b, kept) : Labelled{l_.add("Mul", {aligned(a, kept), aligned(b, kept)}), kept};
  }

  /// Matrix products over the labels that both have and are not kept. Labels of one operand alone are rows, of the
  /// other columns; those of both that are kept number the products.
  Labelled matrixProduct(const Labelled& a, const Labelled& b, const std::string& kept) const {
    const std::string batch = chosen(kept, [&](char c) { return has(a.labels, c) && has(b.labels, c); }),
                      inner = chosen(a.labels, [&](char c) { return !has(kept, c); }),
                      rows = chosen(a.labels, [&](char c) { return has(kept, c) && !has(b.labels, c); }),
                      columns = chosen(b.labels, [&](char c) { return has(kept, c) && !has(a.labels, c); });
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
  std::map<char, Dim> extents_;  ///< of each label
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
