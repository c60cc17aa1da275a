// Conv and ConvTranspose.

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/onednn/index_copy.h"
#include "runtime/onednn/lower_grouped.h"
#include "runtime/onednn/lower_product.h"
#include "runtime/onednn/lower_winograd.h"
#include "runtime/plan/correction.h"

namespace pet::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;
/// The kernel as oneDNN describes it, [g,] out, in, taps…, in the row-major order that ONNX has it in.
memory::desc kernelDesc(const Window& w, bool any) {
  int64_t in = w.inner / w.group, out = w.outer / w.group;
  Extents dims{out, in};
  dims.insert(dims.end(), w.kernel.begin(), w.kernel.end());
  int64_t taps = elementCount(w.kernel);
  std::vector<int64_t> strides = rowMajorStrides(dims);
  if (w.transposed) {  // ONNX: in, out, taps…
    strides[0] = taps;
    strides[1] = out * taps;
  }
  if (w.group > 1) {
    dims.insert(dims.begin(), w.group);
    strides.insert(strides.begin(), in * out * taps);
  }
  return any ? memory::desc(dims, kF32, memory::format_tag::any) : memory::desc(dims, kF32, strides);
}

/// The kernel with the epilogue's scale in it.
Tensor<float> scaled(Tensor<float> result, const Window& w, const std::vector<float>& scale) {
  const int64_t taps = elementCount(w.kernel), in = w.inner / w.group, out = w.outer / w.group;
  const int64_t length = w.transposed ? taps : taps * in;  // of neighbours of one channel
  for (int64_t run = 0; run * length < result.size(); ++run) {
    const int64_t channel = w.transposed ? run / (out * in) * out + run % out : run;
    const float factor = scale[static_cast<size_t>(channel)];
    std::for_each_n(result.data.data() + run * length, length, [&](float& x) { x *= factor; });
  }
  return result;
}

/// A window without the taps at its ends that read pads alone, wherever it stands.
struct Cut {
  Window window;
  Planner::Change change;  ///< of the kernel
};

/// The first and the last tap along a dimension that read an element somewhere; nullopt: none does.
std::optional<std::pair<int64_t, int64_t>> tapsThatRead(const Window& w, size_t d) {
  std::optional<std::pair<int64_t, int64_t>> found;
  const int64_t extent = w.x.access.extents()[2 + d], stride = w.strides[d];
  for (int64_t tap = 0; tap < w.kernel[d]; ++tap) {
    const int64_t start = tap * (w.dilations[d] + 1) - w.before[d];
    const int64_t first = start < 0 ? (-start + stride - 1) / stride : 0;  // the first position at which it is within
    if (first >= w.y[2 + d] || start + first * stride >= extent) continue;
    found = {found ? found->first : tap, tap};
  }
  return found;
}

/// Nullopt: all taps read something, or what is left would have to begin within the operand.
std::optional<Cut> withoutBlindTaps(const Window& w) {
  Window left = w;
  Extents weights{w.outer, w.inner / w.group};
  weights.insert(weights.end(), w.kernel.begin(), w.kernel.end());
  Access from = rowMajor(weights);
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    const auto taps = tapsThatRead(w, d);
    if (!taps) return std::nullopt;
    const auto [first, last] = *taps;
    left.kernel[d] = last - first + 1;
    left.before[d] -= first * (w.dilations[d] + 1);
    left.after[d] -= (w.kernel[d] - 1 - last) * (w.dilations[d] + 1);
    if (left.kernel[d] == 1) left.dilations[d] = 0;
    if (left.before[d] < 0 || left.after[d] < 0) return std::nullopt;
    std::vector<int64_t> kept(static_cast<size_t>(left.kernel[d]));
    std::iota(kept.begin(), kept.end(), first);
    from = selected(from, 2 + d, kept);
  }
  if (left.kernel == w.kernel) return std::nullopt;
  auto change = [from](const StoredFloats& kernel) {
    Tensor<float> result(from.extents());
    IndexCopy(from, rowMajor(from.extents())).run(kernel.floats(), result.data.data(), 1);
    return result;
  };
  return Cut{std::move(left), std::move(change)};
}

struct Choice {
  algorithm how;
  memory::desc x, y;
  std::optional<Place> into = {};    ///< where the result goes, in the form y; nothing: to a place of its own
  Planner::Change change = nullptr;  ///< of the kernel, so that it has the window's taps
  bool writesPads = false;           ///< x has zeros in place of the pads along its rows
};

