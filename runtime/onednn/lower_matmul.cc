// MatMul and Gemm: y = a b, batched, either operand transposed by its strides; STFT and DFT as products of frames.

#include <algorithm>
#include <numeric>

#include "runtime/onednn/emit_product.h"
#include "runtime/onednn/lower_product.h"
#include "runtime/plan/spectrum.h"

namespace pet::onednn {
namespace {

/// The operand in a form that is taken, with dimensions of extent 1 in front.
Place taken(Planner& p, Value v, size_t rank) {
  Place there = p.place(v);
  if (!isTakenAsItIs(there.access)) there = p.as(v, rowMajor(there.access.extents()));
  Extents extents = there.access.extents();
  extents.insert(extents.begin(), rank - extents.size(), 1);
  there.access = *reshaped(there.access, extents);
  return there;
}

/// A constant stands on the right; where it is the left operand, the transposed product is computed, so that its result
/// has rows where y has columns.
bool weightsLeft(const plan::Planner& p, int n) {
  const Node& node = p.node(n);
  return p.isConstant(node.operands[0]) && !p.isConstant(node.operands[1]);
}

/// The right operand's place, or how the numbers are read where it is a constant: behind Transposes as they are.
void placeRight(Planner& p, Value v, size_t rank, Product& product) {
  if (!p.isConstant(v)) {
    product.right = taken(p, v, rank);
    return;
  }
  std::vector<std::vector<size_t>> perms;
  Value root = v;
  for (; p.node(root.node).is(ops::kTranspose); root = p.node(root.node).operands[0]) {
    const Extents perm = p.list(root.node, "perm");
    perms.insert(perms.begin(), {perm.begin(), perm.end()});
  }
  Access access = rowMajor(p.extents(root));
  for (const auto& perm : perms)
    access = permuted(access, perm);
  const bool asItIs = perms.empty() || isTakenAsItIs(access);
  if (!asItIs) access = rowMajor(p.extents(v));
  Extents extents = access.extents();
  extents.insert(extents.begin(), rank - extents.size(), 1);
  product.weights = asItIs ? root : v;
  product.right = {-1, *reshaped(access, extents)};
}

/// The order of the dimensions in which rows of the left operand follow each other in memory, where the right one is
/// the same for all: so they are rows of one product, whatever the order is that the program names them in.
std::vector<size_t> rowOrder(const Product& product) {
  std::vector<size_t> order(product.left.access.rank());
  std::iota(order.begin(), order.end(), 0);
  const auto strides = stridesOf(product.left.access);
  const auto& right = product.right.access.tables;
  const bool isShared =
      std::all_of(right.begin(), right.end() - 2, [](const auto& table) { return table.size() == 1; });
  if (strides && isShared && strides->back() == 1)
    std::stable_sort(order.begin(), order.end() - 1, [&](size_t a, size_t b) { return (*strides)[a] > (*strides)[b]; });
  return order;
}

std::vector<size_t> inverse(const std::vector<size_t>& perm) {
  std::vector<size_t> result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    result[perm[i]] = i;
  return result;
}

/// Positions by their offsets.
std::vector<size_t> byOffset(const std::vector<int64_t>& table) {
  std::vector<size_t> order(table.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return table[a] < table[b]; });
  return order;
}

/// A product with weights whose left operand lies in blocks [depth, rows], its depth perhaps in another order than the
/// weights have it in: what images with channels last are where positions are summed up. oneDNN takes the blocks as
/// they are, and the weights are put into their order. False: it is no such product.
bool lowerAcrossBlocks(Planner& p, int n, const Epilogue& e) {
  constexpr int64_t kFewRows = 16;
  const Value weights = p.node(n).operands[1];
  const Place& x = p.place(p.node(n).operands[0]);
  const bool isScaled = std::any_of(e.scale.begin(), e.scale.end(), [](float s) { return s != 1; });
  const bool fits = !isScaled && p.isConstant(weights) && p.extents(weights).size() == 2 && x.access.rank() > 1 &&
                    !x.access.fills() && !isTakenAsItIs(x.access);
  if (!fits) return false;
  std::vector<const std::vector<int64_t>*> tables;
  for (size_t d = 0; d + 1 < x.access.rank(); ++d)
    tables.push_back(&x.access.tables[d]);
  const std::vector<int64_t> rows = merged(tables), &depth = x.access.tables.back();
  const std::vector<size_t> rowsInOrder = byOffset(rows), depthInOrder = byOffset(depth);
  const auto all = std::ssize(rows), terms = std::ssize(depth), inBlock = terms > 1 ? depth[depthInOrder[1]] : 0;
  if (inBlock < kFewRows || all % inBlock != 0) return false;
  const int64_t columns = p.extents(weights)[1];
  for (int64_t k = 0; k < terms; ++k) {
    if (depth[depthInOrder[static_cast<size_t>(k)]] != k * inBlock) return false;
  }
  std::vector<int64_t> results(rows.size());
  for (int64_t i = 0; i < all; ++i) {
    const size_t row = rowsInOrder[static_cast<size_t>(i)];
    if (rows[row] != i / inBlock * inBlock * terms + i % inBlock) return false;
    results[row] = i * columns;
  }
  Access form;
  Extents extents = x.access.extents();
  extents.pop_back();
  auto parts = split(results, extents, form.offset);
  if (!parts) return false;
  form.tables = std::move(*parts);
  form.tables.push_back(multiples(columns, 1));
  Product product{{x.buffer, strided({all / inBlock, inBlock, terms}, {inBlock * terms, 1, inBlock})},
                  {-1, rowMajor({1, terms, columns})},
                  {-1, rowMajor({all / inBlock, inBlock, columns})},
                  weights,
                  [depthInOrder](const StoredFloats& stored) {
                    const int64_t length = stored.extents[1];
                    Tensor<float> turned(stored.extents);
                    for (size_t k = 0; k < depthInOrder.size(); ++k) {
                      std::copy_n(stored.floats() + static_cast<int64_t>(depthInOrder[k]) * length, length,
                                  turned.data.begin() + static_cast<int64_t>(k) * length);
                    }
                    return turned;
                  }};
  product.left.access.offset = x.access.offset;
  const auto kernels = kernelsFor(p, product, e, inBlock);
  if (!kernels || !emitProduct(p, n, product, e, form)) return false;
  p.note(n, *kernels + ", across blocks");
  return true;
}

bool lowerMatMul(Planner& p, int n, const Epilogue& e) {
  if (lowerAcrossBlocks(p, n, e)) return true;
  const Node& node = p.node(n);
  bool left = weightsLeft(p, n);
  Value a = node.operands[left ? 1 : 0], b = node.operands[left ? 0 : 1];
  Extents y = p.extents({n, 0});
  Product product;
  product.left = taken(p, a, y.size());
  placeRight(p, b, y.size(), product);
  product.result.access = rowMajor(y);
  if (left) {
    product.left.access = swapped(product.left.access);
    product.right.access = swapped(product.right.access);
    std::swap(y[y.size() - 2], y[y.size() - 1]);
    product.result.access = rowMajor(y);
    const Access form = swapped(product.result.access);
    return emitProduct(p, n, std::move(product), e, form);
  }
  const std::vector<size_t> order = rowOrder(product);
  product.left.access = permuted(product.left.access, order);
  product.result.access = rowMajor(permuted(rowMajor(y), order).extents());
  const Access form = permuted(product.result.access, inverse(order));
  return emitProduct(p, n, std::move(product), e, form);
}

size_t channelOf(const plan::Planner& p, int n) {
  const size_t rank = p.extents({n, 0}).size();
  return weightsLeft(p, n) ? rank - 2 : rank - 1;
}

/// y = alpha · a' b' + beta · c.
bool lowerGemm(Planner& p, int n, const Epilogue& outer) {
  const Node& node = p.node(n);
  Extents y = p.extents({n, 0});
  const Epilogue e = gemmEpilogue(p, n, outer);
  Product product;
  product.left = taken(p, node.operands[0], 2);
  if (p.scalar(n, "transA") != 0) product.left.access = swapped(product.left.access);
  placeRight(p, node.operands[1], 2, product);
  if (p.scalar(n, "transB") != 0) product.right.access = swapped(product.right.access);
  product.result.access = rowMajor(y);
  const Access form = product.result.access;
  return emitProduct(p, n, std::move(product), e, form);
}

/// Frames are copied where they overlap.
bool lowerStft(Planner& p, int n, const Epilogue& e) {
  const Value window = p.node(n).operands[1];
  if (!p.isConstant(window)) throw NotLowered{"a window that is not constant"};
  const Extents y = p.extents({n, 0});
  Product product;
  product.left = framesOf(p, n);
  const Extents frames = product.left.access.extents();
  if (!isTakenAsItIs(product.left.access)) product.left = p.as(product.left, rowMajor(frames));
  product.right = {-1, rowMajor({1, frames[2], y[2] * y[3]})};
  product.result.access = rowMajor({y[0], y[1], y[2] * y[3]});
  product.weights = window;
  product.change = [frequencies = y[2]](const StoredFloats& w) { return spectrumOf(w.copy(), frequencies); };
  return emitProduct(p, n, std::move(product), e, rowMajor(y));
}

bool lowerDft(Planner& p, int n, const Epilogue& e) {
  Product product;
  product.numbers = fourierOf(p, n);
  auto [rows, order] = signalOf(p, n);
  product.right = {-1, rowMajor(product.numbers->extents)};
  product.result.access = rowMajor({rows.access.extents()[0], product.numbers->extents[1]});
  product.left = std::move(rows);
  return emitProduct(p, n, std::move(product), e, inOrder(p.extents({n, 0}), order));
}

}  // namespace

