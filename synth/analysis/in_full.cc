#include "synth/analysis/in_full.h"

#include <algorithm>

#include "ir/denote.h"

namespace pet {

Program inFull(const Program& program) {
  const auto& nodes = program.nodes();
  auto known = unfoldable(program);
  if (!known || std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.op->lower != nullptr; }))
    return program;
  auto full = lower(program, known->definitions);
  return full ? std::move(*full) : program;
}

}  // namespace pet
