// Pools, reductions, Resize.

#include "applier/lift.h"

namespace pet {
namespace {

std::vector<Value> liftGlobalAveragePool(const Lifting& l) {
  return {l.add("GlobalAveragePool", {l.operand(0)})};
}

constexpr LiftRow kRows[] = {
    {"GlobalAveragePool", liftGlobalAveragePool},
};

}  // namespace

std::span<const LiftRow> liftPoolRows() {
  return kRows;
}

}  // namespace pet
