// What follows an operator and can be done with it: sums and products with constants per channel, normalisations,
// functions, sums with other values.

#include "runtime/plan/epilogue.h"

#include <algorithm>
#include <cmath>

#include "runtime/plan/planner.h"

namespace pet::plan {
namespace {

/// A constant that broadcasts to `extents` and differs along dimension `channel` alone, as one value per channel.
std::optional<std::vector<float>> perChannel(const Tensor<float>& c, const Extents& extents, size_t channel) {
  if (c.extents.size() > extents.size() || channel >= extents.size()) return std::nullopt;
  size_t missing = extents.size() - c.extents.size();
  auto channels = static_cast<size_t>(extents[channel]);
  for (size_t d = 0; d < c.extents.size(); ++d) {
    if (c.extents[d] != 1 && (d + missing != channel || c.extents[d] != extents[channel])) return std::nullopt;
  }
  return c.size() == 1 ? std::vector<float>(channels, c.data[0]) : c.data;
}

/// Grows an epilogue node by node.
class Growing {
 public:
  Growing(const Planner& planner, Value value, size_t channel)
      : planner_(planner), channel_(channel), extents_(planner.extents(value)) {
    epilogue_.result = value;
  }

  bool take(int member) {
    const Node& node = planner_.node(member);
    if (planner_.extents({member, 0}) != extents_) return false;
    if (!takeFunction(node) && !takeNormalization(node) && !takeArithmetic(node)) return false;
    epilogue_.result = {member, 0};
    ++epilogue_.length;
    return true;
  }
  Epilogue finish() && { return std::move(epilogue_); }

 private:
  bool takeFunction(const Node& node) {
    auto activation = activationOf(node);
    if (activation) epilogue_.post.emplace_back(*activation);
    return activation.has_value();
  }

  bool takeNormalization(const Node& node) {
    if (!node.is(ops::kBatchNormalization) || node.operands[0] != epilogue_.result) return false;
    if (channel_ != 1 || !epilogue_.post.empty()) return false;
    const Tensor<float>* numbers[4];
    for (size_t i = 0; i < 4; ++i) {
      numbers[i] = planner_.constant(node.operands[i + 1]);
      if (!numbers[i]) return false;
    }
    epilogue_.complete(extents_[channel_]);
    for (size_t c = 0; c < epilogue_.scale.size(); ++c) {
      double scale = numbers[0]->data[c] / std::sqrt(double{numbers[3]->data[c]} + node.number("epsilon"));
      epilogue_.scale[c] = static_cast<float>(epilogue_.scale[c] * scale);
      epilogue_.shift[c] =
          static_cast<float>((double{epilogue_.shift[c]} - numbers[2]->data[c]) * scale + numbers[1]->data[c]);
    }
    return true;
  }

  bool takeArithmetic(const Node& node) {
    std::string_view op = node.op->name;
    if (node.operands.size() != 2 || (op != "Add" && op != "Sub" && op != "Mul" && op != "Div")) return false;
    bool first = node.operands[0] == epilogue_.result;
    Value other = node.operands[first ? 1 : 0];
    if (other == epilogue_.result) return false;
    const Tensor<float>* constant = planner_.constant(other);
    if (!constant) {
      if (op != "Add" || epilogue_.sum() || planner_.extents(other) != extents_) return false;
      epilogue_.post.emplace_back(other);
      return true;
    }
    auto numbers = perChannel(*constant, extents_, channel_);
    if (!numbers || (op == "Div" && !first)) return false;
    if (!epilogue_.post.empty()) return takeLinear(op, first, *numbers);
    epilogue_.complete(extents_[channel_]);
    for (size_t c = 0; c < numbers->size(); ++c)
      applyTo(epilogue_.scale[c], epilogue_.shift[c], op, first, (*numbers)[c]);
    return true;
  }

  /// Behind a function or a sum, with one number for all channels.
  bool takeLinear(std::string_view op, bool first, const std::vector<float>& numbers) {
    if (numbers.empty()) return false;
    const float by = numbers[0];
    if (std::any_of(numbers.begin(), numbers.end(), [&](float x) { return x != by; })) return false;
    auto* last = std::get_if<Activation>(&epilogue_.post.back());
    if (!last || last->function != Function::kLinear)
      last = &std::get<Activation>(epilogue_.post.emplace_back(Activation{Function::kLinear, 1, 0}));
    applyTo(last->alpha, last->beta, op, first, by);
    return true;
  }

  /// scale x + shift becomes (scale x + shift) `op` by, or by `op` that where it does not come first.
  static void applyTo(float& scale, float& shift, std::string_view op, bool first, float by) {
    if (op == "Sub" && !first) {
      scale = -scale;
      shift = by - shift;
    } else if (op == "Add" || op == "Sub") {
      shift += op == "Add" ? by : -by;
    } else {
      scale = op == "Mul" ? scale * by : scale / by;
      shift = op == "Mul" ? shift * by : shift / by;
    }
  }

