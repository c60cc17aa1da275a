// MatMul and Gemm: y = a b, batched, either operand transposed by its strides; STFT and DFT as products of frames.

#include <algorithm>
#include <numeric>

#include "runtime/onednn/element_program.h"
#include "runtime/onednn/few_rows.h"
#include "runtime/onednn/lower_product.h"
#include "runtime/plan/spectrum.h"

namespace pet::onednn {
namespace {

using dnnl::memory;
/// y[…, m, n] = Σ_k left[…, m, k] · right[…, k, n]; what is prepared once stands on the right.
struct Product {
  Place left, right, result;     ///< result: only the form counts
  std::optional<Value> weights;  ///< the right operand, where it is constant; `right` says how it is read
  Planner::Change change;        ///< what is made of its numbers first
  /// The right operand, where the program does not have it.
  std::optional<Tensor<float>> numbers = {};

  bool isFixed() const { return weights || numbers; }
};

/// Rows or columns are contiguous, and oneDNN can say it.
bool isTakenAsItIs(const Access& access) {
  auto strides = stridesOf(access);
  if (!strides || !descOf(access)) return false;
  size_t r = strides->size();
  return (*strides)[r - 1] == 1 || (*strides)[r - 2] == 1;
}

/// The operand in a form that is taken, with dimensions of extent 1 in front.
Place taken(Planner& p, Value v, size_t rank) {
  Place there = p.place(v);
  if (!isTakenAsItIs(there.access)) there = p.as(v, rowMajor(there.access.extents()));
  Extents extents = there.access.extents();
  extents.insert(extents.begin(), rank - extents.size(), 1);
  there.access = *reshaped(there.access, extents);
  return there;
}

/// Joins batch dimensions i and i + 1 of all three, where that changes none of them. One of extent 1 in the right
/// operand joins the rows.
bool joinOnce(Product& product) {
  size_t batch = product.result.access.rank() - 2;
  Access* all[] = {&product.left.access, &product.right.access, &product.result.access};
  for (size_t i = 0; i + 1 < batch + 1; ++i) {
    bool rows = i + 1 == batch;  // the last batch dimension with the rows of left and result
    if (rows && product.right.access.tables[i].size() != 1) return false;
    if (rows && product.left.access.tables[i].size() != product.result.access.tables[i].size()) return false;
    std::vector<std::vector<int64_t>> joined;
    bool fits = true;
    for (Access* a : all) {
      bool drops = rows && a == &product.right.access;
      joined.push_back(drops ? a->tables[i] : merged({&a->tables[i], &a->tables[i + 1]}));
      Access only{0, {joined.back()}, 0};
      fits &= drops || stridesOf(only).has_value();
    }
    if (!rows) {
      auto same = [&](const Access* a, const Access* b) {
        return a->tables[i].size() == b->tables[i].size() && a->tables[i + 1].size() == b->tables[i + 1].size();
      };
      fits &= same(all[0], all[1]) && same(all[0], all[2]);
    }
    if (!fits) continue;
    for (size_t k = 0; k < 3; ++k) {
      auto at = all[k]->tables.begin() + static_cast<std::ptrdiff_t>(i);
      if (rows && k == 1) {
        all[k]->tables.erase(at);
      } else {
        *at = joined[k];
        all[k]->tables.erase(at + 1);
      }
    }
    return true;
  }
  return false;
}

/// The weights with the epilogue's scale in their columns.
Tensor<float> scaled(Tensor<float> result, const Access& access, const std::vector<float>& scale) {
  Access rows = access;
  const auto columns = access.tables.back();
  rows.tables.pop_back();
  std::vector<const std::vector<int64_t>*> tables;
  for (const auto& t : rows.tables)
    tables.push_back(&t);
  for (int64_t row : merged(tables)) {
    for (size_t n = 0; n < columns.size(); ++n)
      result.data[static_cast<size_t>(access.offset + row + columns[n])] *= scale[n];
  }
  return result;
}

/// What an epilogue is once the scale is where it can be: in the weights, or in front of everything else, if it is the
/// same for all. False: it can be in neither.
bool settleScale(Product& product, Epilogue& e) {
  bool uniform = std::all_of(e.scale.begin(), e.scale.end(), [&](float s) { return s == e.scale[0]; });
  if (e.scale.empty() || (uniform && e.scale[0] == 1)) return true;
  if (product.weights) {
    product.change = [access = product.right.access, scale = e.scale](const StoredFloats& weights) {
      return scaled(weights.copy(), access, scale);
    };
    return true;
  }
  if (!uniform || e.scale[0] == 0) return false;
  for (float& s : e.shift)
    s /= e.scale[0];
  e.post.insert(e.post.begin(), Activation{Function::kLinear, e.scale[0], 0});
  return true;
}

bool isZero(const std::vector<float>& list) {
  return std::all_of(list.begin(), list.end(), [](float x) { return x == 0; });
}

/// A function at the end of an epilogue that a kernel of ours computes faster, if it finds the result in the
/// second-level cache: that of a small product, or of one in bands of rows, for each of which the weights are read
/// again.
struct Bands {
  std::optional<Activation> function;  ///< taken off the epilogue; nothing: oneDNN does all
  int64_t count = 1;
};
Bands takeFunction(const Planner& p, const Product& product, Epilogue& e) {
  constexpr int64_t kBand = 1 << 17, kSmall = 1 << 18;
  const auto* last = e.post.empty() ? nullptr : std::get_if<Activation>(&e.post.back());
  const auto op = last ? elementOp(*last) : std::nullopt;
  if (!op || !isTranscendental(*op) || !product.weights || p.options().once) return {};
  const int64_t elements = elementCount(product.result.access.extents());
  const bool inBands = product.result.access.rank() == 2 && elementCount(product.right.access.extents()) <= kBand;
  if (elements > kSmall && !inBands) return {};
  const int64_t count = inBands ? std::min(product.result.access.extents()[0], (elements + kBand - 1) / kBand) : 1;
  const Bands bands{*last, count};
  e.post.pop_back();
  return bands;
}

/// The weights in the form that a primitive wants.
FixedMemory weightsOf(Planner& p, const Product& product, const memory::desc& from, const memory::desc& to) {
  if (product.numbers) return p.prepared(*product.numbers, from, to);
  if (!product.change) return p.shared(*product.weights, from, to, true);
  const Tensor<float>& numbers = *p.constant(*product.weights);
  return p.prepared(product.change({numbers.extents, numbers.data.data(), nullptr}), from, to);
}

/// Of few rows by weights: a kernel of ours, as fast as these are read. False: it is no such product.
bool emitFewRows(Planner& p, int n, const Product& product, const Epilogue& e, const Access& form) {
  const Extents result = product.result.access.extents();
  const auto left = stridesOf(product.left.access), right = stridesOf(product.right.access);
  const size_t rank = result.size();
  FewRows kernel{.rows = result[rank - 2],
                 .terms = product.left.access.extents().back(),
                 .columns = result.back(),
                 .rowStep = left ? (*left)[rank - 2] : 0,
                 .adds = e.sum() != nullptr};
  const bool isOne = elementCount(result) == kernel.rows * kernel.columns;  // product
  if (p.options().once || !product.isFixed() || !isOne || !left || left->back() != 1 || !right) return false;
  if (kernel.rows > FewRows::kMost || kernel.columns < FewRows::kPanel) return false;
  constexpr int64_t kMany = 1 << 18;  // of weights, which the second-level cache does not hold beside others
  const bool isForMore = kernel.terms * kernel.columns >= kMany && hasIsa(dnnl::cpu_isa::avx512_core);  // registers
  if (kernel.rows > 1 && !isForMore) return false;
  size_t next = kernel.adds ? 1 : 0;
  auto isFunction = [](const auto& post) { return std::holds_alternative<Activation>(post); };
  const auto functions = e.post.begin() + static_cast<std::ptrdiff_t>(next);
  if ((kernel.adds && isFunction(e.post[0])) || !std::all_of(functions, e.post.end(), isFunction)) return false;
  if ((kernel.rectify = isRelu(e, next))) ++next;
  const memory::dims dims{kernel.terms, kernel.columns};
  const memory::desc from(dims, kF32, memory::dims{(*right)[rank - 2], (*right)[rank - 1]});
  FixedMemory weights = weightsOf(p, product, from, {dims, kF32, memory::format_tag::BA16a64b});
  Place y = kernel.adds ? p.accumulator(*e.sum(), form, {product.left.buffer}) : p.create(form);
  p.emit(std::make_unique<KernelStep>(
      std::vector{product.left.buffer, y.buffer},
      [kernel, weights = std::move(weights), bias = e.shift, x = product.left.access.offset, to = y.access.offset,
       threads = p.options().threads](float* const* q) {
        const auto* panels = static_cast<const float*>(weights.memory.get_data_handle());
        kernel.run(q[0] + x, panels, bias.empty() ? nullptr : bias.data(), q[1] + to, threads);
      }));
  Place results{y.buffer, rowMajor({elementCount(result)})};
  results.access.offset = y.access.offset;
  for (; next < e.post.size(); ++next)
    emitFunction(p, std::get<Activation>(e.post[next]), results, results);
  p.define(e.result, std::move(y));
  p.note(n, "a kernel of our own, of few rows");
  return true;
}

/// Some rows of a matrix, or the last ones of several.
Access rowsOf(const Access& access, int64_t first, int64_t end) {
  if (first == 0 && end == access.extents()[access.rank() - 2]) return access;
  std::vector<int64_t> rows(static_cast<size_t>(end - first));
  std::iota(rows.begin(), rows.end(), first);
  return selected(access, access.rank() - 2, rows);
}

/// oneDNN 2.6 has two ways to multiply: kernels for these extents, and general ones, which take 30 to 60 ms to make
/// when the first product asks for them.
bool isByGeneralKernels(const dnnl::matmul::primitive_desc& how) {
  return std::string_view(how.impl_info_str()).starts_with("gemm");
}

/// The primitives of a product, for all rows or for bands of them.
class RowProducts {
 public:
  RowProducts(Planner& p, const Product& product, const Epilogue& e)
      : p_(p), product_(product), e_(e), shifts_(!e.shift.empty() && !isZero(e.shift)) {
    auto right = descOf(product.right.access);
    if (!descOf(product.left.access) || !right || !descOf(product.result.access))
      throw NotLowered{"strides that oneDNN does not take"};
    right_ = *right;
    Extents dims(product.result.access.rank(), 1);
    dims.back() = product.result.access.extents().back();
    bias_ = memory::desc(dims, kF32, rowMajorStrides(dims));
  }