bool lowerAsRows(Planner& p, int n, const Window& w, const Epilogue& e) {
  auto all = [](const Extents& list, int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](int64_t x) { return x == value; });
  };
  const bool isPointwise = all(w.kernel, 1) && all(w.strides, 1) && all(w.before, 0) && all(w.after, 0) && w.group == 1;
  if (!isPointwise) return false;
  const int64_t positions = elementCount(w.y) / w.outer;
  Product product;
  product.weights = p.node(n).operands[1];
  product.right = {-1, strided({w.inner, w.outer}, {1, w.inner})};
  product.result.access = rowMajor({positions, w.outer});
  if (!endsInOurFunction(p, product, e)) return false;
  product.left = p.windowOperand(p.node(n).operands[0], w.x, channelsLast(w.x.access.extents()));
  const int64_t offset = product.left.access.offset;
  product.left.access = rowMajor({positions, w.inner});
  product.left.access.offset = offset;
  return emitProduct(p, n, std::move(product), e, w.resultForm(channelsLast(w.y)));
}

namespace {

constexpr LowerRow kMatmulRows[] = {
    {"MatMul", lowerMatMul, channelOf, true},
    {"Gemm", lowerGemm, lastDimension, true},
    {"STFT", lowerStft},
    {"DFT", lowerDft},
};

}  // namespace

std::span<const LowerRow> matmulLowerings() {
  return kMatmulRows;
}

}  // namespace pet::onednn