  const Planner& planner_;
  size_t channel_;
  Extents extents_;
  Epilogue epilogue_;
};

}  // namespace

const Value* Epilogue::sum() const {
  for (const auto& p : post) {
    if (const Value* v = std::get_if<Value>(&p)) return v;
  }
  return nullptr;
}

void Epilogue::complete(int64_t channels) {
  if (!scale.empty()) return;
  scale.assign(static_cast<size_t>(channels), 1);
  shift.assign(static_cast<size_t>(channels), 0);
}

Epilogue epilogueOf(const Planner& planner, Value value, std::span<const int> members, size_t channel, int limit) {
  Growing growing(planner, value, channel);
  for (int m : members.first(std::min(members.size(), static_cast<size_t>(limit)))) {
    if (!growing.take(m)) break;
  }
  return std::move(growing).finish();
}

bool isRelu(const Epilogue& epilogue, size_t i) {
  const Activation* a = i < epilogue.post.size() ? std::get_if<Activation>(&epilogue.post[i]) : nullptr;
  return a && a->isRelu();
}

std::optional<Behind> behindOf(const Epilogue& epilogue) {
  Behind behind;
  const size_t first = !epilogue.post.empty() && std::holds_alternative<Value>(epilogue.post[0]) ? 1 : 0;
  for (size_t i = first; i < epilogue.post.size(); ++i) {
    const auto* function = std::get_if<Activation>(&epilogue.post[i]);
    if (!function) return std::nullopt;
    if (i == first && function->isRelu()) {
      behind.bounds.least = 0;
    } else if (i == first && function->function == Function::kClip) {
      behind.bounds = {function->alpha, function->beta};
    } else {
      behind.functions.push_back(*function);
    }
  }
  return behind;
}

Epilogue gemmEpilogue(const Planner& planner, int gemm, const Epilogue& behind) {
  const Node& node = planner.node(gemm);
  const Extents y = planner.extents({gemm, 0});
  Epilogue e = behind;
  const auto alpha = static_cast<float>(node.number("alpha")), beta = static_cast<float>(node.number("beta"));
  if (alpha != 1 || node.operands.size() > 2) e.complete(y[1]);
  if (node.operands.size() > 2) {
    const Tensor<float>* c = planner.constant(node.operands[2]);
    const bool perColumn = c && (c->size() == 1 || (c->extents.back() == y[1] && c->size() == y[1]));
    if (!perColumn) throw NotLowered{"Gemm with an addend that is not one number per column"};
    for (size_t i = 0; i < e.shift.size(); ++i)
      e.shift[i] += e.scale[i] * beta * c->data[c->size() == 1 ? 0 : i];
  }
  for (float& s : e.scale)
    s *= alpha;
  return e;
}

std::optional<Activation> activationOf(const Node& node) {
  std::string_view op = node.op->name;
  auto number = [&](std::string_view name) { return static_cast<float>(node.number(name)); };
  if (op == "Relu") return Activation{Function::kRelu};
  if (op == "LeakyRelu") return Activation{Function::kRelu, number("alpha")};
  if (op == "Sigmoid") return Activation{Function::kSigmoid};
  if (op == "Tanh") return Activation{Function::kTanh};
  if (op == "Exp") return Activation{Function::kExp};
  if (op == "Log") return Activation{Function::kLog};
  if (op == "Abs") return Activation{Function::kRelu, -1};
  if (op == "Sqrt") return Activation{Function::kSqrt};
  if (op == "Square") return Activation{Function::kSquare};
  if (op == "Elu") return Activation{Function::kElu, number("alpha"), 1};
  if (op == "Selu") return Activation{Function::kElu, number("alpha"), number("gamma")};
  if (op == "Softplus") return Activation{Function::kSoftplus};
  if (op == "Swish") return Activation{Function::kSwish, number("alpha")};
  if (op == "Mish") return Activation{Function::kMish};
  if (op == "HardSwish") return Activation{Function::kHardSwish};
  if (op == "Neg") return Activation{Function::kLinear, -1};
  if (op == "Reciprocal") return Activation{Function::kPow, 1, -1};
  if (op == "Pow") return Activation{Function::kPow, 1, number("exponent")};
  if (op == "Gelu") return Activation{node.text("approximate") == "tanh" ? Function::kGeluTanh : Function::kGeluErf};
  if (op == "Clip") {
    auto finite = [](double x) { return static_cast<float>(std::clamp<double>(x, -3.4028235e38, 3.4028235e38)); };
    return Activation{Function::kClip, finite(node.number("min")), finite(node.number("max"))};
  }
  return std::nullopt;
}

}  // namespace pet::plan
