#include "runtime/cuda/points.h"

#include <algorithm>

#include <fmt/format.h>

namespace pet::cuda {

Points::Points(Planner& planner, Place to) : Operands(planner, std::move(to)) {
  kernel_.to = to_.access;
}

std::string Points::add(const Place& operand) {
  const auto known = std::find(buffers_.begin(), buffers_.end(), operand.buffer);
  const auto pointer = static_cast<int>(known - buffers_.begin());
  if (known == buffers_.end()) buffers_.push_back(operand.buffer);
  kernel_.from.push_back({broadcast(operand.access, kernel_.to.extents()), pointer});
  kernel_.inPlace |= planner_.root(operand.buffer) == planner_.root(to_.buffer);
  return fmt::format("x{}", kernel_.from.size() - 1);
}

std::string Operands::addAlong(size_t dimension, const std::vector<float>& numbers) {
  if (std::all_of(numbers.begin(), numbers.end(), [&](float x) { return x == numbers[0]; })) return number(numbers[0]);
  Extents extents(to_.access.rank(), 1);
  extents[dimension] = static_cast<int64_t>(numbers.size());
  return add(planner_.constantPlace(Tensor<float>(extents, numbers)));
}

std::string Operands::after(std::string x, const Epilogue& epilogue, size_t channel) {
  if (!epilogue.scale.empty()) {
    const std::string scale = addAlong(channel, epilogue.scale), shift = addAlong(channel, epilogue.shift);
    x = fmt::format("(({}) * {} + {})", x, scale, shift);
  }
  for (const auto& post : epilogue.post) {
    const auto* activation = std::get_if<Activation>(&post);
    x = activation ? applied(*activation, x) : fmt::format("(({}) + {})", x, add(std::get<Value>(post)));
  }
  return x;
}

std::string Points::keep(const std::string& value) {
  std::string name = fmt::format("t{}", kept_++);
  kernel_.lines += fmt::format("  const float {} = {};\n", name, value);
  return name;
}

void Points::emit(std::string value) {
  kernel_.value = std::move(value);
  std::vector<CallStep::Argument> arguments{{to_.buffer}};
  for (int b : buffers_)
    arguments.push_back({b});
  planner_.emitPoints(std::move(kernel_), std::move(arguments));
}

std::string sumOf(Points& points, const std::vector<Place>& addends) {
  constexpr size_t kMostAddends = 128;
  if (addends.size() > kMostAddends) throw NotLowered{"a sum of too many"};
  std::string sum;
  for (const Place& addend : addends)
    sum += (sum.empty() ? "" : " + ") + points.add(addend);
  return "(" + sum + ")";
}

std::string applied(const Activation& activation, const std::string& x) {
  const std::string alpha = number(activation.alpha), beta = number(activation.beta);
  switch (activation.function) {
    case Function::kLinear:
      return fmt::format("(({}) * {} + {})", x, alpha, beta);
    case Function::kRelu:
      return fmt::format("relu({}, {})", x, alpha);
    case Function::kSigmoid:
      return fmt::format("sigmoid({})", x);
    case Function::kTanh:
      return fmt::format("tanhf({})", x);
    case Function::kExp:
      return fmt::format("expf({})", x);
    case Function::kLog:
      return fmt::format("logf({})", x);
    case Function::kSqrt:
      return fmt::format("sqrtf({})", x);
    case Function::kSquare:
      return fmt::format("square({})", x);
    case Function::kPow:
      if (activation.beta == -1) return fmt::format("({} / ({}))", alpha, x);
      return fmt::format("({} * powf({}, {}))", alpha, x, beta);
    case Function::kElu:
      return fmt::format("elu({}, {}, {})", x, alpha, beta);
    case Function::kSoftplus:
      return fmt::format("softplus({})", x);
    case Function::kSwish:
      return fmt::format("swish({}, {})", x, alpha);
    case Function::kMish:
      return fmt::format("mish({})", x);
    case Function::kHardSwish:
      return fmt::format("hardswish({})", x);
    case Function::kGeluErf:
      return fmt::format("geluErf({})", x);
    case Function::kGeluTanh:
      return fmt::format("geluTanh({})", x);
    case Function::kClip:
      return fmt::format("clip({}, {}, {})", x, alpha, beta);
  }
  return x;
}

}  // namespace pet::cuda
