// MatMul, Gemm, STFT and DFT, by cuBLASLt.

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "runtime/cuda/borders.h"
#include "runtime/cuda/fused.h"
#include "runtime/cuda/tables.h"
#include "runtime/plan/spectrum.h"

namespace pet::cuda {
namespace {

/// The elements of rows or of columns are neighbours, of which no two overlap, and no batch is filled.
bool isTakenAsItIs(const Access& access) {
  const auto strides = stridesOf(access);
  if (!strides) return false;
  const Extents extents = access.extents();
  const size_t row = extents.size() - 2, column = row + 1;
  auto liesAlong = [&](size_t inner, size_t outer) {
    return (*strides)[inner] == 1 && (extents[outer] == 1 || (*strides)[outer] >= extents[inner]);
  };
  return liesAlong(column, row) || liesAlong(row, column);
}

/// An operand as [batch, rows, columns]: its batch dimensions are those of the result, broadcast, as one.
std::optional<TensorForm> asBatch(const Access& access, const Extents& batch) {
  Extents extents = access.extents();
  const Extents matrix(extents.end() - 2, extents.end());
  Extents wanted = batch;
  wanted.insert(wanted.end(), matrix.begin(), matrix.end());
  const Access whole = broadcast(access, wanted);
  std::vector<const std::vector<int64_t>*> tables;
  for (size_t d = 0; d < batch.size(); ++d)
    tables.push_back(&whole.tables[d]);
  Access joined{access.offset, {tables.empty() ? std::vector<int64_t>{0} : merged(tables)}, 0};
  joined.tables.insert(joined.tables.end(), whole.tables.end() - 2, whole.tables.end());
  auto strides = stridesOf(joined);
  if (!strides) return std::nullopt;
  return TensorForm{joined.extents(), std::move(*strides)};
}

/// The operand where it is if strides describe its batches, else as a copy, in rows, and with its broadcasts as they
/// are, or else all of them in memory.
void place(Planner& p, Place& operand, const Extents& batch) {
  if (asBatch(operand.access, batch)) return;
  const Extents extents = operand.access.extents();
  operand = p.as(operand, inRows(extents, p.alignment()));
  if (asBatch(operand.access, batch)) return;
  Extents whole = batch;
  whole.insert(whole.end(), extents.end() - 2, extents.end());
  operand = p.as({operand.buffer, broadcast(operand.access, whole)}, inRows(whole, p.alignment()));
}

struct Product {
  Place left, right;
  Extents y;                       ///< of as many elements as the node's result
  std::vector<size_t> order = {};  ///< of the node's dimensions, that they lie in; empty: in that of the program
  std::vector<float> table = {};   ///< ProductCall::table
};

/// The result, as the program names its dimensions.
Access resultOf(const Access& there, const Extents& extents, const std::vector<size_t>& order) {
  if (order.empty()) return *reshaped(there, extents);
  Extents inOrder;
  std::vector<size_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    inOrder.push_back(extents[order[i]]);
    back[order[i]] = i;
  }
  return permuted(*reshaped(there, inOrder), back);
}

/// The operand, in a form that is taken. What is copied or constant lies in rows on borders: then a library has all of
/// its algorithms.
Place taken(Planner& p, Value v) {
  if (p.isConstant(v) && p.extents(v).back() % p.alignment() != 0) return p.rowsOf(v);
  const Place& there = p.place(v);
  return p.aligned(isTakenAsItIs(there.access) ? there : p.as(v, inRows(there.access.extents(), p.alignment())));
}

/// How a result of its own lies: in rows on borders where what reads it is a product or keeps the form for one.
Access ownForm(const Planner& p, Value result, const Extents& y) {
  static const std::set<std::string_view> kReaders{"Softmax", "MatMul"};
  const auto reader = p.onlyReader(result.node);
  const bool isRead = reader && kReaders.contains(p.node(*reader).op->name) && p.extents(result) == y;
  return isRead ? inRows(y, p.alignment()) : rowMajor(y);
}

/// One matrix for all of a batch: its rows are more rows.
void joinRows(TensorForm& left, TensorForm& right, TensorForm& y) {
  auto goesOn = [](const TensorForm& form) { return form.strides[0] == form.extents[1] * form.strides[1]; };
  if (left.extents[0] == 1 || right.strides[0] != 0 || !goesOn(left) || !goesOn(y)) return;
  for (TensorForm* form : {&left, &y}) {
    form->extents[1] *= form->extents[0];
    form->extents[0] = 1;
  }
  right.extents[0] = 1;
}

/// Where the result corrects another, if the elements of its rows are neighbours there.
std::optional<Place> correctedPlace(Planner& p, Value result, const Extents& y) {
  if (p.extents(result) != y) return std::nullopt;
  auto place = p.stridedPlace(result, p.alignment());
  const auto form = place ? asBatch(place->access, {y.begin(), y.end() - 2}) : std::nullopt;
  return form && form->strides[2] == 1 ? place : std::nullopt;
}

/// A library's call, and what of the epilogue it computes.
struct Made {
  std::unique_ptr<Call> call;
  Fused fused;
};

/// Throws NotLowered: there is no such call.
Made madeProduct(Planner& p, ProductCall call, const Epilogue& e, bool scales) {
  joinRows(call.left, call.right, call.y);
  std::string why;
  for (const Fused& fused : scales ? std::vector<Fused>{{}} : choicesOf(e)) {
    if (fused.added) continue;
    call.bias = fused.bias;
    call.activation = activationIn(fused, e);
    auto made = p.device().product(call);
    if (made) return {std::move(*made), fused};
    why = made.error().message();
  }
  throw NotLowered{why};
}

using MakeProduct = std::function<Made(const Product&)>;

/// Copies operands to rows on borders if that was timed and is faster than `made`, with the copies.
void copyToBorders(Planner& p, Product& product, const Extents& batch, Made& made, const MakeProduct& make) {
  Product copied = product;
  double seconds = 0;
  for (Place Product::*operand : {&Product::left, &Product::right}) {
    Place& there = copied.*operand;
    if (isOnBorders(there.access, p.alignment())) continue;
    there.access = inRows(there.access.extents(), p.alignment());
    seconds += copySeconds(p.device(), elementCount(there.access.extents()) * p.elementBytes());
  }
  auto isTaken = [&](const Place& operand) { return asBatch(operand.access, batch).has_value(); };
  const auto timed = made.call->timed;
  if (seconds == 0 || !timed || seconds >= *timed || !isTaken(copied.left) || !isTaken(copied.right)) return;
  Made faster = make(copied);
  if (!faster.call->timed || *faster.call->timed + seconds >= *timed) return;
  made = std::move(faster);
  for (Place Product::*operand : {&Product::left, &Product::right})
    product.*operand = p.as(product.*operand, (copied.*operand).access);
}

bool emitProduct(Planner& p, int n, Product product, const Epilogue& e) {
  const Extents batch(product.y.begin(), product.y.end() - 2);
  const bool scales = std::any_of(e.scale.begin(), e.scale.end(), [](float s) { return s != 1; });
  place(p, product.left, batch);
  place(p, product.right, batch);
  auto make = [&](const Product& of, const Access& to) {
    return madeProduct(
        p,
        {*asBatch(of.left.access, batch), *asBatch(of.right.access, batch), *asBatch(to, batch), false, {}, of.table},
        e, scales);
  };
  const Access own = ownForm(p, e.result, product.y);
  Made made = make(product, own);
  copyToBorders(p, product, batch, made, [&](const Product& of) { return make(of, own); });
  auto corrected = correctedPlace(p, e.result, product.y);
  if (corrected && p.isBetterBeside(*corrected, *made.call)) corrected.reset();
  if (corrected) made = make(product, corrected->access);
  const Fused fused = made.fused;
  const std::string name = made.call->name();
  std::vector<CallStep::Argument> arguments{
      {-1, 0}, {product.left.buffer, product.left.access.offset}, {product.right.buffer, product.right.access.offset}};
  if (fused.bias) arguments.push_back({p.constantPlace(Tensor<float>({product.y.back()}, e.shift)).buffer, 0});
  const Place result = corrected ? *corrected : p.create(own);
  arguments[0] = {result.buffer, result.access.offset};
  p.emitCall(std::move(made.call), result, std::move(arguments));
  if (scales) {
    Points points(p, result);
    const std::string x = points.add(result);
    points.emit(points.after(x, e, product.y.size() - 1));
  } else {
    emitRest(p, fused, e, result, product.y.size() - 1);
  }
  p.define(e.result, {result.buffer, resultOf(result.access, p.extents(e.result), product.order)});
  p.note(n, name);
  return true;
}

bool lowerMatMul(Planner& p, int n, const Epilogue& e) {
  const auto& operands = p.node(n).operands;
  Product product{taken(p, operands[0]), taken(p, operands[1]), p.extents({n, 0})};
  const Tensor<float>* left = p.constant(operands[0]);
  if (left && left->extents.size() == 2 && isTable(left->data, left->extents[0], left->extents[1]))
    product.table = left->data;
  return emitProduct(p, n, std::move(product), e);
}

/// y = alpha · a' b' + beta · c.
bool lowerGemm(Planner& p, int n, const Epilogue& outer) {
  const Node& node = p.node(n);
  const Extents y = p.extents({n, 0});
  const Epilogue e = gemmEpilogue(p, n, outer);
  Product product{taken(p, node.operands[0]), taken(p, node.operands[1]), y};
  if (p.scalar(n, "transA") != 0) product.left.access = swapped(product.left.access);
  if (p.scalar(n, "transB") != 0) product.right.access = swapped(product.right.access);
  return emitProduct(p, n, std::move(product), e);
}

/// Frames are copied: they overlap.
bool lowerStft(Planner& p, int n, const Epilogue& e) {
  const Tensor<float>* window = p.constant(p.node(n).operands[1]);
  if (!window) throw NotLowered{"a window that is not constant"};
  const Extents y = p.extents({n, 0});
  Place frames = framesOf(p, n);
  if (!isTakenAsItIs(frames.access)) frames = p.as(frames, rowMajor(frames.access.extents()));
  const Tensor<float> numbers = spectrumOf(*window, y[2]);
  const Place spectrum = constantRows(p, numbers, numbers.extents);
  return emitProduct(p, n, {p.aligned(frames), spectrum, {y[0], y[1], y[2] * y[3]}}, e);
}

bool lowerDft(Planner& p, int n, const Epilogue& e) {
  const Tensor<float> numbers = fourierOf(p, n);
  const Place fourier = constantRows(p, numbers, numbers.extents);
  const Signal signal = signalOf(p, n);
  const Extents y{signal.rows.access.extents()[0], numbers.extents[1]};
  return emitProduct(p, n, {p.aligned(signal.rows), fourier, y, signal.order}, e);
}

constexpr LowerRow kMatmulRows[] = {
    {"MatMul", lowerMatMul, lastDimension, true},
    {"Gemm", lowerGemm, lastDimension, true},
    {"STFT", lowerStft},
    {"DFT", lowerDft},
};

}  // namespace

std::span<const LowerRow> matmulLowerings() {
  return kMatmulRows;
}

}  // namespace pet::cuda
