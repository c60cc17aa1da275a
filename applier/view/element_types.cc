#include "applier/view/element_types.h"

#include <fmt/format.h>

#include "ir/ops/op.h"

namespace pet {

bool movesValues(const OpRow& op) {
  return op.layout || op.is(ops::kConstant) || op.is(ops::kIdentity) || op.is(ops::kWhere);
}

std::optional<std::string> whyNotOf(ElementType element, const OpRow& op, const Attributes& attributes) {
  if (isComputed(element)) return std::nullopt;
  if (!movesValues(op)) return fmt::format("{} computes, and {} is no floating point", op.name, str(element));
  for (const auto& [name, value] : attributes) {
    const auto* number = std::get_if<double>(&value);
    if (number && !hasNumber(element, *number)) return fmt::format("{} has no {}", str(element), *number);
  }
  return std::nullopt;
}

std::optional<std::string> whyNotOf(ElementType element, const Program& program) {
  for (const Node& n : program.nodes()) {
    if (n.is(ops::kInput)) continue;
    if (auto why = whyNotOf(element, *n.op, n.attributes)) return why;
  }
  return std::nullopt;
}

}  // namespace pet
