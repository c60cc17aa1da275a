// LSTM, GRU, RNN in the operands' precision: the inputs of all time steps at once, then one step after another.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "ir/quick_math.h"
#include "ir/wide_loops.h"
#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

constexpr int64_t kLanes = 16;
/// Columns of weights that lie together, [depth, kPanel] after [depth, kPanel]; the last panel may be narrower.
constexpr int64_t kPanel = 8 * kLanes;

/// y[i, m] += Σ_k x[i, k] w[k, m] for few i and kVectors · kLanes neighbouring m, whose sums stay in registers. The
/// rows of w are `step` apart.
template <int kRows, int kVectors, class T>
[[gnu::always_inline]] inline void addTile(T* y, const T* x, const T* w, int64_t step, int64_t width, int64_t depth) {
  using Lanes [[gnu::vector_size(kLanes * sizeof(T))]] = T;
  Lanes sums[kRows][kVectors];
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v)
      std::memcpy(&sums[i][v], y + i * width + v * kLanes, sizeof(Lanes));
  }
  for (int64_t k = 0; k < depth; ++k) {
    Lanes by[kVectors];
    for (int v = 0; v < kVectors; ++v)
      std::memcpy(&by[v], w + k * step + v * kLanes, sizeof(Lanes));
    std::atomic_signal_fence(std::memory_order_seq_cst);  // else they are loaded again for each row
    for (int i = 0; i < kRows; ++i) {
      for (int v = 0; v < kVectors; ++v)
        sums[i][v] += by[v] * x[i * depth + k];
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v)
      std::memcpy(y + i * width + v * kLanes, &sums[i][v], sizeof(Lanes));
  }
}

/// The same for `count` columns.
template <int kRows, int kVectors, class T>
[[gnu::always_inline]] inline void addRows(
    T* y, const T* x, const T* w, int64_t step, int64_t count, int64_t width, int64_t depth) {
  int64_t m = 0;
  for (; m + kVectors * kLanes <= count; m += kVectors * kLanes)
    addTile<kRows, kVectors>(y + m, x, w + m, step, width, depth);
  for (; m + kLanes <= count; m += kLanes)
    addTile<kRows, 1>(y + m, x, w + m, step, width, depth);
  for (; m < count; ++m) {
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t k = 0; k < depth; ++k)
        y[i * width + m] += x[i * depth + k] * w[k * step + m];
    }
  }
}

/// The same for all of `rows`, and for `count` columns from `first` on of weights in panels.
template <class T>
[[gnu::always_inline]] inline void addProductOf(
    T* y, const T* x, int64_t rows, const T* w, int64_t first, int64_t count, int64_t width, int64_t depth) {
  for (int64_t m = first; m < first + count;) {
    const int64_t panel = m / kPanel * kPanel, step = std::min(kPanel, width - panel);
    const int64_t columns = std::min(panel + step, first + count) - m;
    const T* from = w + panel * depth + m - panel;
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4)
      addRows<4, 4>(y + i * width + m, x + i * depth, from, step, columns, width, depth);
    for (; i + 2 <= rows; i += 2)
      addRows<2, 8>(y + i * width + m, x + i * depth, from, step, columns, width, depth);
    for (; i < rows; ++i)
      addRows<1, 8>(y + i * width + m, x + i * depth, from, step, columns, width, depth);
    m += columns;
  }
}

PET_WIDE_LOOPS void addProduct(float* y,
                               const float* x,
                               int64_t rows,
                               const float* w,
                               int64_t first,
                               int64_t count,
                               int64_t width,
                               int64_t depth) {
  addProductOf(y, x, rows, w, first, count, width, depth);
}
void addProduct(double* y,
                const double* x,
                int64_t rows,
                const double* w,
                int64_t first,
                int64_t count,
                int64_t width,
                int64_t depth) {
  addProductOf(y, x, rows, w, first, count, width, depth);
}

PET_WIDE_LOOPS void sigmoids(float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    x[i] = quickSigmoid(x[i]);
}
PET_WIDE_LOOPS void tangents(float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    x[i] = quickTanh(x[i]);
}

