#include "runtime/onednn/byte_engine.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/tensor.h"
#include "runtime/onednn/form.h"
#include "runtime/onednn/threads.h"

namespace pet {
namespace onednn {
namespace {

using dnnl::memory;
using Type = memory::data_type;

bool isExact() {
  return hasIsa(dnnl::cpu_isa::avx512_core_vnni) || hasIsa(dnnl::cpu_isa::avx2_vnni);
}

memory::desc channelsLastBytes(const Extents& extents) {
  using Tag = memory::format_tag;
  const Tag tags[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  return {extents, Type::u8, tags[extents.size() - 3]};
}

memory::desc byteWeights(const ByteConvolution& c, bool any) {
  Extents dims{c.y[1] / c.group, c.x[1] / c.group};
  dims.insert(dims.end(), c.kernel.begin(), c.kernel.end());
  if (c.group > 1) dims.insert(dims.begin(), c.group);
  return any ? memory::desc(dims, Type::s8, memory::format_tag::any)
             : memory::desc(dims, Type::s8, rowMajorStrides(dims));
}

bool isPadded(const ByteConvolution& c) {
  auto some = [](const Extents& pads) {
    return std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p != 0; });
  };
  return some(c.before) || some(c.after);
}

/// The bias with what zeroX adds to each sum, if no sum has a position outside: Σ w (x - z) = Σ w x - z Σ w.
std::vector<float> shiftedBias(const ByteConvolution& c) {
  std::vector<float> bias = c.bias;
  const auto count = std::ssize(c.weights) / std::ssize(bias);
  for (size_t f = 0; f < bias.size(); ++f) {
    const auto from = c.weights.begin() + static_cast<std::ptrdiff_t>(f) * count;
    bias[f] -= static_cast<float>(c.zeroX * std::accumulate(from, from + count, int64_t{0}));
  }
  return bias;
}

dnnl::primitive_attr byteAttributes(const ByteConvolution& c) {
  dnnl::primitive_attr attributes;
  const bool same = std::all_of(c.scale.begin(), c.scale.end(), [&](float s) { return s == c.scale[0]; });
  constexpr int kPerChannel = 1 << 1;
  attributes.set_output_scales(same ? 0 : kPerChannel, same ? std::vector<float>{c.scale[0]} : c.scale);
  if (c.zeroX != 0 && isPadded(c)) attributes.set_zero_points(DNNL_ARG_SRC, 0, {c.zeroX});
  if (c.zeroY != 0) attributes.set_zero_points(DNNL_ARG_DST, 0, {c.zeroY});
  if (c.least > 0 || c.most < 255) {
    dnnl::post_ops clip;
    clip.append_eltwise(1, dnnl::algorithm::eltwise_clip, static_cast<float>(c.least - c.zeroY),
                        static_cast<float>(c.most - c.zeroY));
    attributes.set_post_ops(clip);
  }
  return attributes;
}

class OneDnnBytes final : public PreparedBytes {
 public:
  OneDnnBytes(const ByteConvolution& c, int threads)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_), threads_(threads) {
    Extents dilations = c.dilations;
    for (int64_t& d : dilations)
      --d;
    const memory::desc x = channelsLastBytes(c.x), y = channelsLastBytes(c.y);
    const memory::desc bias({c.y[1]}, Type::f32, memory::format_tag::x);
    const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                               x, byteWeights(c, true), bias, y, c.strides, dilations, c.before,
                                               c.after);
    const dnnl::convolution_forward::primitive_desc how(desc, byteAttributes(c), engine_);
    how_ = how.impl_info_str();
    weights_ = memory(how.weights_desc(), engine_);
    memory given(byteWeights(c, false), engine_, const_cast<int8_t*>(c.weights.data()));  // it is only read
    dnnl::reorder(given, weights_).execute(stream_, given, weights_);
    bias_ = isPadded(c) ? c.bias : shiftedBias(c);
    x_ = memory(x, engine_, nullptr);
    y_ = memory(y, engine_, nullptr);
    convolution_ = dnnl::convolution_forward(how);
    arguments_ = {{DNNL_ARG_SRC, x_},
                  {DNNL_ARG_WEIGHTS, weights_},
                  {DNNL_ARG_BIAS, memory(bias, engine_, bias_.data())},
                  {DNNL_ARG_DST, y_}};
  }

  Expected<void> run(const uint8_t* x, uint8_t* y) override {
    useThreads(threads_);
    try {
      x_.set_data_handle(const_cast<uint8_t*>(x));  // it is only read
      y_.set_data_handle(y);
      convolution_.execute(stream_, arguments_);
      return {};
    } catch (const dnnl::error& e) {
      return fail(ErrorKind::kModel, fmt::format("oneDNN cannot run a convolution of integers: {}", e.what()));
    }
  }
  std::string how() const override { return how_; }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  int threads_;
  std::string how_;
  memory weights_, x_, y_;
  std::vector<float> bias_;
  dnnl::convolution_forward convolution_;
  std::unordered_map<int, memory> arguments_;
};

}  // namespace
}  // namespace onednn

ByteEngine oneDnnByteEngine(int threads) {
  return [threads](const ByteConvolution& convolution) -> std::unique_ptr<PreparedBytes> {
    const size_t rank = convolution.x.size();
    if (!onednn::isExact() || rank < 3 || rank > 5) return nullptr;
    try {
      onednn::useThreads(threads);
      auto made = std::make_unique<onednn::OneDnnBytes>(convolution, threads);
      return onednn::isOptimised(made->how().c_str()) ? std::move(made) : nullptr;
    } catch (const dnnl::error&) {
      return nullptr;
    }
  };
}

}  // namespace pet
