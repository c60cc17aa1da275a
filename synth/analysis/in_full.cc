#include "synth/analysis/in_full.h"

#include <algorithm>

#include "ir/denote.h"
#include "synth/analysis/in_pieces.h"

namespace pet {

Program inFull(const Program& program) {
  if (auto pieces = inPieces(program)) return lower(*pieces).value_or(program);
  const auto& nodes = program.nodes();
  auto known = unfoldable(program);
  if (!known || std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.op->lower != nullptr; }))
    return program;
  auto full = lower(program, known->definitions);
  return full ? std::move(*full) : program;
}

}  // namespace pet