using Activation = double (*)(double x, double alpha, double beta);
struct NamedActivation {
  std::string_view name;
  Activation of;
  double alpha = 0, beta = 0;  ///< where the node does not say
};
constexpr NamedActivation kActivations[] = {
    {"Sigmoid", [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
    {"Tanh", [](double x, double, double) { return std::tanh(x); }},
    {"Relu", [](double x, double, double) { return std::max(x, 0.0); }},
    {"Affine", [](double x, double a, double b) { return a * x + b; }, 1, 0},
    {"LeakyRelu", [](double x, double a, double) { return x < 0 ? a * x : x; }, 0.01},
    {"ThresholdedRelu", [](double x, double a, double) { return x > a ? x : 0; }, 1},
    {"ScaledTanh", [](double x, double a, double b) { return a * std::tanh(b * x); }, 1, 1},
    {"HardSigmoid", [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }, 0.2, 0.5},
    {"Elu", [](double x, double a, double) { return x < 0 ? a * (std::exp(x) - 1) : x; }, 1},
    {"Softsign", [](double x, double, double) { return x / (1 + std::abs(x)); }},
    {"Softplus", [](double x, double, double) { return std::log1p(std::exp(x)); }},
};

/// The functions of one direction, in ONNX's order: f, g, h.
std::vector<NamedActivation> activationsOf(const NodeCall& call, std::vector<std::string> usual, size_t direction) {
  const auto names = call.texts("activations");
  const auto alphas = call.numbers("activation_alpha"), betas = call.numbers("activation_beta");
  const size_t each = usual.size();
  std::vector<NamedActivation> result;
  for (size_t i = 0; i < each; ++i) {
    const size_t at = direction * each + i;
    const std::string& name = names.empty() ? usual[i] : names.at(std::min(at, names.size() - 1));
    auto it =
        std::find_if(std::begin(kActivations), std::end(kActivations), [&](const auto& a) { return a.name == name; });
    if (it == std::end(kActivations)) throw BadNode{fmt::format("activation '{}' is not known", name)};
    result.push_back(*it);
    if (at < alphas.size()) result.back().alpha = alphas[at];
    if (at < betas.size()) result.back().beta = betas[at];
  }
  return result;
}

template <class T>
void activate(const NamedActivation& f, T* x, int64_t count, double clip) {
  if constexpr (std::is_same_v<T, float>) {
    if (clip <= 0 && f.name == "Sigmoid") return sigmoids(x, count);
    if (clip <= 0 && f.name == "Tanh") return tangents(x, count);
  }
  for (int64_t i = 0; i < count; ++i) {
    auto v = static_cast<double>(x[i]);
    if (clip > 0) v = std::clamp(v, -clip, clip);
    x[i] = static_cast<T>(f.of(v, f.alpha, f.beta));
  }
}

/// One direction of a layer; gates are in ONNX's order.
template <class T>
struct Layer {
  int64_t gates, hidden, input;
  const T *w, *r;         ///< [input, gates * hidden], [hidden, gates * hidden], in panels
  std::vector<T> wb, rb;  ///< [gates * hidden]
  const T* peepholes;     ///< [3 * hidden] of an LSTM; or null
  std::vector<NamedActivation> functions;
  double clip;
  bool linearBeforeReset, inputForget;

  int64_t width() const { return gates * hidden; }

  /// What inputs add to the gates, [rows, gates * hidden].
  std::vector<T> ofInputs(const T* x, int64_t rows) const {
    std::vector<T> y(static_cast<size_t>(rows * width()));
    start(wb, rows, y);
    addProduct(y.data(), x, rows, w, 0, width(), width(), input);
    return y;
  }
  /// What states add to the gates; to those that are computed before the state is reset.
  void ofStates(const T* h, int64_t rows, std::vector<T>& y) const {
    const bool resets = gates == 3 && !linearBeforeReset;
    start(rb, rows, y);
    addProduct(y.data(), h, rows, r, 0, resets ? 2 * hidden : width(), width(), hidden);
  }
  /// One step of one sequence: `in` is what its input adds to the gates, `state` what its state does. Both may be
  /// overwritten.
  void step(T* in, T* state, T* h, T* c) const {
    if (gates == 3) return stepGru(in, state, h);
    for (int64_t i = 0; i < width(); ++i)
      in[i] += state[i];
    if (gates == 4) stepLstm(in, h, c);
    if (gates == 1) stepRnn(in, h);
  }

 private:
  void start(const std::vector<T>& bias, int64_t rows, std::vector<T>& y) const {
    for (int64_t i = 0; i < rows; ++i)
      std::copy(bias.begin(), bias.end(), y.begin() + i * width());
  }

  void stepRnn(T* pre, T* h) const {
    activate(functions[0], pre, hidden, clip);
    std::copy_n(pre, hidden, h);
  }

  // Gates i, o, f, c.
  void stepLstm(T* pre, T* h, T* c) const {
    T *i = pre, *o = i + hidden, *f = o + hidden, *g = f + hidden;
    for (int64_t k = 0; peepholes && k < hidden; ++k) {
      i[k] += peepholes[k] * c[k];
      f[k] += peepholes[2 * hidden + k] * c[k];
    }
    activate(functions[0], i, hidden, clip);
    activate(functions[0], f, hidden, clip);
    activate(functions[1], g, hidden, clip);
    for (int64_t k = 0; k < hidden; ++k) {
      const T forget = inputForget ? 1 - i[k] : f[k];
      c[k] = forget * c[k] + i[k] * g[k];
      if (peepholes) o[k] += peepholes[hidden + k] * c[k];
    }
    activate(functions[0], o, hidden, clip);
    std::copy_n(c, hidden, h);
    activate(functions[2], h, hidden, 0);
    for (int64_t k = 0; k < hidden; ++k)
      h[k] *= o[k];
  }

  // Gates z, r, h.
  void stepGru(T* in, T* state, T* h) const {
    T *z = in, *reset = z + hidden, *last = reset + hidden, *lastState = state + 2 * hidden;
    for (int64_t k = 0; k < 2 * hidden; ++k)
      in[k] += state[k];
    activate(functions[0], z, 2 * hidden, clip);
    if (!linearBeforeReset) {  // the state is reset before the product
      T* kept = state;
      for (int64_t k = 0; k < hidden; ++k)
        kept[k] = reset[k] * h[k];
      addProduct(state, kept, 1, r, 2 * hidden, hidden, width(), hidden);
    }
    for (int64_t k = 0; k < hidden; ++k)
      last[k] += (linearBeforeReset ? reset[k] : T{1}) * lastState[k];
    activate(functions[1], last, hidden, clip);
    for (int64_t k = 0; k < hidden; ++k)
      h[k] = (1 - z[k]) * last[k] + z[k] * h[k];
  }
};

struct RecurrentKind {
  int64_t gates;
  std::vector<std::string> functions;
};

template <class T>
Layer<T> layerOf(const NodeCall& call, const RecurrentKind& kind, int64_t d) {
  const Extents &w = call.extents(1), &r = call.extents(2);
  if (w.size() != 3 || r.size() != 3) throw BadNode{"weights of rank 3 are needed"};
  const int64_t hidden = r[1], rows = kind.gates * hidden, input = w[1];
  if (w[2] != rows || r[2] != rows || call.extents(0).back() != input) throw BadNode{"weights of other extents"};
  Layer<T> layer{kind.gates, hidden, input, nullptr, nullptr, {}, {}, nullptr, {}, 0, false, false};
  layer.w = dataOf<T>(call.operand(1)).data() + d * rows * input;
  layer.r = dataOf<T>(call.operand(2)).data() + d * rows * hidden;
  layer.wb.assign(static_cast<size_t>(rows), 0);
  layer.rb = layer.wb;
  if (call.has(3)) {
    const T* b = dataOf<T>(call.operand(3)).data() + d * 2 * rows;
    layer.wb.assign(b, b + rows);
    layer.rb.assign(b + rows, b + 2 * rows);
  }
  if (call.has(7)) layer.peepholes = dataOf<T>(call.operand(7)).data() + d * 3 * hidden;
  layer.functions = activationsOf(call, kind.functions, static_cast<size_t>(d));
  layer.clip = call.number("clip", 0);
  layer.linearBeforeReset = call.integer("linear_before_reset", 0) != 0;
  layer.inputForget = call.integer("input_forget", 0) != 0;
  return layer;
}

/// [directions, batch, hidden]: the operand, or zeros.
template <class T>
Made<T> stateOf(const NodeCall& call, size_t operand, ElementType element, const Extents& extents) {
  Made<T> state = make<T>(element, extents);
  if (call.has(operand)) {
    if (call.extents(operand) != extents) throw BadNode{"a first state of other extents"};
    std::copy_n(dataOf<T>(call.operand(operand)).data(), elementCount(extents), state.data);
  } else {
    std::fill_n(state.data, elementCount(extents), T{0});
  }
  return state;
}

template <class T>
std::vector<Constant> runLayers(const NodeCall& call, const RecurrentKind& kind) {
  const Constant& x = call.operand(0);
  if (x.extents.size() != 3 || call.integer("layout", 0) != 0)
    throw BadNode{"an input of [S, N, I] is needed (layout 0)"};
  const int64_t steps = x.extents[0], batch = x.extents[1];
  const std::string way = call.text("direction", "forward");
  const int64_t directions = way == "bidirectional" ? 2 : 1, hidden = call.extents(2)[1];
  std::vector<int64_t> lengths(static_cast<size_t>(batch), steps);
  if (call.has(4)) lengths = integersOf(call.operand(4));
  if (std::ssize(lengths) != batch) throw BadNode{"as many lengths as sequences are needed"};
  Made<T> y = make<T>(x.element, {steps, directions, batch, hidden});
  std::fill_n(y.data, elementCount(y.constant.extents), T{0});
  Made<T> h = stateOf<T>(call, 5, x.element, {directions, batch, hidden});
  Made<T> c = stateOf<T>(call, 6, x.element, {directions, batch, hidden});
  for (int64_t d = 0; d < directions; ++d) {
    const Layer<T> layer = layerOf<T>(call, kind, d);
    const bool back = d == 1 || way == "reverse";
    T *states = h.data + d * batch * hidden, *cells = c.data + d * batch * hidden;
    std::vector<T> inputs = layer.ofInputs(dataOf<T>(x).data(), steps * batch);
    std::vector<T> sums(static_cast<size_t>(batch * layer.width()));
    for (int64_t s = 0; s < steps; ++s) {
      layer.ofStates(states, batch, sums);
      for (int64_t b = 0; b < batch; ++b) {
        const int64_t length = std::clamp<int64_t>(lengths[static_cast<size_t>(b)], 0, steps);
        if (s >= length) continue;
        const int64_t t = back ? length - 1 - s : s;
        T* state = states + b * hidden;
        layer.step(inputs.data() + (t * batch + b) * layer.width(), sums.data() + b * layer.width(), state,
                   cells + b * hidden);
        std::copy_n(state, hidden, y.data + ((t * directions + d) * batch + b) * hidden);
      }
    }
  }
  return {y.constant, h.constant, c.constant};
}

std::vector<Constant> runRecurrent(const NodeCall& call, const RecurrentKind& kind) {
  return call.operand(0).element == ElementType::kDouble ? runLayers<double>(call, kind) : runLayers<float>(call, kind);
}

/// Weights are read by columns: [directions, gates * hidden, depth] with the last two exchanged, and in panels.
Constant preparedWeights(size_t operand, const Constant& c) {
  if ((operand != 1 && operand != 2) || c.extents.size() != 3) return c;
  const int64_t rows = c.extents[1], columns = c.extents[2];
  const size_t size = elementSize(c.element);
  Made<char> turned = makeRaw(c.element, {c.extents[0], columns, rows});
  const char* from = c.bytes->data();
  for (int64_t at = 0; at < elementCount(c.extents); ++at, from += size) {
    const int64_t d = at / (rows * columns), m = at / columns % rows, k = at % columns;
    const int64_t panel = m / kPanel * kPanel, step = std::min(kPanel, rows - panel);
    const int64_t to = d * rows * columns + panel * columns + k * step + m - panel;
    std::memcpy(turned.data + static_cast<size_t>(to) * size, from, size);
  }
  return turned.constant;
}

const KernelRow kRecurrentKernels[] = {
    {"LSTM",
     [](const NodeCall& c) {
       return runRecurrent(c, {4, {"Sigmoid", "Tanh", "Tanh"}});
     },
     true, 0, preparedWeights},
    {"GRU",
     [](const NodeCall& c) {
       return runRecurrent(c, {3, {"Sigmoid", "Tanh"}});
     },
     true, 0, preparedWeights},
    {"RNN",
     [](const NodeCall& c) {
       return runRecurrent(c, {1, {"Tanh"}});
     },
     true, 0, preparedWeights},
};

}  // namespace

std::span<const KernelRow> recurrentKernels() {
  return kRecurrentKernels;
}

}  // namespace pet::session
