#include "synth/analysis/in_full.h"

#include <algorithm>

#include "ir/denote.h"
#include "ir/ops/op.h"

namespace pet {

Program inFull(const Program& program) {
  const auto& nodes = program.nodes();
  auto known = unfoldable(program);
  const auto operators = std::count_if(nodes.begin(), nodes.end(), [](const Node& n) { return !n.is(ops::kInput); });
  const bool isComposed = std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.op->lower != nullptr; });
  if (!known || (isComposed && operators > 1)) return program;
  auto full = lower(program, known->definitions);
  return full ? std::move(*full) : program;
}

}  // namespace pet