template <class Forward>
typename Forward::primitive_desc describe(Planner& p, const Window& w, const Choice& choice, const Epilogue& e) {
  memory::desc kernel = kernelDesc(w, true), bias({w.outer}, kF32, memory::format_tag::x);
  auto attributes = attributesOf(e, nullptr);
  Extents before = w.before, after = w.after;
  if (choice.writesPads) before.back() = after.back() = 0;
  auto desc = e.shift.empty() ? typename Forward::desc(kInference, choice.how, choice.x, kernel, choice.y, w.strides,
                                                       w.dilations, before, after)
                              : typename Forward::desc(kInference, choice.how, choice.x, kernel, bias, choice.y,
                                                       w.strides, w.dilations, before, after);
  return typename Forward::primitive_desc(desc, attributes, p.engine());
}

template <class Forward>
void emitWindow(Planner& p,
                int n,
                const Window& w,
                const typename Forward::primitive_desc& how,
                const Form& from,
                const Form& to,
                const Choice& choice,
                const Epilogue& e) {
  Value operand = p.node(n).operands[0];
  Place x = choice.writesPads ? withPads(p, n, w, w.kernel.size() - 1) : p.windowOperand(operand, w.x, from.access);
  Access form = w.resultForm(to.access);
  Place y = choice.into ? *choice.into : e.sum() ? p.accumulator(*e.sum(), form, {x.buffer}) : p.create(form);
  auto step = p.primitive(Forward(how), how.scratchpad_desc());
  step->add(DNNL_ARG_SRC, from.desc, p.engine(), x.buffer, x.access.offset);
  Planner::Change change = choice.change;
  if (std::any_of(e.scale.begin(), e.scale.end(), [](float factor) { return factor != 1; })) {
    change = [w, scale = e.scale, first = choice.change](const StoredFloats& kernel) {
      return scaled(first ? first(kernel) : kernel.copy(), w, scale);
    };
  }
  p.addConstant(*step, DNNL_ARG_WEIGHTS, p.node(n).operands[1], change, kernelDesc(w, false), how.weights_desc());
  if (!e.shift.empty()) {
    Tensor<float> shift({w.outer}, e.shift);
    memory::desc desc({w.outer}, kF32, memory::format_tag::x);
    step->add(DNNL_ARG_BIAS, p.prepared(shift, desc, desc));
  }
  step->add(DNNL_ARG_DST, to.desc, p.engine(), y.buffer, y.access.offset);
  p.emit(std::move(step));
  p.define(e.result, std::move(y));
  p.note(n, how.impl_info_str() + std::string(choice.writesPads ? ", rows with their pads" : ""));
}

template <class Forward>
bool tryChoice(Planner& p, int n, const Window& w, const Choice& choice, const Epilogue& e, std::string_view wanted) {
  std::optional<typename Forward::primitive_desc> how;
  try {
    how = describe<Forward>(p, w, choice, e);
  } catch (const dnnl::error&) {
    return false;
  }
  if (!isOptimised(how->impl_info_str()) || !std::strstr(how->impl_info_str(), wanted.data())) return false;
  auto from = formOf(how->src_desc()), to = formOf(how->dst_desc());
  if (!from || !to) return false;
  emitWindow<Forward>(p, n, w, *how, *from, *to, choice, e);
  return true;
}

/// For a run or two it counts how long a primitive takes to make. Where channels are last, oneDNN 2.6 makes a kernel
/// for each length that a piece of a row may have, and in it code for each row of pads: 2 to 80 ms in all. In blocks of
/// channels it makes one; it takes up to three that are in none.
bool isQuickerMadeInBlocks(const Planner& p, const Window& w) {
  constexpr int64_t kLongRow = 192, kManyPads = 32;
  const bool isLong = w.y.back() >= kLongRow || std::max(w.before.back(), w.after.back()) >= kManyPads;
  return p.options().once && (w.inner % 16 == 0 || w.inner <= 3) && w.group == 1 && isLong &&
         elementCount(w.kernel) > 1;
}

/// Where channels are last and more positions read pads than oneDNN 2.6 computes together (six, of 64 channels; 24, of
/// 16), it computes each of them by itself, at a tenth of the speed. It copies rows with their pads where channels fill
/// registers.
std::optional<Choice> withWrittenPads(const Window& w) {
  constexpr int64_t kFew = 6;
  if (w.group != 1 || w.inner >= 16 || std::max(w.before.back(), w.after.back()) <= kFew) return std::nullopt;
  Extents x = w.x.access.extents();
  x.back() = w.reach(w.kernel.size() - 1);
  Choice choice{algorithm::convolution_direct, channelsLastForm(x).desc, channelsLastForm(w.y).desc};
  choice.writesPads = true;
  return choice;
}

