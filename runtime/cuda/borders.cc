#include "runtime/cuda/borders.h"

#include <cstdlib>

namespace pet::cuda {

Access inRows(const Extents& extents, int64_t border) {
  Extents padded = extents;
  padded.back() = nextBorder(padded.back(), border);
  return strided(extents, rowMajorStrides(padded));
}

bool liesInRows(const Access& access) {
  const auto strides = stridesOf(access);
  if (!strides || access.rank() < 2 || strides->back() != 1) return false;
  const int64_t apart = (*strides)[access.rank() - 2], columns = access.extents().back();
  return apart >= columns && sameForm(access, inRows(access.extents(), apart));
}

bool isOnBorders(const Access& access, int64_t border) {
  const auto strides = stridesOf(access);
  if (!strides || access.offset % border != 0) return false;
  for (size_t d = 0; d < access.rank(); ++d) {
    if (access.tables[d].size() > 1 && std::abs((*strides)[d]) > 1 && (*strides)[d] % border != 0) return false;
  }
  return true;
}

Place constantRows(Planner& p, const Tensor<float>& numbers, const Extents& extents) {
  Access form = inRows(extents, p.alignment());
  const int64_t columns = extents.back();
  const int64_t apart = (columns + p.alignment() - 1) / p.alignment() * p.alignment();
  Tensor<float> padded({elementCount(extents) / columns, apart});
  for (int64_t i = 0; i < numbers.size(); ++i)
    padded.data[static_cast<size_t>(i / columns * apart + i % columns)] = numbers.data[static_cast<size_t>(i)];
  return {p.constantPlace(std::move(padded)).buffer, std::move(form)};
}

}  // namespace pet::cuda
