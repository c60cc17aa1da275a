// Functions of one number and of two.

#include <algorithm>

#include "runtime/onednn/element_program.h"
#include "runtime/onednn/lowerings.h"
#include "runtime/plan/correction.h"
#include "runtime/plan/loops.h"

namespace pet::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;
memory::desc flat(int64_t floats) {
  return {{floats}, kF32, memory::format_tag::x};
}

}  // namespace

std::string emitFunction(Planner& p, const Activation& function, const Place& x, const Place& y) {
  const auto op = elementOp(function);
  if (op && isTranscendental(*op)) {
    const int64_t count = elementCount(x.access.extents()), from = x.access.offset, to = y.access.offset;
    p.emit(std::make_unique<KernelStep>(std::vector<int>{x.buffer, y.buffer},
                                        [=, threads = p.options().threads](float* const* q) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
                                          for (int t = 0; t < threads; ++t) {
                                            const int64_t first = count * t / threads, end = count * (t + 1) / threads;
                                            applyElements(*op, q[0] + from + first, q[1] + to + first, end - first);
                                          }
                                        }));
    return "a kernel of our own";
  }
  memory::desc desc = flat(elementCount(x.access.extents()));
  dnnl::eltwise_forward::desc how(kInference, algorithmOf(function.function), desc, function.alpha, function.beta);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::eltwise_forward::primitive_desc primitive(how, attributes, p.engine());
  auto step = p.primitive(dnnl::eltwise_forward(primitive), primitive.scratchpad_desc());
  step->add(DNNL_ARG_SRC, desc, p.engine(), x.buffer, x.access.offset);
  step->add(DNNL_ARG_DST, desc, p.engine(), y.buffer, y.access.offset);
  p.emit(std::move(step));
  return primitive.impl_info_str();
}

namespace {

bool lowerFunction(Planner& p, int n, const Epilogue& e) {
  Value x = p.node(n).operands[0];
  Place from = p.dense(x);
  Place to = p.overOrLike(from);
  p.note(n, emitFunction(p, *activationOf(p.node(n)), from, to));
  p.define(e.result, std::move(to));
  return true;
}

// --- Functions of two numbers. ---

struct AddOf {
  float operator()(float a, float b) const { return a + b; }
};
struct SubOf {
  float operator()(float a, float b) const { return a - b; }
};
struct MulOf {
  float operator()(float a, float b) const { return a * b; }
};
struct DivOf {
  float operator()(float a, float b) const { return a / b; }
};
struct PReluOf {
  float operator()(float a, float slope) const { return a < 0 ? a * slope : a; }
};
struct MaxOf {
  float operator()(float a, float b) const { return a < b || b != b ? b : a; }
};
struct GreaterOf {
  float operator()(float a, float b) const { return a > b ? 1.0F : 0.0F; }
};

/// y[i] = f(a[i·stepA], b[i·stepB]), the usual steps apart so that they become vector instructions.
template <class F>
void row(F f, float* y, const float* a, const float* b, int64_t count, int64_t stepA, int64_t stepB) {
  if (stepA == 1 && stepB == 1) {
    for (int64_t i = 0; i < count; ++i)
      y[i] = f(a[i], b[i]);
  } else if (stepA == 1 && stepB == 0) {
    for (int64_t i = 0; i < count; ++i)
      y[i] = f(a[i], *b);
  } else {
    for (int64_t i = 0; i < count; ++i)
      y[i] = f(a[i * stepA], b[i * stepB]);
  }
}

template <class F>
KernelStep::Kernel kernelOf(F f, Loops loops, bool rectify, int threads) {
  return [=](float* const* p) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int t = 0; t < threads; ++t) {
      loops.run(loops.rows() * t / threads, loops.rows() * (t + 1) / threads, [&](const int64_t* at) {
        float* y = p[0] + at[0];
        row(f, y, p[1] + at[1], p[2] + at[2], loops.count(), loops.steps()[1], loops.steps()[2]);
        for (int64_t i = 0; rectify && i < loops.count(); ++i)
          y[i] = std::max(y[i], 0.0F);
      });
    }
  };
}

