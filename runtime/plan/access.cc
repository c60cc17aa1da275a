#include "runtime/plan/access.h"

#include <algorithm>
#include <numeric>

namespace pet::plan {
namespace {

bool isFill(int64_t entry) {
  return entry == kFill;
}

/// Makes the first entry that is no fill 0; what it was goes into the offset.
void normaliseTable(std::vector<int64_t>& table, int64_t& offset) {
  auto first = std::find_if_not(table.begin(), table.end(), isFill);
  if (first == table.end() || *first == 0) return;
  int64_t by = *first;
  offset += by;
  for (int64_t& entry : table) {
    if (!isFill(entry)) entry -= by;
  }
}

/// The stride of a table without fills, if it has one; extents above 1 only.
std::optional<int64_t> strideOf(const std::vector<int64_t>& table) {
  int64_t stride = table[1] - table[0];
  for (size_t i = 0; i < table.size(); ++i) {
    if (isFill(table[i]) || table[i] != static_cast<int64_t>(i) * stride) return std::nullopt;
  }
  return stride;
}

}  // namespace

Extents Access::extents() const {
  Extents result;
  for (const auto& table : tables)
    result.push_back(static_cast<int64_t>(table.size()));
  return result;
}

bool Access::fills() const {
  return std::any_of(tables.begin(), tables.end(),
                     [](const auto& table) { return std::any_of(table.begin(), table.end(), isFill); });
}

void normalise(Access& access) {
  for (auto& table : access.tables)
    normaliseTable(table, access.offset);
}

Access strided(const Extents& extents, const std::vector<int64_t>& strides) {
  Access access;
  for (size_t d = 0; d < extents.size(); ++d)
    access.tables.push_back(multiples(extents[d], strides[d]));
  return access;
}

Access inOrder(const Extents& extents, const std::vector<size_t>& order) {
  std::vector<int64_t> strides(extents.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= extents[order[i]];
  }
  return strided(extents, strides);
}

std::vector<size_t> rowMajorOrder(size_t rank) {
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<size_t> channelsLastOrder(size_t rank) {
  std::vector<size_t> order = rowMajorOrder(rank);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

Access rowMajor(const Extents& extents) {
  return inOrder(extents, rowMajorOrder(extents.size()));
}

Access channelsLast(const Extents& extents) {
  return inOrder(extents, channelsLastOrder(extents.size()));
}

Access channelsBlocked(const Extents& extents, int64_t block) {
  Extents outer = extents;
  outer[1] /= block;
  Access access = rowMajor(outer);
  for (auto& table : access.tables) {
    for (int64_t& entry : table)
      entry *= block;
  }
  std::vector<int64_t> inner = multiples(block, 1);
  access.tables[1] = merged({&access.tables[1], &inner});
  return access;
}

bool sameForm(const Access& a, const Access& b) {
  return a.tables == b.tables && (!a.fills() || a.fill == b.fill);
}

std::optional<std::vector<int64_t>> stridesOf(const Access& access) {
  std::vector<int64_t> strides(access.rank());
  int64_t dense = 1;
  for (size_t d = access.rank(); d-- > 0;) {
    const auto& table = access.tables[d];
    if (isFill(table[0])) return std::nullopt;
    auto stride = table.size() > 1 ? strideOf(table) : dense;
    if (!stride) return std::nullopt;
    strides[d] = *stride;
    dense = std::max(dense, *stride * static_cast<int64_t>(table.size()));
  }
  return strides;
}

std::optional<std::vector<size_t>> orderOf(const Access& access) {
  auto strides = stridesOf(access);
  if (!strides) return std::nullopt;
  std::vector<size_t> order = rowMajorOrder(access.rank());
  auto extent = [&](size_t d) { return access.tables[d].size(); };
  // Dimensions of extent 1 stand wherever they are; the others by stride.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return (*strides)[a] > (*strides)[b]; });
  int64_t dense = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (extent(order[i]) == 1) continue;
    if ((*strides)[order[i]] != dense) return std::nullopt;
    dense *= static_cast<int64_t>(extent(order[i]));
  }
  return order;
}

int64_t reach(const Access& access) {
  int64_t last = 0;
  for (const auto& table : access.tables) {
    int64_t most = 0;
    for (int64_t entry : table)
      most = isFill(entry) ? most : std::max(most, entry);
    last += most;
  }
  return last + 1;
}

std::vector<float> laidOut(const std::vector<float>& numbers, const Extents& extents, const Access& access) {
  Access within = access;
  std::vector<const std::vector<int64_t>*> tables;
  for (size_t d = 0; d < extents.size(); ++d) {
    within.tables[d].resize(static_cast<size_t>(extents[d]));
    tables.push_back(&within.tables[d]);
  }
  const std::vector<int64_t> places = merged(tables);
  std::vector<float> memory(static_cast<size_t>(reach(access)), 0);
  for (size_t i = 0; i < numbers.size(); ++i)
    memory[static_cast<size_t>(places[i])] = numbers[i];
  return memory;
}

bool isDense(const Access& access) {
  if (access.fills()) return false;
  if (orderOf(access)) return true;
  // Blocked: a sum of tables that are permutations of a mixed-radix number system covers each value once.
  if (access.rank() < 2 || reach(access) != elementCount(access.extents())) return false;
  Extents extents = access.extents();
  return extents[1] % 16 == 0 && sameForm(access, channelsBlocked(extents, 16));
}

std::vector<size_t> memoryOrder(const Access& access) {
  std::vector<size_t> order = rowMajorOrder(access.rank());
  auto step = [&](size_t d) {
    const auto& table = access.tables[d];
    auto first = std::find_if(table.begin(), table.end(), [](int64_t x) { return !isFill(x); });
    auto second = first == table.end()
                    ? first
                    : std::find_if(first, table.end(), [&](int64_t x) { return !isFill(x) && x != *first; });
    return second == table.end() ? int64_t{0} : std::abs(*second - *first);
  };
  // Dimensions of one position, or that repeat, stay in front of the next one.
  std::vector<int64_t> steps(access.rank());
  int64_t least = 0;
  for (size_t d = access.rank(); d-- > 0;) {
    steps[d] = step(d) == 0 ? least : step(d);
    least = std::max(least, steps[d]);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return steps[a] > steps[b]; });
  return order;
}

Access compacted(const Access& access) {
  return inOrder(access.extents(), memoryOrder(access));
}

Access permuted(const Access& access, const std::vector<size_t>& perm) {
  Access result{access.offset, {}, access.fill};
  for (size_t d : perm)
    result.tables.push_back(access.tables[d]);
  return result;
}

Access swapped(const Access& access) {
  std::vector<size_t> perm(access.rank());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[access.rank() - 2], perm[access.rank() - 1]);
  return permuted(access, perm);
}

