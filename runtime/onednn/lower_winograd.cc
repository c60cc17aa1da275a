// Convolutions by Winograd's algorithm: our transformations around a batch of oneDNN's products.

#include "runtime/onednn/lower_winograd.h"

#include <algorithm>
#include <iterator>

#include "runtime/onednn/lanes.h"
#include "runtime/onednn/winograd.h"

namespace pet::onednn {
namespace {

using dnnl::memory;

/// Whether it saves more than it costs, in products of two channels. It leaves 36 of 144 for each tile; against that
/// stand its transformations, for each channel of operand and result, and its kernel, which is four times as large and
/// is read from the last-level cache, or from memory where that is too small for it. Measured on one core of an EPYC
/// (Zen 5) whose last-level cache others use, too.
bool pays(const WinogradConvolution& w) {
  constexpr int64_t kTransform = 400, kKernel = 700, kFromMemory = 1800, kCachedPairs = 1 << 17;
  const int64_t pairs = w.pairs();
  const int64_t direct = 9 * pairs * w.layers * w.images * w.rows * w.columns;
  const int64_t transformed = w.inner * w.planes + w.outer * w.layers;
  return direct > (36 * pairs * w.layers + kTransform * transformed) * w.tiles() +
                      (pairs > kCachedPairs ? kFromMemory : kKernel) * pairs;
}

/// Nothing: another convolution, or channels that do not fill registers.
std::optional<WinogradConvolution> winogradOf(const Window& w) {
  auto all = [](const Extents& list, int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](int64_t x) { return x == value; });
  };
  const size_t spatial = w.kernel.size();
  if (spatial < 2 || spatial > 3) return std::nullopt;
  const bool isFlat = spatial == 2;
  const bool hasPlanes = isFlat || (w.dilations[0] == 0 && w.before[0] < w.kernel[0] && w.after[0] < w.kernel[0]);
  const bool fits = hasPlanes && all({w.kernel.end() - 2, w.kernel.end()}, 3) && all(w.strides, 1) &&
                    w.dilations[spatial - 2] == w.dilations[spatial - 1] && w.inner % (w.group * kLanes) == 0 &&
                    w.outer % (w.group * kLanes) == 0;
  if (!fits) return std::nullopt;
  const Extents x = w.x.access.extents();
  WinogradConvolution result;
  result.images = x[0];
  if (!isFlat) {
    result.planes = x[2];
    result.layers = w.y[2];
    result.taps = w.kernel[0];
    result.front = w.before[0];
  }
  result.height = x[spatial];
  result.width = x[spatial + 1];
  result.inner = w.inner;
  result.rows = w.y[spatial];
  result.columns = w.y[spatial + 1];
  result.outer = w.outer;
  result.groups = w.group;
  result.top = w.before[spatial - 2];
  result.left = w.before[spatial - 1];
  result.dilation = w.dilations[spatial - 1] + 1;
  return result;
}

/// So many tiles that what is between the transformations stays in the second-level cache, or that reading the kernel,
/// once for each block, takes no longer than writing and reading that. An odd number, so that products of one tile are
/// not all in one set of the first-level cache.
int64_t blockOf(const WinogradConvolution& w) {
  constexpr int64_t kCached = 1 << 18, kFewest = 48;
  const int64_t channels = w.inner * w.taps + w.outer;
  const int64_t most = std::max({kCached / (WinogradConvolution::kProducts * channels), w.pairs() / channels, kFewest});
  const int64_t blocks = (w.tiles() + most - 1) / most;
  return (w.tiles() + blocks - 1) / blocks | 1;
}

/// m = v · kernel, or m += v · kernel, of 36 matrices, or of 36 for each group.
struct Products {
  memory::desc v, m, plain;  ///< plain: the kernel as WinogradConvolution::kernel() makes it
  dnnl::matmul::primitive_desc sets, adds;

  Products(const Planner& p, const WinogradConvolution& w)
      : v(byGroups(w, w.inner)),
        m(byGroups(w, w.outer)),
        plain(rowMajorForm(kernelExtents(w)).desc),
        sets(describe(p, anyForm(kernelExtents(w)), dnnl::post_ops())),
        adds(describe(p, sets.weights_desc(), sum())) {}

 private:
  static Extents kernelExtents(const WinogradConvolution& w) {
    const int64_t inner = w.inner / w.groups, outer = w.outer / w.groups;
    if (w.groups == 1) return {WinogradConvolution::kProducts, inner, outer};
    return {WinogradConvolution::kProducts, w.groups, inner, outer};
  }
  /// Of [36, block, channels] the channels of each group as a matrix.
  static memory::desc byGroups(const WinogradConvolution& w, int64_t channels) {
    if (w.groups == 1) return rowMajorForm({WinogradConvolution::kProducts, w.block, channels}).desc;
    const int64_t ofGroup = channels / w.groups;
    return {{WinogradConvolution::kProducts, w.groups, w.block, ofGroup},
            kF32,
            memory::dims{w.block * channels, ofGroup, channels, 1}};
  }
  static dnnl::post_ops sum() {
    dnnl::post_ops ops;
    ops.append_sum(1);
    return ops;
  }
  dnnl::matmul::primitive_desc describe(const Planner& p, const memory::desc& kernel, const dnnl::post_ops& ops) const {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attributes.set_post_ops(ops);
    return {dnnl::matmul::desc(v, kernel, m), attributes, p.engine()};
  }
};