KernelStep::Kernel kernelFor(std::string_view op, const Loops& loops, bool rectify, int threads) {
  if (op == "Add") return kernelOf(AddOf{}, loops, rectify, threads);
  if (op == "Sub") return kernelOf(SubOf{}, loops, rectify, threads);
  if (op == "Mul") return kernelOf(MulOf{}, loops, rectify, threads);
  if (op == "Div") return kernelOf(DivOf{}, loops, rectify, threads);
  if (op == "Max") return kernelOf(MaxOf{}, loops, rectify, threads);
  if (op == "Greater") return kernelOf(GreaterOf{}, loops, rectify, threads);
  return kernelOf(PReluOf{}, loops, rectify, threads);
}

/// oneDNN does not have it.
bool lowerByKernel(Planner& p, int n, const Epilogue&) {
  if (!p.lowerFused({n})) throw NotLowered{"rows of few elements"};
  return true;
}

bool lowerHardSigmoid(Planner& p, int n, const Epilogue& e) {
  auto number = [&](std::string_view name) { return static_cast<float>(p.node(n).number(name)); };
  Place from = p.dense(p.node(n).operands[0]), to = p.create(from.access);
  emitFunction(p, {Function::kLinear, number("alpha"), number("beta")}, from, to);
  p.note(n, emitFunction(p, {Function::kClip, 0, 1}, to, to) + ", twice");
  p.define(e.result, std::move(to));
  return true;
}

algorithm binaryOf(std::string_view op) {
  if (op == "Add") return algorithm::binary_add;
  if (op == "Sub") return algorithm::binary_sub;
  if (op == "Mul") return algorithm::binary_mul;
  return op == "Div" ? algorithm::binary_div : algorithm::undef;
}

/// Two values of one dense form, as vectors.
bool emitBinary(Planner& p, int n, const Epilogue& e, const Place& a, const Place& b, const Place& y) {
  memory::desc desc = flat(elementCount(y.access.extents()));
  dnnl::binary::desc how(binaryOf(p.node(n).op->name), desc, desc, desc);
  dnnl::binary::primitive_desc primitive(how, attributesOf(e, nullptr), p.engine());
  if (!isOptimised(primitive.impl_info_str())) return false;
  auto step = p.primitive(dnnl::binary(primitive), primitive.scratchpad_desc());
  step->add(DNNL_ARG_SRC_0, desc, p.engine(), a.buffer, a.access.offset);
  step->add(DNNL_ARG_SRC_1, desc, p.engine(), b.buffer, b.access.offset);
  step->add(DNNL_ARG_DST, desc, p.engine(), y.buffer, y.access.offset);
  p.emit(std::move(step));
  p.note(n, primitive.impl_info_str());
  return true;
}

/// The operand whose form the result gets: of the result's extents, and no constant if there is another such.
Value leading(Planner& p, int n) {
  const auto& operands = p.node(n).operands;
  Extents y = p.extents({n, 0});
  Value best = operands[0];
  for (size_t i = operands.size(); i-- > 0;) {
    if (p.extents(operands[i]) == y && !p.isConstant(operands[i])) best = operands[i];
  }
  return best;
}

/// Both operands, broadcast; what has fills is copied.
Place broadcastTo(Planner& p, Value v, const Extents& extents) {
  Place there = p.place(v);
  if (there.access.fills()) there = p.as(v, compacted(there.access));
  there.access = broadcast(there.access, extents);
  return there;
}

