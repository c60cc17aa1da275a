#include "runtime/onednn/element_program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "ir/ops/op.h"
#include "ir/quick_math.h"
#include "ir/wide_loops.h"

namespace pet::onednn {
namespace {

using Code = ElementOp::Code;

template <class F>
[[gnu::always_inline]] inline void each(const float* a, float* y, int64_t count, F f) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = f(a[i]);
}
template <class F>
[[gnu::always_inline]] inline void each(const float* a, const float* b, float* y, int64_t count, F f) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = f(a[i], b[i]);
}

/// y[i] = f(a[i]) by a function that is to be inlined, as lambdas of its size are not.
template <float (*f)(float)>
[[gnu::always_inline]] inline void eachBy(const float* a, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = f(a[i]);
}

[[gnu::always_inline]] inline float hardSwish(float x) {
  const float gate = x * (1.0F / 6) + 0.5F;
  return x * (gate < 0 ? 0 : gate > 1 ? 1 : gate);
}
[[gnu::always_inline]] inline float geluErf(float x) {
  return 0.5F * x * (1 + quickErf(x * 0.707106781F));
}
[[gnu::always_inline]] inline float geluTanh(float x) {
  return 0.5F * x * (1 + quickTanh(0.797884561F * (x + 0.044715F * x * x * x)));
}

/// One function: functions with versions for processors are no templates.
PET_WIDE_LOOPS void runElements(const ElementOp& op, const float* const* x, float* y, int64_t count) {
  const float alpha = op.alpha, beta = op.beta;
  const float *a = x[0], *b = x[1], *c = x[2];
  switch (op.code) {
    case Code::kAdd:
      return each(a, b, y, count, [](float u, float v) { return u + v; });
    case Code::kSub:
      return each(a, b, y, count, [](float u, float v) { return u - v; });
    case Code::kMul:
      return each(a, b, y, count, [](float u, float v) { return u * v; });
    case Code::kDiv:
      return each(a, b, y, count, [](float u, float v) { return u / v; });
    case Code::kPRelu:
      return each(a, b, y, count, [](float u, float slope) { return u < 0 ? u * slope : u; });
    case Code::kWhere:
      for (int64_t i = 0; i < count; ++i)
        y[i] = a[i] != 0 ? b[i] : c[i];
      return;
    case Code::kLinear:
      return each(a, y, count, [=](float v) { return alpha * v + beta; });
    case Code::kRelu:
      return each(a, y, count, [=](float v) { return v < 0 ? alpha * v : v; });
    case Code::kSigmoid:
      return eachBy<quickSigmoid>(a, y, count);
    case Code::kTanh:
      return eachBy<quickTanh>(a, y, count);
    case Code::kErf:
      return eachBy<quickErf>(a, y, count);
    case Code::kExp:
      return eachBy<quickExp>(a, y, count);
    case Code::kSqrt:
      return each(a, y, count, [](float v) { return std::sqrt(v); });
    case Code::kReciprocal:
      return each(a, y, count, [](float v) { return 1 / v; });
    case Code::kSquare:
      return each(a, y, count, [](float v) { return v * v; });
    case Code::kClip:
      return each(a, y, count, [=](float v) { return v < alpha ? alpha : v > beta ? beta : v; });
    case Code::kHardSwish:
      return eachBy<hardSwish>(a, y, count);
    case Code::kHardSigmoid:
      return each(a, y, count, [=](float v) {
        const float gate = alpha * v + beta;
        return gate < 0 ? 0 : gate > 1 ? 1 : gate;
      });
    case Code::kSwish:
      for (int64_t i = 0; i < count; ++i)
        y[i] = a[i] * quickSigmoid(alpha * a[i]);
      return;
    case Code::kGeluErf:
      return eachBy<geluErf>(a, y, count);
    case Code::kGeluTanh:
      return eachBy<geluTanh>(a, y, count);
  }
}

}  // namespace

