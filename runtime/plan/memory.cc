#include "runtime/plan/memory.h"

#include <algorithm>
#include <numeric>

namespace pet::plan {

int64_t planBlocks(std::vector<Block>& blocks, int64_t alignment) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].elements > blocks[b].elements; });
  std::vector<const Block*> placed;  // by offset
  int64_t total = 0;
  for (size_t i : order) {
    Block& block = blocks[i];
    if (block.first > block.last) continue;
    block.offset = 0;
    for (const Block* other : placed) {
      if (other->last < block.first || block.last < other->first) continue;
      if (other->offset >= block.offset + block.elements) break;
      const int64_t behind = (other->offset + other->elements + alignment - 1) / alignment * alignment;
      block.offset = std::max(block.offset, behind);
    }
    auto behind =
        std::find_if(placed.begin(), placed.end(), [&](const Block* other) { return other->offset > block.offset; });
    placed.insert(behind, &block);
    total = std::max(total, block.offset + block.elements);
  }
  return total;
}

Memory::Memory(const Planner& planner, int64_t elementBytes, int64_t alignment, const std::vector<During>& during)
    : planner_(planner),
      elementBytes_(elementBytes),
      blocks_(planner.buffers.size()),
      pointers_(planner.buffers.size()) {
  planArena(alignment, during);
}

void Memory::planArena(int64_t alignment, const std::vector<During>& during) {
  const auto& buffers = planner_.buffers;
  const int steps = static_cast<int>(planner_.steps.size());
  for (size_t b = 0; b < buffers.size(); ++b)
    blocks_[b] = {buffers[b].elements, steps, -1, 0};
  for (int s = 0; s < steps; ++s) {
    Step* step = planner_.steps[static_cast<size_t>(s)].get();
    const During time = during.empty() ? During{s, s} : during[static_cast<size_t>(s)];
    bool moves = false;
    for (int b : step->buffers) {
      const auto root = static_cast<size_t>(planner_.root(b));
      blocks_[root].first = std::min(blocks_[root].first, time.first);
      blocks_[root].last = std::max(blocks_[root].last, time.last);
      moves |= buffers[root].kind == Buffer::Kind::kInput || buffers[root].kind == Buffer::Kind::kOutput;
    }
    if (moves) moving_.push_back(step);
  }
  for (size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].kind != Buffer::Kind::kArena || buffers[b].parent >= 0) blocks_[b].last = -1;
  }
  arenaElements_ = planBlocks(blocks_, alignment);
}

const Pointers& Memory::bind(const Bases& bases) {
  const auto& buffers = planner_.buffers;
  for (size_t b = 0; b < buffers.size(); ++b) {
    int64_t offset = 0;
    size_t root = b;
    for (; buffers[root].parent >= 0; root = static_cast<size_t>(buffers[root].parent))
      offset += buffers[root].offset;
    const auto index = static_cast<size_t>(buffers[root].index);
    char* base = nullptr;
    switch (buffers[root].kind) {
      case Buffer::Kind::kArena:
        base = bases.arena;
        offset += blocks_[root].offset;
        break;
      case Buffer::Kind::kInput:
        base = bases.inputs[index];
        break;
      case Buffer::Kind::kOutput:
        base = bases.outputs[index];
        break;
      case Buffer::Kind::kConstant:
        base = bases.constants[index];
        break;
    }
    pointers_[b] = base ? base + offset * elementBytes_ : nullptr;
  }
  return pointers_;
}

}  // namespace pet::plan
