// Products of rows by what stands on the right: in bands, by a kernel of ours for few rows, with functions behind them.

#include "runtime/onednn/emit_product.h"

#include <algorithm>
#include <numeric>

#include "runtime/onednn/element_program.h"
#include "runtime/onednn/few_rows.h"

namespace pet::onednn {
namespace {

using dnnl::memory;

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
  const auto behind = behindOf(e);
  if (!behind) return false;
  const FewRows kernel{.rows = result[rank - 2],
                       .terms = product.left.access.extents().back(),
                       .columns = result.back(),
                       .rowStep = left ? (*left)[rank - 2] : 0,
                       .adds = e.sum() != nullptr,
                       .bounds = behind->bounds};
  const bool isOne = elementCount(result) == kernel.rows * kernel.columns;  // product
  if (p.options().once || !product.isFixed() || !isOne || !left || left->back() != 1 || !right) return false;
  if (kernel.rows > FewRows::kMost || kernel.columns < FewRows::kPanel) return false;
  constexpr int64_t kMany = 1 << 18;  // of weights, which the second-level cache does not hold beside others
  const bool isForMore = kernel.terms * kernel.columns >= kMany && hasIsa(dnnl::cpu_isa::avx512_core);  // registers
  if (kernel.rows > 1 && !isForMore) return false;
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
  for (const Activation& function : behind->functions)
    emitFunction(p, function, results, results);
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

}  // namespace

bool isTakenAsItIs(const Access& access) {
  auto strides = stridesOf(access);
  if (!strides || !descOf(access)) return false;
  size_t r = strides->size();
  return (*strides)[r - 1] == 1 || (*strides)[r - 2] == 1;
}

std::optional<std::string> kernelsFor(Planner& p, const Product& product, const Epilogue& e, int64_t rows) {
  const auto how = RowProducts(p, product, e).describeFirst(rows);
  if (!isOptimised(how.impl_info_str()) || isByGeneralKernels(how)) return std::nullopt;
  return how.impl_info_str();
}

bool endsInOurFunction(const Planner& p, const Product& product, Epilogue e) {
  return takeFunction(p, product, e).function.has_value();
}

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

}  // namespace pet::onednn