Access selected(const Access& access, size_t d, const std::vector<int64_t>& positions) {
  Access result = access;
  std::vector<int64_t> table;
  for (int64_t p : positions)
    table.push_back(p < 0 ? kFill : access.tables[d][static_cast<size_t>(p)]);
  result.tables[d] = std::move(table);
  normaliseTable(result.tables[d], result.offset);
  return result;
}

std::vector<int64_t> multiples(int64_t extent, int64_t stride) {
  std::vector<int64_t> table(static_cast<size_t>(extent));
  for (int64_t i = 0; i < extent; ++i)
    table[static_cast<size_t>(i)] = i * stride;
  return table;
}

std::vector<int64_t> merged(const std::vector<const std::vector<int64_t>*>& tables) {
  std::vector<int64_t> result{0};
  for (const auto* table : tables) {
    std::vector<int64_t> next;
    next.reserve(result.size() * table->size());
    for (int64_t outer : result) {
      for (int64_t inner : *table)
        next.push_back(isFill(outer) || isFill(inner) ? kFill : outer + inner);
    }
    result = std::move(next);
  }
  return result;
}

std::optional<std::vector<std::vector<int64_t>>> split(const std::vector<int64_t>& table,
                                                       const Extents& extents,
                                                       int64_t& offset) {
  auto first = std::find_if_not(table.begin(), table.end(), isFill);
  if (first == table.end()) {  // all fill
    std::vector<std::vector<int64_t>> parts;
    for (int64_t e : extents)
      parts.emplace_back(static_cast<size_t>(e), kFill);
    return parts;
  }
  // Digits of a position that is no fill; each digit's table is read off by moving that digit alone.
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t i = extents.size(); i-- > 1;)
    strides[i - 1] = strides[i] * extents[i];
  int64_t at = first - table.begin();
  std::vector<std::vector<int64_t>> parts;
  for (size_t i = 0; i < extents.size(); ++i) {
    int64_t digit = at / strides[i] % extents[i], base = at - digit * strides[i];
    std::vector<int64_t> part;
    for (int64_t j = 0; j < extents[i]; ++j) {
      int64_t entry = table[static_cast<size_t>(base + j * strides[i])];
      part.push_back(isFill(entry) ? kFill : entry - *first);
    }
    parts.push_back(std::move(part));
  }
  std::vector<const std::vector<int64_t>*> pointers;
  for (const auto& part : parts)
    pointers.push_back(&part);
  std::vector<int64_t> back = merged(pointers);
  for (int64_t& entry : back)
    entry = isFill(entry) ? kFill : entry + *first;
  if (back != table) return std::nullopt;
  offset += *first;
  for (auto& part : parts)
    normaliseTable(part, offset);
  return parts;
}

std::optional<Access> reshaped(const Access& access, const Extents& extents) {
  Access result{access.offset, {}, access.fill};
  bool allFill = false;  // a dimension of one position that is the fill, and goes
  size_t in = 0, out = 0;
  while (in < access.rank() || out < extents.size()) {
    // The shortest runs of dimensions on either side with the same product.
    int64_t left = 1, right = 1;
    std::vector<const std::vector<int64_t>*> from;
    Extents to;
    do {
      bool takeLeft = out == extents.size() || (in < access.rank() && left <= right);
      if (takeLeft) {
        from.push_back(&access.tables[in]);
        left *= static_cast<int64_t>(access.tables[in++].size());
      } else {
        to.push_back(extents[out]);
        right *= extents[out++];
      }
    } while (left != right || (from.empty() && in < access.rank()));
    std::vector<int64_t> table = merged(from);
    allFill = allFill || (to.empty() && isFill(table[0]));
    auto parts = split(table, to, result.offset);
    if (!parts) return std::nullopt;
    for (auto& part : *parts)
      result.tables.push_back(std::move(part));
  }
  if (allFill && result.tables.empty()) return std::nullopt;
  if (allFill) std::fill(result.tables[0].begin(), result.tables[0].end(), kFill);
  return result;
}

Access broadcast(const Access& access, const Extents& extents) {
  Access result{access.offset, {}, access.fill};
  size_t missing = extents.size() - access.rank();
  for (size_t d = 0; d < extents.size(); ++d) {
    auto count = static_cast<size_t>(extents[d]);
    if (d < missing) {
      result.tables.emplace_back(count, 0);
      continue;
    }
    const auto& table = access.tables[d - missing];
    result.tables.push_back(table.size() == count ? table : std::vector<int64_t>(count, table[0]));
  }
  return result;
}

}  // namespace pet::plan