std::optional<ElementOp> elementOp(const Node& node) {
  static const std::map<std::string_view, Code> kCodes{
      {"Add", Code::kAdd},         {"Sub", Code::kSub},      {"Mul", Code::kMul},
      {"Div", Code::kDiv},         {"PRelu", Code::kPRelu},  {"Where", Code::kWhere},
      {"Neg", Code::kLinear},      {"Relu", Code::kRelu},    {"LeakyRelu", Code::kRelu},
      {"Sigmoid", Code::kSigmoid}, {"Tanh", Code::kTanh},    {"Erf", Code::kErf},
      {"Exp", Code::kExp},         {"Sqrt", Code::kSqrt},    {"Reciprocal", Code::kReciprocal},
      {"Square", Code::kSquare},   {"Clip", Code::kClip},    {"HardSwish", Code::kHardSwish},
      {"Swish", Code::kSwish},     {"Gelu", Code::kGeluErf}, {"HardSigmoid", Code::kHardSigmoid},
  };
  auto code = kCodes.find(node.op->name);
  if (code == kCodes.end()) return std::nullopt;
  ElementOp op{code->second};
  auto number = [&](std::string_view name) { return static_cast<float>(node.number(name)); };
  const std::string_view name = code->first;
  if (name == "Neg") op.alpha = -1;
  if (name == "Relu") op.alpha = 0;
  if (name == "LeakyRelu" || name == "Swish" || name == "HardSigmoid") op.alpha = number("alpha");
  if (name == "HardSigmoid") op.beta = number("beta");
  if (name == "Clip") {
    op.alpha = number("min");
    op.beta = number("max");
  }
  if (name == "Gelu" && node.text("approximate") == "tanh") op.code = Code::kGeluTanh;
  return op;
}

ElementProgram::ElementProgram(plan::Loops loops, std::vector<float> numbers, std::vector<Step> steps)
    : loops_(std::move(loops)),
      steps_(std::move(steps)),
      operands_(loops_.steps().size() - 1),
      registers_(operands_ + numbers.size() + steps_.size()) {
  for (float number : numbers)
    numbers_.insert(numbers_.end(), kBlock, number);
}

void ElementProgram::runRows(float* const* pointers, int64_t begin, int64_t end) const {
  std::array<float, kBlock*(kMostOperands + kMostSteps)> blocks;
  std::array<const float*, kMostOperands + kMostNumbers + kMostSteps> registers{};
  const size_t numbers = numbers_.size() / kBlock;
  for (size_t i = 0; i < numbers; ++i)
    registers[operands_ + i] = numbers_.data() + i * kBlock;
  const auto& step = loops_.steps();
  loops_.run(begin, end, [&](const int64_t* at) {
    for (int64_t first = 0; first < loops_.count(); first += kBlock) {
      const int64_t count = std::min(kBlock, loops_.count() - first);
      for (size_t i = 0; i < operands_; ++i) {
        const float* x = pointers[i + 1] + at[i + 1] + first * step[i + 1];
        float* block = blocks.data() + i * kBlock;
        registers[i] = step[i + 1] == 1 ? x : block;
        if (step[i + 1] == 0) std::fill_n(block, count, *x);
        for (int64_t v = 0; step[i + 1] > 1 && v < count; ++v)
          block[v] = x[v * step[i + 1]];
      }
      for (size_t s = 0; s < steps_.size(); ++s) {
        const bool isLast = s + 1 == steps_.size();
        float* y = isLast ? pointers[0] + at[0] + first : blocks.data() + (operands_ + s) * kBlock;
        const float* from[3];
        for (size_t i = 0; i < 3; ++i)
          from[i] = registers[static_cast<size_t>(steps_[s].from[i])];
        runElements(steps_[s].op, from, y, count);
        registers[static_cast<size_t>(steps_[s].to)] = y;
      }
    }
  });
}

void ElementProgram::run(float* const* pointers, [[maybe_unused]] int threads) const {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int t = 0; t < threads; ++t)
    runRows(pointers, loops_.rows() * t / threads, loops_.rows() * (t + 1) / threads);
}

}  // namespace pet::onednn
