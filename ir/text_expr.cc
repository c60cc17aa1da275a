// Expressions, constraints and shapes.

#include "ir/limits.h"
#include "ir/ops/digits.h"
#include "ir/text.h"

namespace pet {
namespace {

/// Counts the levels of a recursion that follows the text's.
class Nesting {
 public:
  explicit Nesting(int& depth) : depth_(++depth) {}
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool tooDeep() const { return depth_ > 200; }

 private:
  int& depth_;
};

}  // namespace

// expression := ['-'] term { ('+' | '-') term };  term := integer [['*'] factor] | factor ['*' integer];
// factor := name | 'floor' '(' expression '/' integer ')' | '(' expression ')'
Expected<Expr> TextReader::expression() {
  try {
    bool negative = accept("-");
    auto first = term();
    if (!first) return first;
    Expr sum = negative ? -*first : *first;
    for (size_t terms = 1; at("+") || at("-"); ++terms) {
      if (terms > kMostTerms) return error("an expression of very many terms");
      negative = take().text == "-";
      auto next = term();
      if (!next) return next;
      sum = negative ? sum - *next : sum + *next;
    }
    return sum;
  } catch (const OverflowError& e) {
    return error(e.what());
  }
}

Expected<Expr> TextReader::term() {
  if (token_.kind == Token::Kind::kInteger) {
    const char* end = token_.text.data() + token_.text.size();
    auto c = integer("a 64-bit integer");
    if (!c) return tl::unexpected(c.error());
    // 2W and 2(W - 1) are products; in "group=4 pads=…" and "p:2 w" the name is on its own.
    bool touches = token_.text.data() == end && (token_.kind == Token::Kind::kName || at("("));
    if (!accept("*") && !touches) return Expr(*c);
    auto f = factor();
    if (!f) return f;
    return *f * *c;
  }
  auto f = factor();
  if (!f || !accept("*")) return f;
  auto c = integer("an integer factor");
  if (!c) return tl::unexpected(c.error());
  return *f * *c;
}

Expected<Expr> TextReader::factor() {
  Nesting nesting(depth_);
  if (nesting.tooDeep()) return error("nested too deeply");
  if (accept("(")) {
    auto e = expression();
    if (!e) return e;
    if (auto ok = expect(")"); !ok) return tl::unexpected(ok.error());
    return e;
  }
  auto n = name("an expression");
  if (!n) return tl::unexpected(n.error());
  if (*n != "floor") return Expr::variable(*n);
  if (auto ok = expect("("); !ok) return tl::unexpected(ok.error());
  auto e = expression();
  if (!e) return e;
  if (auto ok = expect("/"); !ok) return tl::unexpected(ok.error());
  auto divisor = positive("a positive divisor");
  if (!divisor) return tl::unexpected(divisor.error());
  if (auto ok = expect(")"); !ok) return tl::unexpected(ok.error());
  return floorDiv(*e, *divisor);
}

Expected<std::vector<Constraint>> TextReader::constraints() {
  std::vector<Constraint> result;
  do {
    if (result.size() > kMostEntries) return error("a list of very many constraints");
    auto left = expression();
    if (!left) return tl::unexpected(left.error());
    if (accept("%")) {
      auto k = positive("a positive modulus");
      if (!k) return tl::unexpected(k.error());
      left = modulo(*left, *k);
    }
    if (!at("<=") && !at("<") && !at("=") && !at(">") && !at(">=")) return error("expected one of <= < = > >=");
    Token relation = take();
    auto right = expression();
    if (!right) return tl::unexpected(right.error());
    if (relation.text == "<=") {
      result.push_back(Constraint::le(*left, *right));
    } else if (relation.text == "<") {
      result.push_back(Constraint::lt(*left, *right));
    } else if (relation.text == ">=") {
      result.push_back(Constraint::le(*right, *left));
    } else if (relation.text == ">") {
      result.push_back(Constraint::lt(*right, *left));
    } else {
      result.push_back(Constraint::eq(*left, *right));
    }
  } while (accept(","));
  return result;
}

// extent := term | '{' expression '}' | '(' { extent } ')'
Expected<Dim> TextReader::extent() {
  if (at("(")) return dimension();
  bool braces = accept("{");
  auto e = braces ? expression() : term();
  if (!e) return tl::unexpected(e.error());
  if (braces) {
    if (auto ok = expect("}"); !ok) return tl::unexpected(ok.error());
  }
  return Dim(*e);
}

Expected<Dim> TextReader::dimension() {
  Nesting nesting(depth_);
  if (nesting.tooDeep()) return error("nested too deeply");
  if (!accept("(")) {
    auto e = expression();
    if (!e) return tl::unexpected(e.error());
    return Dim(*e);
  }
  std::vector<Dim> factors;
  while (!at(")")) {
    auto a = extent();
    if (!a) return tl::unexpected(a.error());
    factors.push_back(*a);
    if (factors.size() > kMostTerms) return error("a dimension of very many factors");
  }
  take();
  return Dim::product(factors);
}

Expected<Shape> TextReader::shape() {
  if (auto ok = expect("["); !ok) return tl::unexpected(ok.error());
  Shape result;
  while (!at("]")) {
    auto d = dimension();
    if (!d) return tl::unexpected(d.error());
    result.push_back(*d);
    if (result.size() > kMostDimensions)
      return error("a shape of more than " + std::to_string(kMostDimensions) + " dimensions");
    if (!accept(",")) break;
  }
  if (auto ok = expect("]"); !ok) return tl::unexpected(ok.error());
  return result;
}

Expected<Expr> parseExpr(std::string_view text) {
  TextReader reader(text, "expression");
  auto e = reader.expression();
  if (e && !reader.atEnd()) return reader.error("unexpected text after the expression");
  return e;
}

}  // namespace pet
