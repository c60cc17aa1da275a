#include "rules/rewrite/einsum.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "ir/ops/einsum.h"
#include "ir/ops/op.h"

namespace pet::rewrite {
namespace {

/// No Layout regroups the extents.
struct NotRegrouped {};

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

/// Those of both, each once.
std::string together(const std::string& a, const std::string& b) {
  return a + chosen(b, [&](char c) { return !has(a, c); });
}

std::vector<Expr> exprs(const std::vector<int64_t>& list) {
  return {list.begin(), list.end()};
}

class EinsumReader {
 public:
  EinsumReader(NormalFormBuilder& builder, const std::string& equation, const std::vector<Value>& operands)
      : builder_(builder), equation_(readEinsum(equation)) {
    for (size_t i = 0; i < operands.size(); ++i) {
      for (size_t d = 0; d < equation_.operands[i].size(); ++d)
        extents_.try_emplace(equation_.operands[i][d], builder.shape(operands[i])[d]);
      operands_.push_back(withoutDiagonals({operands[i], equation_.operands[i]}));
    }
  }

  /// Throws NotRegrouped.
  Value run() {
    while (operands_.size() > 1)
      joinTwo();
    return inOrder(summed(operands_[0], equation_.result), equation_.result).value;
  }

 private:
  Value add(OpName op, std::vector<Value> operands, Attributes attributes = {}) const {
    return addNormalForm(builder_, *findOp(op.text), std::move(operands), std::move(attributes));
  }

  Value reshape(Value x, const Shape& to) const {
    if (auto layout = regrouped(builder_, x, to)) return *layout;
    std::vector<Expr> extents;
    for (const Dim& d : to) {
      if (!d.asConstant()) throw NotRegrouped{};
      extents.emplace_back(*d.asConstant());
    }
    return add(ops::kReshape, {x}, {{"shape", extents}});
  }

  /// x[.., i, i, ..]: of the two dimensions as one, every (n + 1)-th position.
  Labelled withoutDiagonals(Labelled x) const {
    for (size_t d = 0; d < x.labels.size();) {
      const size_t again = x.labels.find(x.labels[d], d + 1);
      if (again == std::string::npos) {
        ++d;
        continue;
      }
      Shape shape = builder_.shape(x.value);
      const auto n = shape[d].asConstant();
      if (!n) throw NotRegrouped{};
      std::vector<Expr> perm;
      for (size_t i = 0; i < shape.size(); ++i) {
        if (i != again) perm.emplace_back(static_cast<int64_t>(i));
        if (i == d) perm.emplace_back(static_cast<int64_t>(again));
      }
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(again));
      const int64_t positions = checkedMul(*n, *n);
      shape[d] = positions;
      const Value square = reshape(add(ops::kTranspose, {x.value}, {{"perm", perm}}), shape);
      x.value = add(ops::kSlice, {square},
                    {{"axes", exprs({static_cast<int64_t>(d)})},
                     {"starts", exprs({0})},
                     {"ends", exprs({positions})},
                     {"steps", exprs({*n + 1})}});
      x.labels.erase(again, 1);
    }
    return x;
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
    return {add(ops::kReduceSum, {x.value}, {{"axes", axes}, {"keepdims", Expr(0)}}),
            chosen(x.labels, [&](char c) { return has(needed, c); })};
  }

  Labelled inOrder(const Labelled& x, const std::string& labels) const {
    std::vector<Expr> perm;
    for (char c : labels)
      perm.emplace_back(static_cast<int64_t>(x.labels.find(c)));
    return {add(ops::kTranspose, {x.value}, {{"perm", perm}}), labels};
  }

  /// In the order of `labels`, with extents of 1 where it has no such label.
  Value aligned(const Labelled& x, const std::string& labels) const {
    const std::string order = chosen(labels, [&](char c) { return has(x.labels, c); });
    Shape shape;
    for (char c : labels)
      shape.push_back(has(order, c) ? extents_.at(c) : Dim(1));
    return reshape(inOrder(x, order).value, shape);
  }

  /// x·y with the labels `kept`, summed over the others.
  Labelled product(const Labelled& x, const Labelled& y, const std::string& kept) const {
    const Labelled a = summed(x, together(y.labels, kept)), b = summed(y, together(x.labels, kept));
    const bool contracts = std::any_of(a.labels.begin(), a.labels.end(), [&](char c) { return !has(kept, c); });
    return contracts ? matrixProduct(a, b, kept) : Labelled{add(ops::kMul, {aligned(a, kept), aligned(b, kept)}), kept};
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
    Value y = add(ops::kMatMul, {reshape(inOrder(a, batch + rows + inner).value, left),
                                 reshape(inOrder(b, batch + inner + columns).value, right)});
    const std::string labels = batch + rows + columns;
    return {reshape(y, extentsOf(labels)), labels};
  }

  NormalFormBuilder& builder_;
  const EinsumEquation equation_;
  std::map<char, Dim> extents_;  ///< of each label
  std::vector<Labelled> operands_;
};

}  // namespace

std::optional<Value> einsumInProducts(NormalFormBuilder& builder,
                                      const std::string& equation,
                                      const std::vector<Value>& operands) {
  try {
    return EinsumReader(builder, equation, operands).run();
  } catch (const NotRegrouped&) {
    return std::nullopt;
  }
}

}  // namespace pet::rewrite