/// Each channel by itself, for which oneDNN 2.6 has no kernel: of three dimensions, of taps far apart. What it takes
/// then takes 1.2 to 21 times as long as ours on a Xeon (Emerald Rapids).
bool lacksDepthwise(Planner& p, const Window& w, const Epilogue& e) {
  if (w.group == 1 || w.group != w.inner) return false;
  const Choice direct{algorithm::convolution_direct, channelsLastForm(w.x.access.extents()).desc,
                      channelsLastForm(w.y).desc};
  try {
    return !std::strstr(describe<dnnl::convolution_forward>(p, w, direct, e).impl_info_str(), "dw");
  } catch (const dnnl::error&) {
    return false;
  }
}

bool lowerConv(Planner& p, int n, const Epilogue& e) {
  if (!p.isConstant(p.node(n).operands[1])) throw NotLowered{"a kernel that is not constant"};
  Window w = windowOf(p, n, false);
  Extents x = w.x.access.extents();
  using Forward = dnnl::convolution_forward;
  auto cut = withoutBlindTaps(w);
  if (lacksDepthwise(p, cut ? cut->window : w, e) && lowerAsGrouped(p, n, w, e, true)) return true;
  if (cut) {
    const Choice direct{algorithm::convolution_direct, channelsLastForm(x).desc, channelsLastForm(w.y).desc,
                        std::nullopt, std::move(cut->change)};
    if (tryChoice<Forward>(p, n, cut->window, direct, e, "")) return true;
  }
  if (p.options().winograd && lowerAsWinograd(p, n, w, e)) return true;
  // Few channels out would fill few lanes of a register.
  bool few = w.outer <= 4 && elementCount(w.kernel) > 1;
  if (few && lowerAsProduct(p, n, w, e)) return true;
  // Where the operand comes in blocks, the result is in blocks, too. (Those of single positions have channels last.)
  const bool inBlocks = w.inner % 16 == 0 && sameForm(w.x.access, channelsBlocked(x, 16));
  if (w.outer % 16 == 0 && ((inBlocks && !sameForm(w.x.access, channelsLast(x))) || isQuickerMadeInBlocks(p, w))) {
    auto desc = [](const Extents& extents) { return *descOf(channelsBlocked(extents, 16)); };
    const memory::desc from = w.inner % 16 == 0 ? desc(x) : rowMajorForm(x).desc;
    if (tryChoice<Forward>(p, n, w, {algorithm::convolution_direct, from, desc(w.y)}, e, "jit")) return true;
  }
  if (auto corrected = e.sum() ? std::nullopt : correctionPlace(p, e.result)) {
    const auto y = descOf(w.callForm(corrected->access));
    if (y && tryChoice<Forward>(
                 p, n, w, {algorithm::convolution_direct, channelsLastForm(x).desc, *y, std::move(corrected)}, e, ""))
      return true;
  }
  if (lowerAsGrouped(p, n, w, e, false)) return true;
  for (auto* lowerAs : {lowerAsProductOfWindows, lowerAsRows}) {
    if (lowerAs(p, n, w, e)) return true;
  }
  const auto written = withWrittenPads(w);
  if (written && tryChoice<Forward>(p, n, w, *written, e, "")) return true;
  Choice direct{algorithm::convolution_direct, channelsLastForm(x).desc, channelsLastForm(w.y).desc};
  if (tryChoice<Forward>(p, n, w, direct, e, "")) return true;
  if (e.isEmpty()) throw NotLowered{"no primitive takes it"};
  return false;
}

bool lowerConvTranspose(Planner& p, int n, const Epilogue& e) {
  if (!p.isConstant(p.node(n).operands[1])) throw NotLowered{"a kernel that is not constant"};
  Window w = windowOf(p, n, true);
  Extents x = w.x.access.extents();
  using Forward = dnnl::deconvolution_forward;
  // oneDNN computes strided ones as gradients, at a fraction of the speed of a product.
  auto is = [](const Extents& list, int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](int64_t i) { return i == value; });
  };
  bool spread = !is(w.strides, 1) || is({x.begin() + 2, x.end()}, 1);
  if (spread && lowerAsProduct(p, n, w, e)) return true;
  Choice any{algorithm::deconvolution_direct, anyForm(x), anyForm(w.y)};
  Choice last{algorithm::deconvolution_direct, channelsLastForm(x).desc, channelsLastForm(w.y).desc};
  if (tryChoice<Forward>(p, n, w, any, e, "") || tryChoice<Forward>(p, n, w, last, e, "")) return true;
  if (e.isEmpty()) throw NotLowered{"no primitive takes it"};
  return false;
}

constexpr LowerRow kConvRows[] = {
    {"Conv", lowerConv, channelDimension, true},
    {"ConvTranspose", lowerConvTranspose, channelDimension, true},
};

}  // namespace

std::span<const LowerRow> convLowerings() {
  return kConvRows;
}

}  // namespace pet::onednn
