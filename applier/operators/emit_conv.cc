// Conv, ConvTranspose (with a bias as third operand), MatMul, OffsetReduce, Col2Im.

#include "applier/operators/emission.h"

namespace pet {
namespace {

Emission::OnnxAttributes windowAttributes(const Emission& e) {
  Extents w = e.extents(1);
  return {{"kernel_shape", std::vector<int64_t>(w.begin() + 2, w.end())},
          {"strides", e.list("strides")},
          {"dilations", e.list("dilations")},
          {"pads", e.list("pads")},
          {"group", e.scalar("group")}};
}

void emitConv(const Emission& e) {
  e.last("Conv", e.operands(), windowAttributes(e));
}

void emitConvTranspose(const Emission& e) {
  auto attributes = windowAttributes(e);
  attributes.emplace("output_padding", e.list("output_padding"));
  e.last("ConvTranspose", e.operands(), std::move(attributes));
}

void emitMatMul(const Emission& e) {
  e.last("MatMul", e.operands());
}

// y[n,f,v] = Σ_k t[n,(f k), v·stride + k·dilation - pad]: pad once, then one slice per tap k, added one after
// the other (ONNX Runtime takes longer for Sum).
void emitOffsetReduce(const Emission& e) {
  Extents t = e.extents(0), y = e.outputExtents();
  size_t spatial = t.size() - 2;
  auto kernel = e.list("kernel_shape"), strides = e.list("strides"), dilations = e.list("dilations"),
       pads = e.list("pads");
  int64_t taps = elementCount(kernel);
  // Rank grows by one: [N, F, taps, H, W, …].
  Extents split{t[0], y[1], taps};
  split.insert(split.end(), t.begin() + 2, t.end());
  std::vector<int64_t> allPads(2 * split.size(), 0);
  for (size_t d = 0; d < spatial; ++d) {
    allPads[3 + d] = pads[d];
    allPads[split.size() + 3 + d] = pads[spatial + d];
  }
  Extents padded = split;
  for (size_t d = 0; d < spatial; ++d)
    padded[3 + d] += pads[d] + pads[spatial + d];
  std::string x = e.pad(e.reshape(e.operand(0), t, split), allPads, 0, "constant");

  std::string sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    std::vector<Emission::Range> ranges{{0, padded[0], 1}, {0, padded[1], 1}, {tap, tap + 1, 1}};
    int64_t rest = tap;
    std::vector<int64_t> k(spatial);
    for (size_t d = spatial; d-- > 0;) {
      k[d] = rest % kernel[d];
      rest /= kernel[d];
    }
    for (size_t d = 0; d < spatial; ++d) {
      int64_t start = k[d] * dilations[d];
      ranges.push_back({start, start + (y[2 + d] - 1) * strides[d] + 1, strides[d]});
    }
    std::string slice = e.slice(x, padded, ranges);
    sum = sum.empty() ? slice : e.step("Add", {sum, slice});
  }
  Extents summed{y[0], y[1], 1};
  summed.insert(summed.end(), y.begin() + 2, y.end());
  e.reshape(sum, summed, y, true);
}

void emitCol2Im(const Emission& e) {
  Emission::OnnxAttributes attributes;
  for (std::string_view name : {"strides", "dilations", "pads"}) {
    if (auto list = e.list(name); !list.empty()) attributes.emplace(name, list);
  }
  e.last("Col2Im",
         {e.operand(0), e.integers("image_shape", e.list("image_shape")),
          e.integers("block_shape", e.list("block_shape"))},
         attributes);
}

constexpr EmitRow kEmitConvRows[] = {
    {"Conv", 1, emitConv},      {"ConvTranspose", 1, emitConvTranspose},
    {"MatMul", 1, emitMatMul},  {"OffsetReduce", 6, emitOffsetReduce},
    {"Col2Im", 18, emitCol2Im},
};

}  // namespace

std::span<const EmitRow> emitConvRows() {
  return kEmitConvRows;
}

}  // namespace pet
