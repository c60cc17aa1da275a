#include "applier/view/model_sizes.h"

#include <algorithm>
#include <set>
#include <utility>

namespace pet {
namespace {

int64_t ceilDivide(int64_t a, int64_t b) {
  return -floorDivide(-a, b);
}

}  // namespace

ModelSizes::ModelSizes(std::map<std::string, int64_t, std::less<>> least, std::vector<Constraint> assumed)
    : least_(std::move(least)), assumed_(std::move(assumed)), samples_(1) {
  for (const Constraint& promise : assumed_)
    narrow(promise);
}

/// a symbol + c >= 0, or = 0.
void ModelSizes::narrow(const Constraint& promise) {
  const auto& terms = promise.expr.terms();
  if (terms.size() != 1 || terms[0].first.division) return;
  const auto& [term, a] = terms[0];
  const int64_t c = promise.expr.constant();
  const bool isEqual = promise.kind == Constraint::Kind::kZero;
  if (a > 0 || isEqual) {
    auto [it, isNew] = least_.emplace(term.name, ceilDivide(a > 0 ? -c : c, std::abs(a)));
    if (!isNew) it->second = std::max(it->second, ceilDivide(a > 0 ? -c : c, std::abs(a)));
  }
  if (a < 0 || isEqual) {
    auto [it, isNew] = most_.emplace(term.name, floorDivide(a > 0 ? -c : c, std::abs(a)));
    if (!isNew) it->second = std::min(it->second, floorDivide(a > 0 ? -c : c, std::abs(a)));
  }
}

std::vector<Bindings> ModelSizes::spread() const {
  std::set<size_t> positions;
  if (!samples_.empty()) positions = {0, typicalIndex(), samples_.size() - 1};
  std::vector<Bindings> result;
  for (size_t i : positions)
    result.push_back(samples_[i]);
  return result;
}

ModelSizes::Part ModelSizes::partOf(const std::string& symbol) const {
  auto part = parts_.find(symbol);
  return part == parts_.end() ? Part{symbol} : part->second;
}

Bindings ModelSizes::inModel(const Bindings& sizes) const {
  Bindings result;
  for (const auto& [symbol, value] : sizes) {
    const Part part = partOf(symbol);
    result.emplace(part.symbol, checkedMul(value, part.times));
  }
  return result;
}

void ModelSizes::evaluateOperations(const std::set<std::string>& symbols, Bindings& sizes) const {
  std::map<std::string, Part> inView;  // by symbol of the model
  for (const std::string& symbol : symbols) {
    const Part part = partOf(symbol);
    inView.emplace(part.symbol, Part{symbol, part.times});
  }
  Bindings known = inModel(sizes);
  for (const auto& [symbol, operation] : operations_) {
    const auto value = operation(known);
    if (!value) continue;
    known.insert_or_assign(symbol, *value);
    auto in = inView.find(symbol);
    if (in != inView.end() && *value % in->second.times == 0)
      sizes.insert_or_assign(in->second.symbol, *value / in->second.times);
  }
}

bool ModelSizes::isAdmissible(const Bindings& sizes) const {
  bool largeEnough = std::all_of(sizes.begin(), sizes.end(), [&](const auto& size) {
    auto it = least_.find(size.first);
    return it == least_.end() || size.second >= it->second;
  });
  return largeEnough && std::none_of(assumed_.begin(), assumed_.end(),
                                     [&](const Constraint& c) { return c.evaluate(sizes) == false; });
}

ModelSizes ModelSizes::inMultiples(const std::map<std::string, int64_t>& multiples) const {
  ModelSizes result = *this;
  std::map<std::string, Expr> by;
  for (const auto& [symbol, k] : multiples) {
    by.emplace(symbol, Expr::variable(symbol) * k);
    if (auto it = result.least_.find(symbol); it != result.least_.end()) it->second = ceilDivide(it->second, k);
    if (auto it = result.most_.find(symbol); it != result.most_.end()) it->second = floorDivide(it->second, k);
  }
  for (Constraint& c : result.assumed_)
    c = c.substitute(by);
  result.samples_.clear();
  return result;
}

std::optional<int64_t> ModelSizes::lowerBound(const Expr& e) const {
  int64_t bound = e.constant();
  for (const auto& [term, coefficient] : e.terms()) {
    std::optional<int64_t> least;
    if (term.division && coefficient > 0) {
      least = lowerBound(term.division->numerator);
      if (least) least = floorDivide(*least, term.division->divisor);
    } else if (auto it = least_.find(term.name); !term.division && coefficient > 0 && it != least_.end()) {
      least = it->second;
    }
    if (!least) return std::nullopt;
    bound = checkedAdd(bound, checkedMul(coefficient, *least));
  }
  return bound;
}

namespace {

/// scale · e >= below.
struct Relaxed {
  Expr below;
  int64_t scale = 1;
};

/// Without floors that count negatively, floor(n / d) <= n / d, and with `all` without the others, too,
/// floor(n / d) >= (n - d + 1) / d.
Relaxed withoutFloors(const Expr& e, bool all) {
  auto goes = [&](const auto& term) { return term.first.division && (all || term.second < 0); };
  int64_t scale = 1;
  for (const auto& term : e.terms()) {
    if (goes(term)) scale = checkedMul(scale, term.first.division->divisor);
  }
  Expr below = e * scale;
  for (const auto& term : e.terms()) {
    if (!goes(term)) continue;
    const auto& [numerator, divisor] = *term.first.division;
    Expr bound = term.second < 0 ? numerator : numerator - divisor + 1;
    below = below - floorDiv(numerator, divisor) * checkedMul(scale, term.second) +
            bound * checkedMul(scale / divisor, term.second);
  }
  return {below, scale};
}

}  // namespace

bool ModelSizes::implies(const Constraint& c) const {
  if (auto decided = c.decided()) return *decided;
  if (c.kind == Constraint::Kind::kZero) {
    return std::any_of(assumed_.begin(), assumed_.end(), [&](const Constraint& a) {
      return a.kind == Constraint::Kind::kZero && (a.expr == c.expr || a.expr == -c.expr);
    });
  }
  auto nonNegative = [&](const Expr& e) {
    for (bool all : {false, true}) {
      auto [below, scale] = withoutFloors(e, all);
      auto bound = lowerBound(below);
      if (bound && *bound > -scale) return true;  // an integer above -1
    }
    return false;
  };
  if (nonNegative(c.expr)) return true;
  // expr = k a + rest with a >= 0 assumed.
  return std::any_of(assumed_.begin(), assumed_.end(), [&](const Constraint& a) {
    if (a.kind != Constraint::Kind::kNonNegative) return false;
    if (nonNegative(c.expr - a.expr)) return true;
    for (const auto& [term, coefficient] : a.expr.terms()) {
      if (term.division) continue;
      int64_t wanted = c.expr.coefficient(term.name), times = coefficient == 0 ? 0 : wanted / coefficient;
      if (times > 0 && nonNegative(c.expr - a.expr * times)) return true;
    }
    return false;
  });
}

}  // namespace pet
