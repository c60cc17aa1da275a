#include "runtime/onednn/element_program.h"

#include <algorithm>
#include <cmath>
#include <iterator>
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
    case Code::kMax:
      return each(a, b, y, count, [](float u, float v) { return u < v || v != v ? v : u; });
    case Code::kGreater:
      return each(a, b, y, count, [](float u, float v) { return u > v ? 1.0F : 0.0F; });
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
    case Code::kSin:
      if (areQuickAngles(a, count)) return eachBy<quickSin>(a, y, count);
      return each(a, y, count, [](float v) { return std::sin(v); });
    case Code::kCos:
      if (areQuickAngles(a, count)) return eachBy<quickCos>(a, y, count);
      return each(a, y, count, [](float v) { return std::cos(v); });
    case Code::kFloor:
      return each(a, y, count, [](float v) { return std::floor(v); });
    case Code::kCeil:
      return each(a, y, count, [](float v) { return std::ceil(v); });
    case Code::kMod:
      return each(a, y, count, [=](float v) { return std::fmod(v, alpha); });
    case Code::kExp:
      return eachBy<quickExp>(a, y, count);
    case Code::kElu:
      for (int64_t i = 0; i < count; ++i)
        y[i] = beta * (a[i] < 0 ? alpha * quickExpLessOne(a[i]) : a[i]);
      return;
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
        y[i] = quickSwish(a[i], alpha);
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
      {"Add", Code::kAdd},
      {"Sub", Code::kSub},
      {"Mul", Code::kMul},
      {"Div", Code::kDiv},
      {"PRelu", Code::kPRelu},
      {"Max", Code::kMax},
      {"Greater", Code::kGreater},
      {"Where", Code::kWhere},
      {"Erf", Code::kErf},
      {"Sin", Code::kSin},
      {"Cos", Code::kCos},
      {"Floor", Code::kFloor},
      {"Ceil", Code::kCeil},
      {"Mod", Code::kMod},
      {"Reciprocal", Code::kReciprocal},
      {"HardSigmoid", Code::kHardSigmoid},
      {"Clip", Code::kClip},
  };
  const auto code = kCodes.find(node.op->name);
  if (code == kCodes.end()) {
    const auto function = plan::activationOf(node);
    return function ? elementOp(*function) : std::nullopt;
  }
  ElementOp op{code->second};
  auto number = [&](std::string_view name) { return static_cast<float>(node.number(name)); };
  if (op.code == Code::kHardSigmoid) {
    op.alpha = number("alpha");
    op.beta = number("beta");
  }
  if (op.code == Code::kMod) op.alpha = number("divisor");
  if (op.code == Code::kClip) {  // an Activation's bounds are finite
    op.alpha = number("min");
    op.beta = number("max");
  }
  return op;
}

std::optional<ElementOp> elementOp(const plan::Activation& function) {
  using plan::Function;
  static const std::map<Function, Code> kCodes{
      {Function::kLinear, Code::kLinear},   {Function::kRelu, Code::kRelu},
      {Function::kSigmoid, Code::kSigmoid}, {Function::kTanh, Code::kTanh},
      {Function::kExp, Code::kExp},         {Function::kElu, Code::kElu},
      {Function::kSqrt, Code::kSqrt},       {Function::kSquare, Code::kSquare},
      {Function::kSwish, Code::kSwish},     {Function::kHardSwish, Code::kHardSwish},
      {Function::kGeluErf, Code::kGeluErf}, {Function::kGeluTanh, Code::kGeluTanh},
      {Function::kClip, Code::kClip},
  };
  const auto code = kCodes.find(function.function);
  if (code == kCodes.end()) return std::nullopt;
  return ElementOp{code->second, function.alpha, function.beta};
}

bool isTranscendental(const ElementOp& op) {
  const Code codes[] = {Code::kSigmoid, Code::kTanh,    Code::kExp,     Code::kElu,
                        Code::kSwish,   Code::kGeluErf, Code::kGeluTanh};
  return std::find(std::begin(codes), std::end(codes), op.code) != std::end(codes);
}

void applyElements(const ElementOp& op, const float* x, float* y, int64_t count) {
  const float* const operands[3] = {x, x, x};
  runElements(op, operands, y, count);
}

ElementProgram::ElementProgram(plan::Loops loops, std::vector<float> numbers, std::vector<Step> steps)
    : loops_(std::move(loops)), steps_(std::move(steps)), operands_(loops_.steps().size() - 1), block_(kBlock) {
  if (loops_.count() <= kBlock / 2) loops_.joinRows();
  if (loops_.period() > 0) block_ = kBlock / loops_.period() * loops_.period();
  blocksOfRow_ = (loops_.count() + block_ - 1) / block_;
  for (float number : numbers)
    numbers_.insert(numbers_.end(), kBlock, number);
}

