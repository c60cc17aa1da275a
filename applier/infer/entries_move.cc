// Entries of small tensors of sizes: constants, and what only moves entries.

#include <algorithm>
#include <climits>

#include "applier/infer/entries.h"
#include "applier/infer/rules.h"

namespace pet {
namespace {

/// The extents of a result, if it has few entries; throws NothingKnown.
Extents extentsOfResult(const NodeInference& n, size_t i = 0) {
  auto extents = i < n.results().size() ? n.results()[i].extents() : std::nullopt;
  if (!extents || !hasFewEntries(*extents)) NodeInference::nothing();
  return *extents;
}

SizeTensor entriesOfOperand(const NodeInference& n, size_t i) {
  auto t = n.tensor(i);
  if (!t) NodeInference::nothing();
  return *t;
}

std::vector<size_t> indexOf(size_t position, const Extents& extents) {
  std::vector<size_t> index(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    index[i] = position % static_cast<size_t>(extents[i]);
    position /= static_cast<size_t>(extents[i]);
  }
  return index;
}

size_t positionOf(const std::vector<size_t>& index, const Extents& extents) {
  size_t position = 0;
  for (size_t i = 0; i < extents.size(); ++i)
    position = position * static_cast<size_t>(extents[i]) + index[i];
  return position;
}

/// Result r of x: `where` says which index of x is at an index of the result.
template <class F>
void moveEntries(NodeInference& n, const SizeTensor& x, F where, size_t r = 0) {
  SizeTensor y(extentsOfResult(n, r));
  for (size_t at = 0; at < y.data.size(); ++at) {
    std::vector<size_t> index = where(indexOf(at, y.extents));
    for (size_t i = 0; i < index.size(); ++i) {
      if (index.size() != x.extents.size() || index[i] >= static_cast<size_t>(x.extents[i])) NodeInference::nothing();
    }
    y.data[at] = x.data[positionOf(index, x.extents)];
  }
  n.setData(r, std::move(y));
}

// Reshape and its like keep the order.
void entriesOfReshape(NodeInference& n) {
  SizeTensor x = entriesOfOperand(n, 0);
  Extents extents = extentsOfResult(n);
  if (elementCount(extents) == x.size()) n.setData(0, SizeTensor(std::move(extents), std::move(x.data)));
}

void entriesOfTranspose(NodeInference& n) {
  SizeTensor x = entriesOfOperand(n, 0);
  auto perm = n.integers("perm");
  const size_t rank = x.extents.size();
  moveEntries(n, x, [&](const std::vector<size_t>& at) {
    std::vector<size_t> from(rank);
    for (size_t i = 0; i < rank; ++i)
      from[perm ? static_cast<size_t>((*perm)[i]) : rank - 1 - i] = at[i];
    return from;
  });
}

// Expand, too: there, indices of dimensions of extent 1 are 0, as they are modulo the extent.
void entriesOfTile(NodeInference& n) {
  SizeTensor x = entriesOfOperand(n, 0);
  const size_t rank = x.extents.size();
  moveEntries(n, x, [&](const std::vector<size_t>& at) {
    std::vector<size_t> from(at.end() - static_cast<std::ptrdiff_t>(rank), at.end());
    for (size_t i = 0; i < rank; ++i)
      from[i] %= static_cast<size_t>(std::max<int64_t>(x.extents[i], 1));
    return from;
  });
}

void entriesOfConcat(NodeInference& n) {
  SizeTensor y(extentsOfResult(n));
  size_t axis = n.axisOf("axis", 1, y.extents.size()), offset = 0;
  for (size_t o = 0; o < n.operandCount(); ++o) {
    SizeTensor x = entriesOfOperand(n, o);
    for (size_t at = 0; at < x.data.size(); ++at) {
      auto index = indexOf(at, x.extents);
      index[axis] += offset;
      y.data.at(positionOf(index, y.extents)) = x.data[at];
    }
    offset += static_cast<size_t>(x.extents[axis]);
  }
  n.setData(0, std::move(y));
}

void entriesOfSplit(NodeInference& n) {
  SizeTensor x = entriesOfOperand(n, 0);
  size_t axis = n.axisOf("axis", 0, x.extents.size()), offset = 0;
  for (size_t r = 0; r < n.resultCount(); ++r) {
    Extents extents = extentsOfResult(n, r);
    moveEntries(
        n, x,
        [&](std::vector<size_t> at) {
          at[axis] += offset;
          return at;
        },
        r);
    offset += static_cast<size_t>(extents[axis]);
  }
}

void entriesOfGather(NodeInference& n) {
  SizeTensor x = entriesOfOperand(n, 0), indices = entriesOfOperand(n, 1), y(extentsOfResult(n));
  size_t axis = n.axisOf("axis", 0, x.extents.size()), depth = indices.extents.size();
  for (size_t at = 0; at < y.data.size(); ++at) {
    auto index = indexOf(at, y.extents);
    auto middle = index.begin() + static_cast<std::ptrdiff_t>(axis), end = middle + static_cast<std::ptrdiff_t>(depth);
    const auto* d = std::get_if<Dim>(&indices.data[positionOf({middle, end}, indices.extents)]);
    auto i = d ? d->asConstant() : std::nullopt;
    if (!i) continue;
    if (*i < 0) *i += x.extents[axis];
    if (*i < 0 || *i >= x.extents[axis]) NodeInference::invalid("an index beyond the axis");
    std::vector<size_t> from(index.begin(), middle);
    from.push_back(static_cast<size_t>(*i));
    from.insert(from.end(), end, index.end());
    y.data[at] = x.data[positionOf(from, x.extents)];
  }
  n.setData(0, std::move(y));
}

std::optional<std::vector<int64_t>> sliceConstants(NodeInference& n, std::string_view name, size_t i) {
  return n.opset() >= 10 ? n.constants(i) : n.integers(name);
}

void entriesOfSlice(NodeInference& n) {
  SizeTensor x = entriesOfOperand(n, 0);
  auto starts = sliceConstants(n, "starts", 1), axes = sliceConstants(n, "axes", 3);
  auto steps = n.opset() >= 10 ? n.constants(4) : std::nullopt;
  if (!starts || (n.has(3) && !axes) || (n.has(4) && !steps)) return;
  std::vector<int64_t> first(x.extents.size(), 0), step(x.extents.size(), 1);
  for (size_t i = 0; i < starts->size(); ++i) {
    size_t a = n.axis(axes ? axes->at(i) : static_cast<int64_t>(i), x.extents.size());
    step[a] = steps ? steps->at(i) : 1;
    if (step[a] > INT32_MAX || step[a] < -INT32_MAX) return;
    int64_t p = std::clamp<int64_t>((*starts)[i], -INT32_MAX, INT32_MAX), extent = x.extents[a];
    first[a] = std::max<int64_t>(std::min(p < 0 ? p + extent : p, step[a] < 0 ? extent - 1 : extent), 0);
  }
  moveEntries(n, x, [&](std::vector<size_t> at) {
    for (size_t i = 0; i < at.size(); ++i)
      at[i] = static_cast<size_t>(first[i] + static_cast<int64_t>(at[i]) * step[i]);
    return at;
  });
}

void entriesOfConstant(NodeInference& n) {
  for (const auto& [name, value] : n.node().attributes) {
    std::vector<SizeEntry> entries;
    if (const auto* c = std::get_if<Constant>(&value); c && name == "value") {
      if (auto known = entriesOf(*c)) entries = std::move(*known);
    } else if (const auto* i = std::get_if<int64_t>(&value)) {
      entries.emplace_back(Dim(*i));
    } else if (const auto* is = std::get_if<std::vector<int64_t>>(&value)) {
      for (int64_t k : *is)
        entries.emplace_back(Dim(k));
    } else if (const auto* f = std::get_if<float>(&value)) {
      entries.emplace_back(static_cast<double>(*f));
    } else if (const auto* fs = std::get_if<std::vector<float>>(&value)) {
      entries.assign(fs->begin(), fs->end());
    }
    Extents extents = extentsOfResult(n);
    if (static_cast<int64_t>(entries.size()) == elementCount(extents))
      n.setData(0, SizeTensor(std::move(extents), std::move(entries)));
  }
}

void entriesOfConstantOfShape(NodeInference& n) {
  const GraphAttribute* value = n.attribute("value");
  std::vector<SizeEntry> fill{0.0};
  if (value) {
    auto known = entriesOf(std::get<Constant>(*value));
    if (!known || known->size() != 1) return;
    fill = std::move(*known);
  }
  SizeTensor y(extentsOfResult(n));
  std::fill(y.data.begin(), y.data.end(), fill.front());
  n.setData(0, std::move(y));
}

constexpr EntryRule kMoveEntryRules[] = {
    {"Concat", entriesOfConcat},     {"Constant", entriesOfConstant}, {"ConstantOfShape", entriesOfConstantOfShape},
    {"Expand", entriesOfTile},       {"Flatten", entriesOfReshape},   {"Gather", entriesOfGather},
    {"Reshape", entriesOfReshape},   {"Slice", entriesOfSlice},       {"Split", entriesOfSplit},
    {"Squeeze", entriesOfReshape},   {"Tile", entriesOfTile},         {"Transpose", entriesOfTranspose},
    {"Unsqueeze", entriesOfReshape},
};

}  // namespace

std::span<const EntryRule> moveEntryRules() {
  return kMoveEntryRules;
}

std::optional<std::vector<SizeEntry>> entriesOf(const Constant& constant) {
  if (!hasFewEntries(constant.extents)) return std::nullopt;
  std::vector<SizeEntry> entries;
  if (auto integers = constant.integers()) {
    for (int64_t k : *integers)
      entries.emplace_back(Dim(k));
  } else if (auto numbers = constant.numbers()) {
    entries.assign(numbers->begin(), numbers->end());
  } else {
    return std::nullopt;
  }
  return entries;
}

}  // namespace pet