  int64_t rows() const { return product_.result.access.extents()[product_.result.access.rank() - 2]; }
  const memory::desc& right() const { return right_; }
  dnnl::matmul::primitive_desc describe(int64_t first, int64_t end, const memory::desc& weights) const {
    const auto left = *descOf(rowsOf(product_.left.access, first, end)),
               result = *descOf(rowsOf(product_.result.access, first, end));
    auto desc = shifts_ ? dnnl::matmul::desc(left, weights, bias_, result) : dnnl::matmul::desc(left, weights, result);
    return dnnl::matmul::primitive_desc(desc, attributesOf(e_, nullptr), p_.engine());
  }
  /// The first `count` rows, in the form that is best for weights.
  dnnl::matmul::primitive_desc describeFirst(int64_t count) const {
    memory::desc any = anyForm(product_.right.access.extents());
    auto how = describe(0, count, product_.isFixed() && !p_.options().once ? any : right_);
    if (product_.isFixed() && (!isOptimised(how.impl_info_str()) || isByGeneralKernels(how)))
      how = describe(0, count, any);
    return how;
  }
  /// `weights`: they are prepared, and others need them, too.
  void emit(const dnnl::matmul::primitive_desc& how,
            int64_t first,
            int64_t end,
            const std::optional<FixedMemory>& weights,
            const Place& y) const {
    const Access from = rowsOf(product_.left.access, first, end), to = rowsOf(product_.result.access, first, end);
    auto step = p_.primitive(dnnl::matmul(how), how.scratchpad_desc());
    step->add(DNNL_ARG_SRC, *descOf(from), p_.engine(), product_.left.buffer, from.offset);
    if (weights) {
      step->add(DNNL_ARG_WEIGHTS, *weights);
    } else if (product_.weights) {
      p_.addConstant(*step, DNNL_ARG_WEIGHTS, *product_.weights, product_.change, right_, how.weights_desc());
    } else {
      step->add(DNNL_ARG_WEIGHTS, right_, p_.engine(), product_.right.buffer, product_.right.access.offset);
    }
    if (shifts_) step->add(DNNL_ARG_BIAS, p_.prepared(Tensor<float>({bias_.dims().back()}, e_.shift), bias_, bias_));
    step->add(DNNL_ARG_DST, *descOf(to), p_.engine(), y.buffer, y.access.offset + to.offset);
    p_.emit(std::move(step));
  }
  /// Where these rows of the result are, one after another.
  Place resultsOf(int64_t first, int64_t end, const Place& y) const {
    const Access rows = rowsOf(product_.result.access, first, end);
    Place results{y.buffer, rowMajor({elementCount(rows.extents())})};
    results.access.offset = y.access.offset + rows.offset;
    return results;
  }

