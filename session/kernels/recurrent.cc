// LSTM, GRU, RNN: one time step after another, in the operands' precision.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "session/kernels/node_call.h"
#include "session/kernels/wide.h"

namespace pet::session {
namespace {

constexpr int64_t kLanesOfSums = 16;

template <class T>
[[gnu::always_inline]] inline void addRows(T* y, const T* x, const T* w, int64_t depth, int64_t count) {
  for (int64_t m = 0; m < count; ++m) {
    T lanes[kLanesOfSums] = {};
    const T* row = w + m * depth;
    int64_t k = 0;
    for (; k + kLanesOfSums <= depth; k += kLanesOfSums) {
      for (int64_t i = 0; i < kLanesOfSums; ++i)
        lanes[i] += row[k + i] * x[k + i];
    }
    for (int64_t i = 0; k + i < depth; ++i)
      lanes[i] += row[k + i] * x[k + i];
    for (int64_t i = 1; i < kLanesOfSums; ++i)
      lanes[0] += lanes[i];
    y[m] += lanes[0];
  }
}

/// y[m] += Σ_k w[m, k] x[k].
PET_WIDE_LOOPS void addProduct(float* y, const float* x, const float* w, int64_t depth, int64_t count) {
  addRows(y, x, w, depth, count);
}
PET_WIDE_LOOPS void addProduct(double* y, const double* x, const double* w, int64_t depth, int64_t count) {
  addRows(y, x, w, depth, count);
}

/// exp(x) to some 2^-22 of it, between 2^-126 and 2^127: Σ r^n / n! of what is left beside a power of two.
[[gnu::always_inline]] inline float quickExp(float x) {
  constexpr float kRounder = 12582912.0F;  // 1.5 · 2^23
  const float c = x > -87.0F ? (x < 88.0F ? x : 88.0F) : -87.0F;
  const float n = (c * 1.44269504F + kRounder) - kRounder;
  const float r = (c - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1;
  p = p * r + 1;
  const float y = p * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
  return x != x ? x : y;
}

PET_WIDE_LOOPS void sigmoids(float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    x[i] = 1 / (1 + quickExp(-x[i]));
}
PET_WIDE_LOOPS void tangents(float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    x[i] = 1 - 2 / (quickExp(2 * x[i]) + 1);
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
  const T *w, *r;         ///< [gates * hidden, input], [gates * hidden, hidden]
  std::vector<T> wb, rb;  ///< [gates * hidden]
  const T* peepholes;     ///< [3 * hidden] of an LSTM; or null
  std::vector<NamedActivation> functions;
  double clip;
  bool linearBeforeReset, inputForget;

  void step(const T* x, T* h, T* c, std::vector<T>& pre) const {
    std::copy(wb.begin(), wb.end(), pre.begin());
    addProduct(pre.data(), x, w, input, gates * hidden);
    if (gates == 4) stepLstm(h, c, pre);
    if (gates == 3) stepGru(h, pre);
    if (gates == 1) stepRnn(h, pre);
  }

 private:
  void addState(const T* h, std::vector<T>& pre) const {
    for (size_t i = 0; i < rb.size(); ++i)
      pre[i] += rb[i];
    addProduct(pre.data(), h, r, hidden, gates * hidden);
  }

  void stepRnn(T* h, std::vector<T>& pre) const {
    addState(h, pre);
    activate(functions[0], pre.data(), hidden, clip);
    std::copy_n(pre.data(), hidden, h);
  }

  // Gates i, o, f, c.
  void stepLstm(T* h, T* c, std::vector<T>& pre) const {
    addState(h, pre);
    T *i = pre.data(), *o = i + hidden, *f = o + hidden, *g = f + hidden;
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
  void stepGru(T* h, std::vector<T>& pre) const {
    std::vector<T> state(rb.begin(), rb.end()), last(pre.begin() + 2 * hidden, pre.end());
    addProduct(state.data(), h, r, hidden, gates * hidden);
    for (int64_t k = 0; k < 2 * hidden; ++k)
      pre[static_cast<size_t>(k)] += state[static_cast<size_t>(k)];
    activate(functions[0], pre.data(), 2 * hidden, clip);
    const T *z = pre.data(), *reset = z + hidden;
    if (!linearBeforeReset) {
      std::vector<T> kept(static_cast<size_t>(hidden)), again(rb.begin(), rb.end());
      for (int64_t k = 0; k < hidden; ++k)
        kept[static_cast<size_t>(k)] = reset[k] * h[k];
      addProduct(again.data(), kept.data(), r, hidden, gates * hidden);
      state = std::move(again);
    }
    for (int64_t k = 0; k < hidden; ++k)
      last[static_cast<size_t>(k)] +=
          (linearBeforeReset ? reset[k] : T{1}) * state[static_cast<size_t>(2 * hidden + k)];
    activate(functions[1], last.data(), hidden, clip);
    for (int64_t k = 0; k < hidden; ++k)
      h[k] = (1 - z[k]) * last[static_cast<size_t>(k)] + z[k] * h[k];
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
  const int64_t hidden = r[2], rows = kind.gates * hidden, input = w[2];
  if (w[1] != rows || r[1] != rows || call.extents(0).back() != input) throw BadNode{"weights of other extents"};
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
  const int64_t steps = x.extents[0], batch = x.extents[1], input = x.extents[2];
  const std::string way = call.text("direction", "forward");
  const int64_t directions = way == "bidirectional" ? 2 : 1, hidden = call.extents(2).back();
  std::vector<int64_t> lengths(static_cast<size_t>(batch), steps);
  if (call.has(4)) lengths = integersOf(call.operand(4));
  if (std::ssize(lengths) != batch) throw BadNode{"as many lengths as sequences are needed"};
  Made<T> y = make<T>(x.element, {steps, directions, batch, hidden});
  std::fill_n(y.data, elementCount(y.constant.extents), T{0});
  Made<T> h = stateOf<T>(call, 5, x.element, {directions, batch, hidden});
  Made<T> c = stateOf<T>(call, 6, x.element, {directions, batch, hidden});
  std::vector<T> pre(static_cast<size_t>(kind.gates * hidden));
  for (int64_t d = 0; d < directions; ++d) {
    const Layer<T> layer = layerOf<T>(call, kind, d);
    const bool back = d == 1 || way == "reverse";
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t length = std::clamp<int64_t>(lengths[static_cast<size_t>(b)], 0, steps);
      T *state = h.data + (d * batch + b) * hidden, *cell = c.data + (d * batch + b) * hidden;
      for (int64_t s = 0; s < length; ++s) {
        const int64_t t = back ? length - 1 - s : s;
        layer.step(dataOf<T>(x).data() + (t * batch + b) * input, state, cell, pre);
        std::copy_n(state, hidden, y.data + ((t * directions + d) * batch + b) * hidden);
      }
    }
  }
  return {y.constant, h.constant, c.constant};
}

std::vector<Constant> runRecurrent(const NodeCall& call, const RecurrentKind& kind) {
  return call.operand(0).element == ElementType::kDouble ? runLayers<double>(call, kind) : runLayers<float>(call, kind);
}

const KernelRow kRecurrentKernels[] = {
    {"LSTM",
     [](const NodeCall& c) {
       return runRecurrent(c, {4, {"Sigmoid", "Tanh", "Tanh"}});
     }},
    {"GRU",
     [](const NodeCall& c) {
       return runRecurrent(c, {3, {"Sigmoid", "Tanh"}});
     }},
    {"RNN",
     [](const NodeCall& c) {
       return runRecurrent(c, {1, {"Tanh"}});
     }},
};

}  // namespace

std::span<const KernelRow> recurrentKernels() {
  return kRecurrentKernels;
}

}  // namespace pet::session
