#include "ir/expr.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace pet {

// INT64_MIN is out of range, too: the negative of every number is a number.
int64_t checkedAdd(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r) || r == INT64_MIN) throw OverflowError();
  return r;
}

int64_t checkedMul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r) || r == INT64_MIN) throw OverflowError();
  return r;
}

int64_t floorDivide(int64_t a, int64_t divisor) {
  int64_t q = a / divisor;
  return a % divisor < 0 ? q - 1 : q;
}

int64_t floorModulo(int64_t a, int64_t divisor) {
  int64_t r = a % divisor;
  return r < 0 ? r + divisor : r;
}

std::strong_ordering operator<=>(const Expr::Term& a, const Expr::Term& b) {
  if (!a.division != !b.division) return a.division ? std::strong_ordering::greater : std::strong_ordering::less;
  if (!a.division) return a.name <=> b.name;
  if (a.division == b.division) return std::strong_ordering::equal;
  if (auto c = a.division->divisor <=> b.division->divisor; c != 0) return c;
  return a.division->numerator <=> b.division->numerator;
}

std::strong_ordering operator<=>(const Expr& a, const Expr& b) {
  auto pairLess = [](const auto& x, const auto& y) -> std::strong_ordering {
    if (auto c = x.first <=> y.first; c != 0) return c;
    return x.second <=> y.second;
  };
  if (auto c = std::lexicographical_compare_three_way(a.terms_.begin(), a.terms_.end(), b.terms_.begin(),
                                                      b.terms_.end(), pairLess);
      c != 0) {
    return c;
  }
  return a.constant_ <=> b.constant_;
}

Expr Expr::variable(std::string name) {
  Expr e;
  e.terms_.push_back({Term{std::move(name), nullptr}, 1});
  return e;
}

std::optional<int64_t> Expr::asConstant() const {
  return isConstant() ? std::optional<int64_t>(constant_) : std::nullopt;
}

std::optional<std::string> Expr::asVariable() const {
  if (constant_ == 0 && terms_.size() == 1 && terms_[0].second == 1 && !terms_[0].first.division) {
    return terms_[0].first.name;
  }
  return std::nullopt;
}

bool Expr::hasDivision() const {
  return std::any_of(terms_.begin(), terms_.end(), [](const auto& t) { return t.first.division != nullptr; });
}

int64_t Expr::coefficient(std::string_view variable) const {
  for (const auto& [term, c] : terms_) {
    if (!term.division && term.name == variable) return c;
  }
  return 0;
}

void Expr::collectVariables(std::set<std::string>& into) const {
  for (const auto& [term, c] : terms_) {
    if (term.division) {
      term.division->numerator.collectVariables(into);
    } else {
      into.insert(term.name);
    }
  }
}

std::set<std::string> Expr::variables() const {
  std::set<std::string> result;
  collectVariables(result);
  return result;
}

bool Expr::mentions(std::string_view variable) const {
  return std::any_of(terms_.begin(), terms_.end(), [&](const auto& t) {
    return t.first.division ? t.first.division->numerator.mentions(variable) : t.first.name == variable;
  });
}

void Expr::addTerm(const Term& term, int64_t coefficient) {
  if (coefficient == 0) return;
  auto it = std::lower_bound(terms_.begin(), terms_.end(), term,
                             [](const auto& entry, const Term& t) { return (entry.first <=> t) < 0; });
  if (it == terms_.end() || !(it->first == term)) {
    terms_.insert(it, {term, coefficient});
    return;
  }
  it->second = checkedAdd(it->second, coefficient);
  if (it->second == 0) terms_.erase(it);
}

Expr Expr::operator+(const Expr& other) const {
  Expr result = *this;
  result.constant_ = checkedAdd(constant_, other.constant_);
  for (const auto& [term, c] : other.terms_)
    result.addTerm(term, c);
  return result;
}

Expr Expr::operator*(int64_t factor) const {
  if (factor == 0) return 0;
  Expr result = *this;
  result.constant_ = checkedMul(constant_, factor);
  for (auto& [term, c] : result.terms_)
    c = checkedMul(c, factor);
  return result;
}

int64_t Expr::content() const {
  int64_t g = constant_;
  for (const auto& [term, c] : terms_)
    g = std::gcd(g, c);
  return g < 0 ? -g : g;
}

std::optional<Expr> Expr::dividedBy(int64_t divisor) const {
  if (divisor == 0 || constant_ % divisor != 0) return std::nullopt;
  Expr result = *this;
  result.constant_ /= divisor;
  for (auto& [term, c] : result.terms_) {
    if (c % divisor != 0) return std::nullopt;
    c /= divisor;
  }
  return result;
}

std::pair<Expr, Expr> Expr::mirrored(const Expr& numerator, int64_t divisor) {
  std::pair<Expr, Expr> result{0, divisor - 1 - numerator.constant_};
  for (const auto& [term, c] : numerator.terms_) {
    result.first.addTerm(term, 1);
    result.second.addTerm(term, divisor - c);
  }
  return result;
}