 private:
  Planner& p_;
  const Product& product_;
  const Epilogue& e_;
  bool shifts_;
  memory::desc right_, bias_;
};

/// Copies operands where in the order of their dimensions they are multiplied by kernels for these extents. False: they
/// are not.
bool avoidGeneralKernels(Planner& p, const Epilogue& e, Product& product) {
  Product dense = product;
  dense.left.access = rowMajor(product.left.access.extents());
  if (!product.isFixed()) dense.right.access = rowMajor(product.right.access.extents());
  const RowProducts products(p, dense, e);
  if (isByGeneralKernels(products.describeFirst(products.rows()))) return false;
  product.left = p.as(product.left, dense.left.access);
  if (!product.isFixed()) product.right = p.as(product.right, dense.right.access);
  return true;
}

/// Emits the product; its result lies as `product.result` says. `form`: the same memory with the dimensions in the
/// order that the program calls the result by.
bool emitProduct(Planner& p, int n, Product product, Epilogue e, const Access& form) {
  if (!settleScale(product, e)) return false;
  while (joinOnce(product)) {
  }
  if (emitFewRows(p, n, product, e, form)) return true;
  const Bands bands = takeFunction(p, product, e);
  std::optional<RowProducts> products(std::in_place, p, product, e);
  const int64_t rows = products->rows(), inBand = (rows + bands.count - 1) / bands.count;
  auto how = products->describeFirst(inBand);
  if (p.options().once && isByGeneralKernels(how) && avoidGeneralKernels(p, e, product)) {
    products.emplace(p, product, e);
    how = products->describeFirst(inBand);
  }
  if (!isOptimised(how.impl_info_str())) {
    if (e.isEmpty()) throw NotLowered{"no primitive takes it"};
    return false;
  }
  std::vector<int> busy{product.left.buffer};
  if (!product.isFixed()) busy.push_back(product.right.buffer);
  Place y = e.sum() ? p.accumulator(*e.sum(), form, busy) : p.create(form);
  std::optional<FixedMemory> weights;
  if (bands.function || product.numbers) weights = weightsOf(p, product, products->right(), how.weights_desc());
  for (int64_t first = 0; first < rows; first += inBand) {
    const int64_t end = std::min(rows, first + inBand);
    const auto band = end - first == inBand ? how : products->describe(first, end, how.weights_desc());
    if (!isOptimised(band.impl_info_str())) return false;
    products->emit(band, first, end, weights, y);
    if (!bands.function) continue;
    const Place results = products->resultsOf(first, end, y);
    emitFunction(p, *bands.function, results, results);
  }
  p.define(e.result, std::move(y));
  p.note(n, std::string(how.impl_info_str()) + (bands.function ? ", and a kernel of our own" : ""));
  return true;
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
  const auto how = RowProducts(p, product, e).describeFirst(inBlock);
  if (!isOptimised(how.impl_info_str()) || isByGeneralKernels(how) || !emitProduct(p, n, product, e, form))
    return false;
  p.note(n, std::string(how.impl_info_str()) + ", across blocks");
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
  Epilogue rest = e;
  if (!takeFunction(p, product, rest).function) return false;
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