/// Block by block: planes apart, products, layers together.
class WinogradStep final : public plan::Step {
 public:
  WinogradStep(Planner& p,
               WinogradConvolution winograd,
               const Products& products,
               std::vector<FixedMemory> kernels,
               Place x,
               Place y)
      : winograd_(std::move(winograd)),
        kernels_(std::move(kernels)),
        sets_(products.sets),
        adds_(products.adds),
        stream_(p.stream()),
        m_(products.m, p.engine(), DNNL_MEMORY_NONE),
        threads_(p.options().threads),
        from_(std::move(x)),
        to_(std::move(y)) {
    const memory::desc set = products.sets.scratchpad_desc(), add = products.adds.scratchpad_desc();
    const memory::desc& scratchpad = set.get_size() < add.get_size() ? add : set;
    scratchpad_ = memory(scratchpad, p.engine(), DNNL_MEMORY_NONE);
    v_.resize(kernels_.size());
    for (memory& v : v_)
      v = memory(products.v, p.engine(), DNNL_MEMORY_NONE);
    const int64_t rows = WinogradConvolution::kProducts * winograd_.block;
    planeElements_ = rows * winograd_.inner;
    buffers = {from_.buffer, to_.buffer, p.createBuffer(planeElements_ * winograd_.taps),
               p.createBuffer(rows * winograd_.outer),
               p.createBuffer(static_cast<int64_t>(scratchpad.get_size()) / 4 + 1)};
  }

  void bind(const Pointers& pointers) override {
    x_ = floatsAt(pointers, buffers[0]) + from_.access.offset;
    y_ = floatsAt(pointers, buffers[1]) + to_.access.offset;
    for (size_t slot = 0; slot < v_.size(); ++slot)
      v_[slot].set_data_handle(floatsAt(pointers, buffers[2]) + static_cast<int64_t>(slot) * planeElements_);
    m_.set_data_handle(floatsAt(pointers, buffers[3]));
    scratchpad_.set_data_handle(floatsAt(pointers, buffers[4]));
  }

  void run() override {
    const WinogradConvolution& w = winograd_;
    for (int64_t first = 0; first < w.tiles(); first += w.block) {
      int64_t apart = 0;  // planes; each of the last `taps` of them is in its slot
      for (int64_t layer = 0; layer < w.layers; ++layer) {
        const int64_t from = std::max<int64_t>(layer - w.front, 0), to = std::min(layer - w.front + w.taps, w.planes);
        for (; apart < to; ++apart)
          w.takeApart(x_, first, apart, dataOf(slotOf(apart)), threads_);
        for (int64_t plane = from; plane < to; ++plane)
          multiply(plane == from ? sets_ : adds_, plane, plane - layer + w.front);
        w.putTogether(dataOf(m_), first, layer, y_, threads_);
      }
    }
  }

 private:
  static float* dataOf(const memory& m) { return static_cast<float*>(m.get_data_handle()); }
  const memory& slotOf(int64_t plane) const { return v_[static_cast<size_t>(plane % winograd_.taps)]; }
  void multiply(const dnnl::matmul& how, int64_t plane, int64_t tap) {
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, slotOf(plane).get()},
                                         {DNNL_ARG_WEIGHTS, kernels_[static_cast<size_t>(tap)].memory.get()},
                                         {DNNL_ARG_DST, m_.get()},
                                         {DNNL_ARG_SCRATCHPAD, scratchpad_.get()}};
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(how.get(), stream_.get(), static_cast<int>(std::size(arguments)), arguments),
        "a product failed");
  }

  WinogradConvolution winograd_;
  std::vector<FixedMemory> kernels_;  ///< by tap
  dnnl::matmul sets_, adds_;
  dnnl::stream stream_;
  memory m_, scratchpad_;
  std::vector<memory> v_;
  int threads_;
  Place from_, to_;
  int64_t planeElements_ = 0;
  float *x_ = nullptr, *y_ = nullptr;
};

}  // namespace

bool lowerAsWinograd(Planner& p, int n, const Window& w, const Epilogue& e) {
  auto winograd = winogradOf(w);
  if (!winograd || !pays(*winograd)) return false;
  const auto behind = behindOf(e);
  if (!behind) return false;
  winograd->bias = e.shift.empty() ? std::vector<float>(static_cast<size_t>(w.outer)) : e.shift;
  winograd->adds = e.sum() != nullptr;
  winograd->bounds = behind->bounds;
  winograd->block = blockOf(*winograd);
  const Products products(p, *winograd);
  if (!isOptimised(products.sets.impl_info_str()) || !isOptimised(products.adds.impl_info_str())) return false;
  const Place x = p.windowOperand(p.node(n).operands[0], w.x, channelsLast(w.x.access.extents()));
  const Access form = w.resultForm(channelsLast(w.y));
  Place y = e.sum() ? p.accumulator(*e.sum(), form, {x.buffer}) : p.create(form);
  std::vector<FixedMemory> kernels;
  for (int64_t tap = 0; tap < winograd->taps; ++tap) {
    const auto& numbers = p.constant(p.node(n).operands[1])->data;
    kernels.push_back(
        p.prepared(winograd->kernel(numbers, tap, e.scale), products.plain, products.sets.weights_desc()));
  }
  p.emit(std::make_unique<WinogradStep>(p, std::move(*winograd), products, std::move(kernels), x, y));
  for (const Activation& function : behind->functions)
    emitFunction(p, function, y, y);
  p.define(e.result, std::move(y));
  p.note(n, std::string("winograd, by ") + products.sets.impl_info_str());
  return true;
}

}  // namespace pet::onednn
