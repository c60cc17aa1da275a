#include "runtime/cuda/fused.h"

namespace pet::cuda {
namespace {

/// How many of the epilogue's last part are computed.
size_t taken(const Fused& fused) {
  return (fused.added ? 1 : 0) + (fused.activated ? 1 : 0);
}

}  // namespace

std::vector<Fused> choicesOf(const Epilogue& epilogue) {
  const auto& post = epilogue.post;
  const bool bias = !epilogue.shift.empty();
  const bool sums = !post.empty() && std::holds_alternative<Value>(post[0]);
  auto isFunction = [&](size_t i) { return i < post.size() && std::holds_alternative<Activation>(post[i]); };
  std::vector<Fused> choices;
  if (sums && isFunction(1)) choices.push_back({bias, true, true});
  if (sums) choices.push_back({bias, true, false});
  if (isFunction(0)) choices.push_back({bias, false, true});
  if (bias) choices.push_back({true, false, false});
  choices.push_back({});
  return choices;
}

std::optional<Activation> activationIn(const Fused& fused, const Epilogue& epilogue) {
  if (!fused.activated) return std::nullopt;
  return std::get<Activation>(epilogue.post[fused.added ? 1 : 0]);
}

bool leavesRest(const Fused& fused, const Epilogue& epilogue) {
  return (!fused.bias && !epilogue.shift.empty()) || epilogue.post.size() > taken(fused);
}

void emitRest(Planner& p, const Fused& fused, const Epilogue& epilogue, const Place& y, size_t channel) {
  if (!leavesRest(fused, epilogue)) return;
  Epilogue rest = epilogue;
  rest.scale.clear();
  rest.post.erase(rest.post.begin(), rest.post.begin() + static_cast<std::ptrdiff_t>(taken(fused)));
  Points points(p, y);
  std::string x = points.add(y);
  if (!fused.bias && !rest.shift.empty()) x = "(" + x + " + " + points.addAlong(channel, rest.shift) + ")";
  points.emit(points.after(x, rest, channel));
}

}  // namespace pet::cuda