bool lowerBinary(Planner& p, int n, const Epilogue& e) {
  const Node& node = p.node(n);
  // A sum or a scale behind it has no place in a binary primitive.
  if (!e.scale.empty() || e.sum()) return false;
  Extents extents = p.extents({n, 0});
  Value lead = leading(p, n);
  Place form = p.extents(lead) == extents ? p.dense(lead) : Place{-1, rowMajor(extents)};
  Place a = broadcastTo(p, node.operands[0], extents), b = broadcastTo(p, node.operands[1], extents);
  if (form.buffer >= 0) (lead == node.operands[0] ? a : b) = form;
  bool inPlace = form.buffer >= 0 && p.isFree(form);
  Place other = lead == node.operands[0] ? b : a;
  // Where the other operand lies in the same memory in another order or place, results would be read as operands.
  bool same = other.access.offset == form.access.offset && sameForm(other.access, form.access);
  if (inPlace && p.root(other.buffer) == p.root(form.buffer) && !same) inPlace = false;
  Place y = inPlace ? form : placeOfResult(p, e.result, form.access);
  bool alike = isDense(y.access) && sameForm(a.access, y.access) && sameForm(b.access, y.access);
  if (alike && binaryOf(node.op->name) != algorithm::undef && emitBinary(p, n, e, a, b, y)) {
    p.define(e.result, std::move(y));
    return true;
  }
  const bool rectify = e.post.size() == 1 && isRelu(e, 0);
  if (!e.isEmpty() && !rectify) return false;
  Loops loops({y.access, a.access, b.access});
  p.emit(std::make_unique<KernelStep>(std::vector<int>{y.buffer, a.buffer, b.buffer},
                                      kernelFor(node.op->name, loops, rectify, p.options().threads)));
  p.define(e.result, std::move(y));
  p.note(n, "a kernel of our own");
  return true;
}

/// y = condition ? a : b, position by position.
bool lowerWhere(Planner& p, int n, const Epilogue& e) {
  Extents extents = p.extents({n, 0});
  Value lead = leading(p, n);
  Access form = p.extents(lead) == extents ? compacted(p.place(lead).access) : rowMajor(extents);
  Place y = placeOfResult(p, e.result, form);
  std::vector<Access> accesses{y.access};
  std::vector<int> buffers{y.buffer};
  for (Value v : p.node(n).operands) {
    Place there = broadcastTo(p, v, extents);
    accesses.push_back(there.access);
    buffers.push_back(there.buffer);
  }
  Loops loops(accesses);
  p.emit(std::make_unique<KernelStep>(buffers, [loops, threads = p.options().threads](float* const* q) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int t = 0; t < threads; ++t) {
      loops.run(loops.rows() * t / threads, loops.rows() * (t + 1) / threads, [&](const int64_t* at) {
        const auto& step = loops.steps();
        const float *condition = q[1] + at[1], *a = q[2] + at[2], *b = q[3] + at[3];
        float* to = q[0] + at[0];
        for (int64_t i = 0; i < loops.count(); ++i)
          to[i * step[0]] = condition[i * step[1]] != 0 ? a[i * step[2]] : b[i * step[3]];
      });
    }
  }));
  p.define(e.result, std::move(y));
  p.note(n, "a kernel of our own");
  return true;
}

constexpr LowerRow kElementsRows[] = {
    {"Add", lowerBinary, lastDimension},
    {"Sub", lowerBinary, lastDimension},
    {"Mul", lowerBinary, lastDimension},
    {"Div", lowerBinary, lastDimension},
    {"PRelu", lowerBinary, lastDimension},
    {"Max", lowerBinary, lastDimension},
    {"Greater", lowerBinary, lastDimension},
    {"Relu", lowerFunction},
    {"LeakyRelu", lowerFunction},
    {"Sigmoid", lowerFunction},
    {"Tanh", lowerFunction},
    {"Exp", lowerFunction},
    {"Log", lowerFunction},
    {"Abs", lowerFunction},
    {"Sqrt", lowerFunction},
    {"Square", lowerFunction},
    {"Elu", lowerFunction},
    {"Selu", lowerFunction},
    {"Softplus", lowerFunction},
    {"HardSwish", lowerFunction},
    {"Swish", lowerFunction},
    {"Mish", lowerFunction},
    {"Neg", lowerFunction},
    {"Reciprocal", lowerFunction},
    {"Pow", lowerFunction},
    {"Gelu", lowerFunction},
    {"Clip", lowerFunction},
    {"Erf", lowerByKernel},
    {"Sin", lowerByKernel},
    {"Cos", lowerByKernel},
    {"Floor", lowerByKernel},
    {"Ceil", lowerByKernel},
    {"Mod", lowerByKernel},
    {"HardSigmoid", lowerHardSigmoid},
    {"Where", lowerWhere},
};

}  // namespace

std::span<const LowerRow> elementLowerings() {
  return kElementsRows;
}

}  // namespace pet::onednn
