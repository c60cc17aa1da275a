// Products of matrices.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "applier/infer/rules.h"
#include "ir/ops/einsum.h"

namespace pet {
namespace {

/// As in numpy: vectors count as a row in front and a column behind, which are dropped again.
void multiplyMatrices(NodeInference& n, size_t first, size_t second) {
  Shape a = n.shape(first), b = n.shape(second);
  if (a.empty() || b.empty()) NodeInference::invalid("multiplies a scalar");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), Dim(1));
  if (column) b.emplace_back(1);
  n.requireEqual(a.back(), b[b.size() - 2], "the inner extents differ");
  Dim rows = a[a.size() - 2], columns = b.back();
  Shape y = broadcast(n, {a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!row) y.push_back(rows);
  if (!column) y.push_back(columns);
  n.setShape(0, std::move(y));
}

void inferMatMul(NodeInference& n) {
  multiplyMatrices(n, 0, 1);
}

void inferQLinearMatMul(NodeInference& n) {
  multiplyMatrices(n, 0, 3);
}

// y[m, n] = α a[m, k] b[k, n] + β c
void inferGemm(NodeInference& n) {
  const bool left = n.flag("transA", false), right = n.flag("transB", false);
  if (n.hasShape(0)) n.requireRank(0, 2);
  if (n.hasShape(1)) n.requireRank(1, 2);
  if (n.hasShape(0) && n.hasShape(1))
    n.requireEqual(n.shape(0)[left ? 0 : 1], n.shape(1)[right ? 1 : 0], "the inner extents differ");
  Dim rows = n.hasShape(0) ? n.shape(0)[left ? 1 : 0] : n.open();
  Dim columns = n.hasShape(1) ? n.shape(1)[right ? 0 : 1] : n.open();
  n.setShape(0, {rows, columns});
}

/// What the labels of an equation stand for.
struct Labels {
  std::map<char, Dim> extents;
  Shape dots;  ///< what `...` stands for
};

void readLabels(NodeInference& n, const std::string& labels, const Shape& x, Labels& into) {
  const auto named = static_cast<size_t>(std::count_if(labels.begin(), labels.end(), [](char c) { return c != '.'; }));
  const bool dots = named != labels.size();
  if (labels.size() - named > 1) NodeInference::invalid("the equation has two ellipses in one operand");
  if (dots ? named > x.size() : named != x.size())
    NodeInference::invalid(fmt::format("'{}' stands for a tensor of {} dimensions", labels, x.size()));
  size_t i = 0;
  for (char c : labels) {
    if (c == '.') {
      size_t count = x.size() - named;
      auto begin = x.begin() + static_cast<std::ptrdiff_t>(i);
      into.dots = broadcast(n, into.dots, Shape(begin, begin + static_cast<std::ptrdiff_t>(count)));
      i += count;
      continue;
    }
    auto [it, added] = into.extents.emplace(c, x[i]);
    if (!added) it->second = broadcast(n, Shape{it->second}, Shape{x[i]})[0];
    ++i;
  }
}

void inferEinsum(NodeInference& n) {
  const EinsumEquation e = readEinsum(n.text("equation", ""));
  if (e.operands.size() != n.operandCount())
    NodeInference::invalid(
        fmt::format("the equation has {} operands, the node {}", e.operands.size(), n.operandCount()));
  Labels labels;
  for (size_t i = 0; i < e.operands.size(); ++i)
    readLabels(n, e.operands[i], n.shape(i), labels);
  Shape y;
  for (char c : e.result) {
    if (c == '.') {
      y.insert(y.end(), labels.dots.begin(), labels.dots.end());
      continue;
    }
    auto it = labels.extents.find(c);
    if (it == labels.extents.end()) NodeInference::invalid(fmt::format("no operand has the label '{}'", c));
    y.push_back(it->second);
  }
  n.setShape(0, std::move(y));
}

// Of the matrices in the last two dimensions.
void inferDet(NodeInference& n) {
  const Shape& x = n.shape(0);
  if (x.size() < 2) NodeInference::invalid(fmt::format("a tensor of {} dimensions", x.size()));
  n.requireEqual(x[x.size() - 1], x[x.size() - 2], "the matrices are not square");
  n.setShape(0, {x.begin(), x.end() - 2});
}

constexpr InferRule kProductRules[] = {
    {"Det", inferDet},       {"Einsum", inferEinsum},        {"Gemm", inferGemm},
    {"MatMul", inferMatMul}, {"MatMulInteger", inferMatMul}, {"QLinearMatMul", inferQLinearMatMul},
};

}  // namespace

std::span<const InferRule> productRules() {
  return kProductRules;
}

}  // namespace pet
