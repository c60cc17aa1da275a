#include "runtime/onednn/arena.h"

#include <algorithm>
#include <numeric>

namespace pet::onednn {

int64_t planBlocks(std::vector<Block>& blocks) {
  constexpr int64_t kLine = 16;
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].floats > blocks[b].floats; });
  std::vector<const Block*> placed;  // by offset
  int64_t total = 0;
  for (size_t i : order) {
    Block& block = blocks[i];
    if (block.first > block.last) continue;
    block.offset = 0;
    for (const Block* other : placed) {
      if (other->last < block.first || block.last < other->first) continue;
      if (other->offset >= block.offset + block.floats) break;
      block.offset = std::max(block.offset, (other->offset + other->floats + kLine - 1) / kLine * kLine);
    }
    auto behind =
        std::find_if(placed.begin(), placed.end(), [&](const Block* other) { return other->offset > block.offset; });
    placed.insert(behind, &block);
    total = std::max(total, block.offset + block.floats);
  }
  return total;
}

}  // namespace pet::onednn
