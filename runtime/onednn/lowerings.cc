#include "runtime/onednn/lowerings.h"

namespace pet::onednn {

const LowerRow* findLowering(std::string_view op) {
  for (auto rows : {convLowerings(), matmulLowerings(), elementLowerings(), poolLowerings(), normalizationLowerings(),
                    moveLowerings(), concatLowerings(), sumLowerings()}) {
    for (const LowerRow& row : rows) {
      if (row.op == op) return &row;
    }
  }
  return nullptr;
}

}  // namespace pet::onednn
