// Conv and ConvTranspose (in ONNX with a bias as third operand), Col2Im, MatMul, Gemm, OffsetReduce.

#include <algorithm>

#include "applier/operators/onnx_rows.h"
#include "applier/operators/read_window.h"
#include "ir/ops/pads.h"

namespace pet {
namespace {

// --- Conv, ConvTranspose ---

/// The number of spatial dimensions of images and kernels.
size_t spatialOf(const Lifting& l, Value x, Value w) {
  if (l.rank(x) < 3 || l.rank(w) != l.rank(x)) Lifting::refuse("operands are not images and kernels of one rank");
  return l.rank(x) - 2;
}

Attributes readKernel(const Lifting& l, const OnnxRow& row, Value x, Value w, Attributes known = {}) {
  Attributes attributes = readWindow(l, row, x, std::move(known));
  Extents kernel = l.extents(w);
  kernel.erase(kernel.begin(), kernel.begin() + 2);
  if (auto shape = l.integers("kernel_shape"); shape && *shape != kernel)
    Lifting::refuse("kernel_shape is not the kernel's");
  const auto& pads = windowList(attributes, "pads");
  if (pads.size() != 2 * kernel.size()) Lifting::refuse("pads of the wrong length");
  if (std::any_of(pads.begin(), pads.end(), [](const Expr& p) { return p.constant() < 0; }))
    Lifting::refuse("negative pads");
  return attributes;
}

/// Adds the bias [F] of operand 2 to [N, F, …].
Value withBias(const Lifting& l, Value y) {
  if (!l.has(2)) return y;
  Value bias = l.operand(2);
  Shape channels = l.shape(bias);
  if (channels.size() != 1 || channels[0] != l.shape(y)[1]) Lifting::refuse("a bias that is not one value per channel");
  channels.resize(l.rank(y) - 1, 1);
  return l.add("Add", {y, l.reshape(bias, channels)});
}

std::vector<Value> readConv(const Lifting& l, const OnnxRow& row) {
  Value x = l.operand(0), w = l.operand(1);
  spatialOf(l, x, w);
  return {withBias(l, l.add("Conv", {x, w}, readKernel(l, row, x, w)))};
}

/// Pads are zero points, hence 0.
std::vector<Value> readConvInteger(const Lifting& l, const OnnxRow& row) {
  spatialOf(l, l.operand(0), l.operand(1));
  Value x = l.centred(0, 2, 1), w = l.centred(1, 3, 0);
  return {l.add("Conv", {x, w}, readKernel(l, row, x, w))};
}

/// Where auto_pad or output_shape leave one pad more at one side, engines disagree on which.
void refuseOddPads(std::span<const Shape> operands, Attributes attributes) {
  if (auto ok = resolvePads(operands, attributes); !ok) Lifting::refuse(ok.error().what);
  const auto& pads = std::get<std::vector<Expr>>(attributes.find("pads")->second);
  for (size_t d = 0; d < pads.size() / 2; ++d) {
    if (pads[d] != pads[pads.size() / 2 + d]) Lifting::refuse("output_shape or auto_pad with an odd padding");
    if (pads[d].constant() < 0) Lifting::refuse("negative pads");
  }
}

/// An output_padding that ONNX admits is as many pads less behind, as far as there are some.
void foldOutputPadding(Attributes& attributes) {
  const auto& strides = windowList(attributes, "strides");
  const auto& dilations = windowList(attributes, "dilations");
  auto& more = std::get<std::vector<Expr>>(attributes.find("output_padding")->second);
  auto& pads = std::get<std::vector<Expr>>(attributes.find("pads")->second);
  for (size_t d = 0; d < more.size(); ++d) {
    const int64_t extra = more[d].constant();
    if (extra < 0 || extra >= std::max(strides[d].constant(), dilations[d].constant())) continue;
    Expr& behind = pads[more.size() + d];
    const int64_t both = std::min(behind.constant(), extra);
    behind = behind - both;
    more[d] = more[d] - both;
  }
}

std::vector<Value> readConvTranspose(const Lifting& l, const OnnxRow& row) {
  Value x = l.operand(0), w = l.operand(1);
  const size_t spatial = spatialOf(l, x, w);
  Attributes known;
  if (auto shape = l.integers("output_shape")) {
    if (shape->size() < spatial) Lifting::refuse("output_shape of the wrong length");
    shape->erase(shape->begin(), shape->end() - static_cast<std::ptrdiff_t>(spatial));
    known.emplace("output_shape", exprs(*shape));
    known.emplace("auto_pad", autoPad(l));
    known.emplace("pads", std::vector<Expr>(2 * spatial, Expr(0)));
  }
  Attributes attributes = readKernel(l, row, x, w, std::move(known));
  if (windowList(attributes, "output_padding").size() != spatial) Lifting::refuse("output_padding of the wrong length");
  foldOutputPadding(attributes);
  if (attributes.contains("auto_pad")) {
    attributes.emplace("output_shape", std::vector<Expr>{});
    refuseOddPads(std::vector{l.shape(x), l.shape(w)}, attributes);
  }
  return {withBias(l, l.add("ConvTranspose", {x, w}, std::move(attributes)))};
}

void writeKernel(const Emission& e, const OnnxRow& row) {
  OnnxForm form = formOf(e, row, e.operands(), e.node().attributes);
  Extents w = e.extents(1);
  form.attributes.emplace("kernel_shape", std::vector<int64_t>(w.begin() + 2, w.end()));
  e.last(row.type, form.operands, form.attributes);
}

// --- MatMul, Gemm ---

std::vector<Value> product(const Lifting& l, Value a, Value b) {
  const Shape ea = l.shape(a), eb = l.shape(b);
  if (ea.empty() || eb.empty()) Lifting::refuse("a scalar operand");
  if (ea.size() == 1) a = l.reshape(a, Shape{1, ea[0]});
  if (eb.size() == 1) b = l.reshape(b, Shape{eb[0], 1});
  Value y = l.add("MatMul", {a, b});
  if (ea.size() > 1 && eb.size() > 1) return {y};
  Shape out = l.shape(y);  // the added dimensions go again
  if (eb.size() == 1) out.pop_back();
  if (ea.size() == 1) out.erase(out.end() - (eb.size() == 1 ? 1 : 2));
  return {l.reshape(y, out)};
}

std::vector<Value> readMatMul(const Lifting& l, const OnnxRow&) {
  return product(l, l.operand(0), l.operand(1));
}

std::vector<Value> readMatMulInteger(const Lifting& l, const OnnxRow&) {
  const size_t a = l.rank(l.operand(0)), b = l.rank(l.operand(1));
  return product(l, l.centred(0, 2, a < 2 ? 0 : a - 2), l.centred(1, 3, b < 1 ? 0 : b - 1));
}

void needsThird(const Emission& e) {
  if (e.operands().size() < 3) e.require(11, "Gemm without a third operand");
}

// --- OffsetReduce ---

// y[n,f,v] = Σ_k t[n,(f k), v·stride + k·dilation - pad]: pad once, then one slice per tap k, added one after
// the other (ONNX Runtime takes longer for Sum).
void writeOffsetReduce(const Emission& e, const OnnxRow&) {
  const Shape &t = e.shape(0), &y = e.outputShape();
  size_t spatial = t.size() - 2;
  auto kernel = e.list("kernel_shape"), strides = e.list("strides"), dilations = e.list("dilations"),
       pads = e.list("pads");
  int64_t taps = elementCount(kernel);
  // Rank grows by one: [N, F, taps, H, W, …].
  Shape split{t[0], y[1], taps};
  split.insert(split.end(), t.begin() + 2, t.end());
  std::vector<int64_t> allPads(2 * split.size(), 0);
  for (size_t d = 0; d < spatial; ++d) {
    allPads[3 + d] = pads[d];
    allPads[split.size() + 3 + d] = pads[spatial + d];
  }
  Shape padded = split;
  for (size_t d = 0; d < spatial; ++d) {
    int64_t more = pads[d] + pads[spatial + d];
    if (more == 0) continue;
    if (!t[2 + d].isAffine()) throw NotEmitted{"a Pad of a product of extents"};
    padded[3 + d] = Dim(t[2 + d].affine() + more);
  }
  std::string x = e.pad(e.reshape(e.operand(0), t, split), allPads, 0, "constant");

  std::string sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    std::vector<Emission::Range> ranges{{0, std::nullopt, 1}, {0, std::nullopt, 1}, {tap, tap + 1, 1}};
    int64_t rest = tap;
    std::vector<int64_t> k(spatial);
    for (size_t d = spatial; d-- > 0;) {
      k[d] = rest % kernel[d];
      rest /= kernel[d];
    }
    for (size_t d = 0; d < spatial; ++d) {
      int64_t start = k[d] * dilations[d];
      auto rows = y[2 + d].asConstant();
      // Without a number, from the end: what is behind the last position, of this tap.
      if (!rows && strides[d] != 1) throw NotEmitted{"the end of a Slice would depend on the sizes left open"};
      int64_t behind = (kernel[d] - 1 - k[d]) * dilations[d];
      auto end = rows        ? std::optional(start + (*rows - 1) * strides[d] + 1)
               : behind == 0 ? std::nullopt
                             : std::optional(-behind);
      ranges.push_back({start, end, strides[d]});
    }
    std::string slice = e.slice(x, padded, ranges);
    sum = sum.empty() ? slice : e.step("Add", {sum, slice});
  }
  Shape summed{y[0], y[1], 1};
  summed.insert(summed.end(), y.begin() + 2, y.end());
  e.reshape(sum, summed, y, true);
}

const OnnxRow kOnnxConvRows[] = {
    {.op = "Conv", .read = readConv, .write = writeKernel, .takesBias = true},
    {.op = "ConvTranspose", .read = readConvTranspose, .write = writeKernel, .takesBias = true},
    {.op = "Conv",
     .type = "ConvInteger",
     .since = 10,
     .read = readConvInteger,
     .write = writeKernel,
     .ofIntegers = true},
    {.op = "MatMul", .read = readMatMul},
    {.op = "MatMul", .type = "MatMulInteger", .since = 10, .read = readMatMulInteger, .ofIntegers = true},
    {.op = "Gemm", .writable = needsThird},
    {.op = "OffsetReduce", .since = 6, .read = nullptr, .write = writeOffsetReduce},
};

}  // namespace

std::span<const OnnxRow> onnxConvRows() {
  return kOnnxConvRows;
}

}  // namespace pet