ElementProgram::Lying ElementProgram::lying(size_t tensor) const {
  const int64_t step = loops_.steps()[tensor], period = loops_.period();
  if (period == 0) return step == 0 ? Lying::kRepeated : step == 1 ? Lying::kSideBySide : Lying::kApart;
  const int64_t next = loops_.periodSteps()[tensor];
  return next == 0 ? Lying::kRepeated : step == 1 && next == period ? Lying::kSideBySide : Lying::kApart;
}

int64_t ElementProgram::at(size_t tensor, int64_t first) const {
  return loops_.period() == 0 ? first * loops_.steps()[tensor] : first / loops_.period() * loops_.periodSteps()[tensor];
}

namespace {

/// y[i] = x[i · step].
void gather(const float* x, int64_t step, float* y, int64_t count) {
  if (step == 1) {
    std::copy_n(x, count, y);
  } else if (step == 0) {
    std::fill_n(y, count, *x);
  } else {
    for (int64_t i = 0; i < count; ++i)
      y[i] = x[i * step];
  }
}

}  // namespace

/// What repeats, as a block.
void ElementProgram::startRow(const std::array<const float*, kMostOperands>& row, Blocks& blocks) const {
  const int64_t count = std::min(block_, loops_.count()), period = loops_.period() == 0 ? count : loops_.period();
  for (size_t i = 0; i < operands_; ++i) {
    if (lying(i + 1) != Lying::kRepeated) continue;
    for (int64_t v = 0; v < count; v += period)
      gather(row[i], loops_.steps()[i + 1], blocks.data() + static_cast<int64_t>(i) * kBlock + v, period);
  }
}

/// Some elements of an operand side by side.
const float* ElementProgram::operandOf(size_t i, const float* row, int64_t first, int64_t count, Blocks& blocks) const {
  float* block = blocks.data() + static_cast<int64_t>(i) * kBlock;
  const Lying how = lying(i + 1);
  if (how == Lying::kRepeated) return block;
  if (how == Lying::kSideBySide) return row + first;
  const int64_t period = loops_.period() == 0 ? count : loops_.period();
  for (int64_t v = 0; v < count; v += period)
    gather(row + at(i + 1, first + v), loops_.steps()[i + 1], block + v, period);
  return block;
}

/// The result from a block to where it lies apart.
void ElementProgram::store(const float* block, float* row, int64_t first, int64_t count) const {
  const int64_t period = loops_.period() == 0 ? count : loops_.period(), step = loops_.steps()[0];
  for (int64_t v = 0; v < count; v += period) {
    float* y = row + at(0, first + v);
    for (int64_t i = 0; i < period; ++i)
      y[i * step] = block[v + i];
  }
}

/// The blocks [begin, end) of all rows.
void ElementProgram::runBlocks(float* const* pointers, int64_t begin, int64_t end) const {
  Blocks blocks;
  std::array<const float*, kMostOperands + kMostNumbers + kMostSteps> registers{};
  for (size_t i = 0; i * kBlock < numbers_.size(); ++i)
    registers[operands_ + i] = numbers_.data() + i * kBlock;
  std::array<const float*, kMostOperands> operands{};
  float* result = nullptr;
  const bool isDirect = lying(0) == Lying::kSideBySide;
  for (int64_t b = begin; b < end; ++b) {
    const int64_t row = b / blocksOfRow_, first = b % blocksOfRow_ * block_;
    const int64_t count = std::min(block_, loops_.count() - first);
    if (b == begin || first == 0) {
      loops_.run(row, row + 1, [&](const int64_t* offsets) {
        result = pointers[0] + offsets[0];
        for (size_t i = 0; i < operands_; ++i)
          operands[i] = pointers[i + 1] + offsets[i + 1];
      });
      startRow(operands, blocks);
    }
    for (size_t i = 0; i < operands_; ++i)
      registers[i] = operandOf(i, operands[i], first, count, blocks);
    for (size_t s = 0; s < steps_.size(); ++s) {
      const bool isLast = s + 1 == steps_.size();
      float* y = isLast && isDirect ? result + first : blocks.data() + (operands_ + s) * kBlock;
      const float* from[3];
      for (size_t i = 0; i < 3; ++i)
        from[i] = registers[static_cast<size_t>(steps_[s].from[i])];
      runElements(steps_[s].op, from, y, count);
      registers[static_cast<size_t>(steps_[s].to)] = y;
      if (isLast && !isDirect) store(y, result, first, count);
    }
  }
}

void ElementProgram::run(float* const* pointers, [[maybe_unused]] int threads) const {
  const int64_t blocks = loops_.rows() * blocksOfRow_;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int t = 0; t < threads; ++t)
    runBlocks(pointers, blocks * t / threads, blocks * (t + 1) / threads);
}

}  // namespace pet::onednn
