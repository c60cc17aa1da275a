// Entries of small tensors of sizes: what is computed element by element, reduced, counted, or asked of extents.

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>

#include "applier/infer/rules.h"

namespace pet {
namespace {

const SizeEntry kUnknownEntry = {};
constexpr size_t kMostFolded = 8;  ///< operands of a Max or its like

/// The extents of the first result, if it has few entries; throws NothingKnown.
Extents resultExtents(const NodeInference& n) {
  auto extents = n.results().empty() ? std::nullopt : n.results()[0].extents();
  if (!extents || !hasFewEntries(*extents)) NodeInference::nothing();
  return *extents;
}

SizeTensor operandTensor(const NodeInference& n, size_t i) {
  auto t = n.tensor(i);
  if (!t) NodeInference::nothing();
  return *t;
}

struct IntegerRange {
  int64_t least, greatest;
};

std::optional<IntegerRange> rangeOf(ElementType element) {
  switch (element) {
    case ElementType::kInt64:
      return IntegerRange{-INT64_MAX, INT64_MAX};
    case ElementType::kInt32:
      return IntegerRange{INT32_MIN, INT32_MAX};
    case ElementType::kInt16:
      return IntegerRange{INT16_MIN, INT16_MAX};
    case ElementType::kInt8:
      return IntegerRange{INT8_MIN, INT8_MAX};
    case ElementType::kUint64:
      return IntegerRange{0, INT64_MAX};
    case ElementType::kUint32:
      return IntegerRange{0, UINT32_MAX};
    case ElementType::kUint16:
      return IntegerRange{0, UINT16_MAX};
    case ElementType::kUint8:
      return IntegerRange{0, UINT8_MAX};
    case ElementType::kBool:
      return IntegerRange{0, 1};
    default:
      return std::nullopt;
  }
}

/// An integer as one of `element`, where engines do not wrap it; unknown otherwise. Symbols are of 32 bits at least.
SizeEntry fitted(const Dim& d, ElementType element) {
  auto range = rangeOf(element);
  if (!range) return kUnknownEntry;
  if (auto k = d.asConstant()) return *k >= range->least && *k <= range->greatest ? SizeEntry(d) : kUnknownEntry;
  bool wide = element == ElementType::kInt64 || element == ElementType::kInt32;
  return wide ? SizeEntry(d) : kUnknownEntry;
}

SizeEntry fitted(double x, ElementType element) {
  if (std::isnan(x)) return kUnknownEntry;
  if (element == ElementType::kFloat) return static_cast<double>(static_cast<float>(x));
  return element == ElementType::kDouble ? SizeEntry(x) : kUnknownEntry;
}

/// The position in a tensor of `extents` that is broadcast to position `at` of `to`.
size_t broadcastPosition(const Extents& extents, size_t at, const Extents& to) {
  size_t position = 0, stride = 1;
  for (size_t i = to.size(); i-- > 0;) {
    auto extent = static_cast<size_t>(to[i]);
    size_t index = at % extent;
    at /= extent;
    size_t behind = to.size() - i;
    if (behind > extents.size()) continue;
    auto own = static_cast<size_t>(extents[extents.size() - behind]);
    position += (own == 1 ? 0 : index) * stride;
    stride *= own;
  }
  return position;
}

/// Entry by entry, all operands broadcast to the result.
template <class F>
void mapEntries(NodeInference& n, F f) {
  Extents extents = resultExtents(n);
  if (n.operandCount() > kMostFolded) return;
  std::vector<SizeTensor> operands;
  for (size_t i = 0; i < n.operandCount(); ++i)
    operands.push_back(operandTensor(n, i));
  bool known = std::any_of(operands.begin(), operands.end(), [](const SizeTensor& t) {
    return std::any_of(t.data.begin(), t.data.end(), [](const SizeEntry& e) { return e.index() != 0; });
  });
  if (!known) return;
  SizeTensor result(extents);
  for (size_t at = 0; at < result.data.size(); ++at) {
    std::vector<SizeEntry> entries;
    for (const SizeTensor& t : operands)
      entries.push_back(t.data[broadcastPosition(t.extents, at, extents)]);
    result.data[at] = f(entries);
  }
  n.setData(0, std::move(result));
}

/// Two entries as one; unknown where one is, or where they are of different kinds.
template <class OnSizes, class OnNumbers>
SizeEntry combined(
    const SizeEntry& first, const SizeEntry& second, ElementType element, OnSizes onSizes, OnNumbers onNumbers) {
  const auto *a = std::get_if<Dim>(&first), *b = std::get_if<Dim>(&second);
  if (a && b) {
    std::optional<Dim> d = onSizes(*a, *b);
    return d ? fitted(*d, element) : kUnknownEntry;
  }
  const auto *x = std::get_if<double>(&first), *y = std::get_if<double>(&second);
  return x && y ? fitted(onNumbers(*x, *y), element) : kUnknownEntry;
}

/// A fold from the left over the operands' entries.
template <class OnSizes, class OnNumbers>
void foldEntries(NodeInference& n, OnSizes onSizes, OnNumbers onNumbers) {
  const ElementType element = n.results()[0].element;
  mapEntries(n, [&](const std::vector<SizeEntry>& entries) {
    SizeEntry sum = entries.front();
    for (size_t i = 1; i < entries.size(); ++i)
      sum = combined(sum, entries[i], element, onSizes, onNumbers);
    return sum;
  });
}

void entriesOfAdd(NodeInference& n) {
  foldEntries(
      n, [&](const Dim& a, const Dim& b) { return n.sizes().add(a, b); }, [](double a, double b) { return a + b; });
}
void entriesOfSub(NodeInference& n) {
  foldEntries(
      n, [&](const Dim& a, const Dim& b) { return n.sizes().subtract(a, b); },
      [](double a, double b) { return a - b; });
}
void entriesOfMul(NodeInference& n) {
  foldEntries(
      n, [&](const Dim& a, const Dim& b) { return n.sizes().multiply(a, b); },
      [](double a, double b) { return a * b; });
}
void entriesOfDiv(NodeInference& n) {
  foldEntries(
      n, [&](const Dim& a, const Dim& b) { return n.sizes().divide(a, b); }, [](double a, double b) { return a / b; });
}
void entriesOfMod(NodeInference& n) {
  const bool fmod = n.flag("fmod", false);
  foldEntries(
      n, [&](const Dim& a, const Dim& b) { return n.sizes().modulo(a, b, fmod); },
      [=](double a, double b) { return fmod ? std::fmod(a, b) : std::numeric_limits<double>::quiet_NaN(); });
}
void entriesOfMax(NodeInference& n) {
  foldEntries(
      n, [&](const Dim& a, const Dim& b) { return n.sizes().maximum(a, b); },
      [](double a, double b) { return std::max(a, b); });
}
void entriesOfMin(NodeInference& n) {
  foldEntries(
      n, [&](const Dim& a, const Dim& b) { return n.sizes().minimum(a, b); },
      [](double a, double b) { return std::min(a, b); });
}

template <class OnSizes, class OnNumbers>
void mapFirst(NodeInference& n, OnSizes onSizes, OnNumbers onNumbers) {
  const ElementType element = n.results()[0].element;
  mapEntries(n, [&](const std::vector<SizeEntry>& entries) {
    if (const auto* d = std::get_if<Dim>(&entries[0])) return fitted(onSizes(*d), element);
    const auto* x = std::get_if<double>(&entries[0]);
    return x ? fitted(onNumbers(*x), element) : kUnknownEntry;
  });
}

void entriesOfNeg(NodeInference& n) {
  mapFirst(
      n, [&](const Dim& d) { return n.sizes().multiply(d, Dim(-1)); }, [](double x) { return -x; });
}
void entriesOfAbs(NodeInference& n) {
  mapFirst(
      n, [&](const Dim& d) { return n.sizes().absolute(d); }, [](double x) { return std::abs(x); });
}
void entriesOfFloor(NodeInference& n) {
  mapFirst(
      n, [](const Dim& d) { return d; }, [](double x) { return std::floor(x); });
}
void entriesOfCeil(NodeInference& n) {
  mapFirst(
      n, [](const Dim& d) { return d; }, [](double x) { return std::ceil(x); });
}
void entriesOfRound(NodeInference& n) {
  mapFirst(
      n, [](const Dim& d) { return d; }, [](double x) { return std::nearbyint(x); });
}
void entriesOfSqrt(NodeInference& n) {
  mapFirst(
      n, [](const Dim& d) { return d; }, [](double x) { return std::sqrt(x); });
}
void entriesOfReciprocal(NodeInference& n) {
  mapFirst(
      n, [](const Dim& d) { return d; }, [](double x) { return 1 / x; });
}

/// A root or a power of whole numbers that is a whole number, too, as of the side of a square grid. Others differ in
/// the last place from one engine to the next.
double wholePower(double x, double exponent) {
  constexpr double kMostWhole = 0x1p24;  // up to here float has all whole numbers
  const double power = exponent == 0.5 ? std::sqrt(x) : std::pow(x, exponent);
  const bool isWhole = x >= 0 && std::floor(x) == x && x <= kMostWhole && std::floor(power) == power &&
                       power <= kMostWhole && (exponent == 0.5 || (exponent >= 0 && std::floor(exponent) == exponent));
  return isWhole ? power : std::numeric_limits<double>::quiet_NaN();
}

/// The exponent may be of another type than the base, of which the result is.
void entriesOfPow(NodeInference& n) {
  auto numberOf = [](const SizeEntry& e) -> std::optional<double> {
    if (const auto* x = std::get_if<double>(&e)) return *x;
    const auto* d = std::get_if<Dim>(&e);
    const auto k = d ? d->asConstant() : std::nullopt;
    return k ? std::optional(static_cast<double>(*k)) : std::nullopt;
  };
  const ElementType element = n.results()[0].element;
  mapEntries(n, [&](const std::vector<SizeEntry>& entries) -> SizeEntry {
    const auto x = numberOf(entries[0]), exponent = numberOf(entries[1]);
    if (!x || !exponent) return kUnknownEntry;
    const double power = wholePower(*x, *exponent);
    if (std::isnan(power)) return kUnknownEntry;
    return rangeOf(element) ? fitted(Dim(static_cast<int64_t>(power)), element) : fitted(power, element);
  });
}

SizeEntry truth(std::optional<bool> value) {
  return value ? SizeEntry(Dim(*value ? 1 : 0)) : kUnknownEntry;
}

template <class OnSizes, class OnNumbers>
void compareEntries(NodeInference& n, OnSizes onSizes, OnNumbers onNumbers) {
  mapEntries(n, [&](const std::vector<SizeEntry>& e) {
    const auto *a = std::get_if<Dim>(&e[0]), *b = std::get_if<Dim>(&e[1]);
    if (a && b) return truth(onSizes(*a, *b));
    const auto *x = std::get_if<double>(&e[0]), *y = std::get_if<double>(&e[1]);
    return x && y ? truth(onNumbers(*x, *y)) : kUnknownEntry;
  });
}

/// a < b; nullopt: not known.
std::optional<bool> isLess(Sizes& s, const Dim& a, const Dim& b) {
  if (s.isAtLeast(a, b)) return false;
  return s.isAtLeast(b, s.add(a, Dim(1))) ? std::optional(true) : std::nullopt;
}

std::optional<bool> negated(std::optional<bool> value) {
  return value ? std::optional(!*value) : std::nullopt;
}

void entriesOfEqual(NodeInference& n) {
  compareEntries(
      n, [&](const Dim& a, const Dim& b) { return n.sizes().isEqual(a, b); },
      [](double a, double b) { return a == b; });
}
void entriesOfLess(NodeInference& n) {
  compareEntries(
      n, [&](const Dim& a, const Dim& b) { return isLess(n.sizes(), a, b); }, [](double a, double b) { return a < b; });
}
void entriesOfGreater(NodeInference& n) {
  compareEntries(
      n, [&](const Dim& a, const Dim& b) { return isLess(n.sizes(), b, a); }, [](double a, double b) { return a > b; });
}
void entriesOfLessOrEqual(NodeInference& n) {
  compareEntries(
      n, [&](const Dim& a, const Dim& b) { return negated(isLess(n.sizes(), b, a)); },
      [](double a, double b) { return a <= b; });
}
void entriesOfGreaterOrEqual(NodeInference& n) {
  compareEntries(
      n, [&](const Dim& a, const Dim& b) { return negated(isLess(n.sizes(), a, b)); },
      [](double a, double b) { return a >= b; });
}

std::optional<bool> truthOf(const SizeEntry& e) {
  const auto* d = std::get_if<Dim>(&e);
  auto k = d ? d->asConstant() : std::nullopt;
  return k ? std::optional(*k != 0) : std::nullopt;
}

void entriesOfNot(NodeInference& n) {
  mapEntries(n, [](const std::vector<SizeEntry>& e) { return truth(negated(truthOf(e[0]))); });
}
void entriesOfAnd(NodeInference& n) {
  mapEntries(n, [](const std::vector<SizeEntry>& e) {
    auto a = truthOf(e[0]), b = truthOf(e[1]);
    return a == false || b == false ? truth(false) : a && b ? truth(true) : kUnknownEntry;
  });
}
void entriesOfOr(NodeInference& n) {
  mapEntries(n, [](const std::vector<SizeEntry>& e) {
    auto a = truthOf(e[0]), b = truthOf(e[1]);
    return a == true || b == true ? truth(true) : a && b ? truth(false) : kUnknownEntry;
  });
}
// An unknown condition does not matter between equal entries.
void entriesOfWhere(NodeInference& n) {
  mapEntries(n, [](const std::vector<SizeEntry>& e) {
    auto which = truthOf(e[0]);
    if (which) return *which ? e[1] : e[2];
    return e[1] == e[2] ? e[1] : kUnknownEntry;
  });
}

SizeEntry convertedEntry(Sizes& s, const SizeEntry& entry, ElementType to) {
  const bool toNumber = to == ElementType::kFloat || to == ElementType::kDouble;
  if (const auto* d = std::get_if<Dim>(&entry)) {
    auto k = d->asConstant();
    if (toNumber) return k ? fitted(static_cast<double>(*k), to) : kUnknownEntry;
    if (to == ElementType::kBool) return k ? truth(*k != 0) : s.least(*d) >= 1 ? truth(true) : kUnknownEntry;
    return fitted(*d, to);
  }
  const auto* x = std::get_if<double>(&entry);
  if (!x) return kUnknownEntry;
  if (toNumber) return fitted(*x, to);
  if (to == ElementType::kBool) return truth(*x != 0);
  return std::abs(*x) < 0x1p53 ? fitted(Dim(static_cast<int64_t>(*x)), to) : kUnknownEntry;
}

void entriesOfCast(NodeInference& n) {
  SizeTensor result = operandTensor(n, 0);
  for (SizeEntry& e : result.data)
    e = convertedEntry(n.sizes(), e, n.results()[0].element);
  n.setData(0, std::move(result));
}

template <class OnSizes, class OnNumbers>
void reduceEntries(NodeInference& n, OnSizes onSizes, OnNumbers onNumbers) {
  Extents extents = resultExtents(n);
  SizeTensor x = operandTensor(n, 0);
  // Only over everything; else positions would have to be told apart.
  if (elementCount(extents) != 1 || x.data.empty()) return;
  SizeEntry sum = x.data.front();
  for (size_t i = 1; i < x.data.size(); ++i)
    sum = combined(sum, x.data[i], n.results()[0].element, onSizes, onNumbers);
  n.setData(0, SizeTensor(std::move(extents), {sum}));
}

/// Sums and products of numbers depend on their order.
double ordered(double, double) {
  return std::numeric_limits<double>::quiet_NaN();
}

void entriesOfReduceProd(NodeInference& n) {
  reduceEntries(
      n, [&](const Dim& a, const Dim& b) { return n.sizes().multiply(a, b); }, ordered);
}
void entriesOfReduceSum(NodeInference& n) {
  reduceEntries(
      n, [&](const Dim& a, const Dim& b) { return n.sizes().add(a, b); }, ordered);
}
void entriesOfReduceMax(NodeInference& n) {
  reduceEntries(
      n, [&](const Dim& a, const Dim& b) { return n.sizes().maximum(a, b); },
      [](double a, double b) { return std::max(a, b); });
}
void entriesOfReduceMin(NodeInference& n) {
  reduceEntries(
      n, [&](const Dim& a, const Dim& b) { return n.sizes().minimum(a, b); },
      [](double a, double b) { return std::min(a, b); });
}

void entriesOfShape(NodeInference& n) {
  const Shape& x = n.shape(0);
  const auto rank = static_cast<int64_t>(x.size());
  auto start = n.integer("start", 0);
  size_t first = static_cast<size_t>(std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank));
  SizeTensor result(resultExtents(n));
  for (size_t i = 0; i < result.data.size(); ++i)
    result.data[i] = x[first + i];
  n.setData(0, std::move(result));
}

void entriesOfSize(NodeInference& n) {
  n.setData(0, SizeTensor({}, {n.sizes().product(n.shape(0))}));
}

void entriesOfRange(NodeInference& n) {
  auto start = n.scalar(0), delta = n.scalar(2);
  if (!start || !delta) return;
  SizeTensor result(resultExtents(n));
  Dim at = *start;
  for (SizeEntry& e : result.data) {
    e = fitted(at, n.results()[0].element);
    at = n.sizes().add(at, *delta);
  }
  n.setData(0, std::move(result));
}

constexpr EntryRule kArithmeticEntryRules[] = {
    {"Abs", entriesOfAbs},
    {"Add", entriesOfAdd},
    {"And", entriesOfAnd},
    {"Cast", entriesOfCast},
    {"CastLike", entriesOfCast},
    {"Ceil", entriesOfCeil},
    {"Div", entriesOfDiv},
    {"Equal", entriesOfEqual},
    {"Floor", entriesOfFloor},
    {"Greater", entriesOfGreater},
    {"GreaterOrEqual", entriesOfGreaterOrEqual},
    {"Less", entriesOfLess},
    {"LessOrEqual", entriesOfLessOrEqual},
    {"Max", entriesOfMax},
    {"Min", entriesOfMin},
    {"Mod", entriesOfMod},
    {"Mul", entriesOfMul},
    {"Neg", entriesOfNeg},
    {"Not", entriesOfNot},
    {"Or", entriesOfOr},
    {"Pow", entriesOfPow},
    {"Range", entriesOfRange},
    {"Reciprocal", entriesOfReciprocal},
    {"ReduceMax", entriesOfReduceMax},
    {"ReduceMin", entriesOfReduceMin},
    {"ReduceProd", entriesOfReduceProd},
    {"ReduceSum", entriesOfReduceSum},
    {"Round", entriesOfRound},
    {"Shape", entriesOfShape},
    {"Size", entriesOfSize},
    {"Sqrt", entriesOfSqrt},
    {"Sub", entriesOfSub},
    {"Where", entriesOfWhere},
};

}  // namespace

std::span<const EntryRule> arithmeticEntryRules() {
  return kArithmeticEntryRules;
}

}  // namespace pet