// floor((k·a + b)/k) = a + floor(b/k), with every coefficient of b in [0, k); then a common factor g of b's
// coefficients and k is divided out, floor((g·x + c)/(g·m)) = floor((x + floor(c/g))/m), and nested floors are merged.
Expr floorDiv(const Expr& e, int64_t divisor) {
  if (divisor == 1) return e;
  Expr whole, rest;
  whole.constant_ = floorDivide(e.constant_, divisor);
  rest.constant_ = floorModulo(e.constant_, divisor);
  int64_t g = divisor;
  for (const auto& [term, c] : e.terms_) {
    whole.addTerm(term, floorDivide(c, divisor));
    int64_t r = floorModulo(c, divisor);
    rest.addTerm(term, r);
    if (r != 0) g = std::gcd(g, r);
  }
  if (rest.isConstant()) return whole;
  if (g > 1) {
    for (auto& [term, c] : rest.terms_)
      c /= g;
    rest.constant_ = floorDivide(rest.constant_, g);
    return whole + floorDiv(rest, divisor / g);
  }
  if (rest.terms_.size() == 1 && rest.terms_[0].second == 1 && rest.terms_[0].first.division) {
    const auto& inner = *rest.terms_[0].first.division;
    return whole +
           floorDiv(inner.numerator + checkedMul(rest.constant_, inner.divisor), checkedMul(inner.divisor, divisor));
  }
  if (const auto& [last, c] = rest.terms_.back();
      last.division && c == divisor - 1) {  // a nested floor in its mirrored form
    auto [terms, mirror] = Expr::mirrored(last.division->numerator, last.division->divisor);
    Expr inner;
    inner.addTerm(last, 1);
    if (rest - inner * c == terms + rest.constant_) {
      return whole + inner +
             floorDiv(mirror + checkedMul(rest.constant_, last.division->divisor),
                      checkedMul(last.division->divisor, divisor));
    }
  }
  if (auto [terms, mirror] = Expr::mirrored(rest, divisor); mirror < rest) {
    return whole + terms - floorDiv(mirror, divisor);
  }
  whole.addTerm({"", std::make_shared<const Expr::Division>(Expr::Division{rest, divisor})}, 1);
  return whole;
}

Expr modulo(const Expr& e, int64_t divisor) {
  return e - floorDiv(e, divisor) * divisor;
}

Expr ceilDiv(const Expr& e, int64_t divisor) {
  return floorDiv(e + (divisor - 1), divisor);
}

Expr Expr::substitute(const std::map<std::string, Expr>& by) const {
  Expr result = constant_;
  for (const auto& [term, c] : terms_) {
    if (term.division) {
      result += floorDiv(term.division->numerator.substitute(by), term.division->divisor) * c;
    } else if (auto it = by.find(term.name); it != by.end()) {
      result += it->second * c;
    } else {
      result.addTerm(term, c);
    }
  }
  return result;
}

std::optional<int64_t> Expr::evaluate(const Bindings& bindings) const {
  int64_t value = constant_;
  for (const auto& [term, c] : terms_) {
    int64_t t;
    if (term.division) {
      auto n = term.division->numerator.evaluate(bindings);
      if (!n) return std::nullopt;
      t = floorDivide(*n, term.division->divisor);
    } else {
      auto it = bindings.find(term.name);
      if (it == bindings.end()) return std::nullopt;
      t = it->second;
    }
    value = checkedAdd(value, checkedMul(c, t));
  }
  return value;
}

std::string Expr::str() const {
  std::string out;
  auto append = [&](int64_t c, const std::string& body) {
    int64_t magnitude = c < 0 ? -c : c;
    if (out.empty()) {
      out = c < 0 ? "-" : "";
    } else {
      out += c < 0 ? " - " : " + ";
    }
    if (body.empty() || magnitude != 1) out += std::to_string(magnitude);
    out += body;
  };
  for (bool positive : {true, false}) {  // positive terms first reads better
    for (const auto& [term, c] : terms_) {
      if ((c > 0) != positive) continue;
      append(c, term.division ? fmt::format("floor(({})/{})", term.division->numerator.str(), term.division->divisor)
                              : term.name);
    }
  }
  if (constant_ != 0 || terms_.empty()) append(constant_, "");
  return out;
}

std::optional<bool> Constraint::decided() const {
  auto c = expr.asConstant();
  if (!c) return std::nullopt;
  return kind == Kind::kZero ? *c == 0 : *c >= 0;
}

std::optional<bool> Constraint::evaluate(const Bindings& bindings) const {
  auto v = expr.evaluate(bindings);
  if (!v) return std::nullopt;
  return kind == Kind::kZero ? *v == 0 : *v >= 0;
}

std::string Constraint::str() const {
  Expr left, right;
  for (const auto& [term, c] : expr.terms()) {
    Expr single =
        term.division ? floorDiv(term.division->numerator, term.division->divisor) : Expr::variable(term.name);
    (c < 0 ? left : right) += single * (c < 0 ? -c : c);
  }
  (expr.constant() < 0 ? left : right) += expr.constant() < 0 ? -expr.constant() : expr.constant();
  return kind == Kind::kZero ? right.str() + " = " + left.str() : left.str() + " <= " + right.str();
}

}  // namespace pet
