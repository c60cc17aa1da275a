#include "ir/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "ir/ops/digits.h"

namespace pet {
namespace {

bool isNameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool isNamePart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '\'';
}
bool isDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c));
}

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

TextReader::TextReader(std::string_view text, std::string_view file) : text_(text), file_(file) {
  advance();
}

tl::unexpected<Error> TextReader::errorAt(const Token& token, std::string what) const {
  return fail(ErrorKind::kText, std::move(what), fmt::format("{}:{}:{}", file_, token.line, token.column));
}

void TextReader::advance() {
  auto step = [&] {
    if (text_[position_] == '\n') {
      ++line_;
      column_ = 0;
    }
    ++column_;
    ++position_;
  };
  while (position_ < text_.size()) {
    char c = text_[position_];
    if (c == '#') {
      while (position_ < text_.size() && text_[position_] != '\n')
        step();
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      step();
    } else {
      break;
    }
  }
  token_ = {Token::Kind::kEnd, text_.substr(position_, 0), line_, column_};
  if (position_ == text_.size()) return;
  size_t end = position_ + 1;
  char c = text_[position_];
  if (isNameStart(c)) {
    token_.kind = Token::Kind::kName;
    while (end < text_.size() && isNamePart(text_[end]))
      ++end;
  } else if (isDigit(c)) {
    token_.kind = Token::Kind::kInteger;
    while (end < text_.size() && isDigit(text_[end]))
      ++end;
    if (end + 1 < text_.size() && text_[end] == '.' && isDigit(text_[end + 1])) {
      token_.kind = Token::Kind::kNumber;
      for (++end; end < text_.size() && isDigit(text_[end]);)
        ++end;
    }
    bool exponent = end + 1 < text_.size() && text_[end] == 'e';
    if (size_t sign = exponent && (text_[end + 1] == '-' || text_[end + 1] == '+') ? 1 : 0;
        exponent && end + 1 + sign < text_.size() && isDigit(text_[end + 1 + sign])) {
      token_.kind = Token::Kind::kNumber;
      for (end += 2 + sign; end < text_.size() && isDigit(text_[end]);)
        ++end;
    }
  } else {
    token_.kind = Token::Kind::kSymbol;
    for (std::string_view two : {"->", "<=", ">="}) {
      if (text_.substr(position_, 2) == two) end = position_ + 2;
    }
  }
  token_.text = text_.substr(position_, end - position_);
  column_ += static_cast<int>(end - position_);
  position_ = end;
}

Token TextReader::take() {
  Token taken = token_;
  lastLine_ = taken.line;
  advance();
  return taken;
}

bool TextReader::accept(std::string_view text) {
  if (!at(text)) return false;
  take();
  return true;
}

Expected<void> TextReader::expect(std::string_view text) {
  if (accept(text)) return {};
  return error(fmt::format("expected '{}', found {}", text, atEnd() ? "the end" : fmt::format("'{}'", token_.text)));
}

Expected<std::string> TextReader::name(std::string_view what) {
  if (token_.kind != Token::Kind::kName) {
    return error(fmt::format("expected {}, found {}", what, atEnd() ? "the end" : fmt::format("'{}'", token_.text)));
  }
  return std::string(take().text);
}

Expected<int64_t> TextReader::integer(std::string_view what) {
  int64_t value = 0;
  if (token_.kind != Token::Kind::kInteger ||
      std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), value).ec != std::errc()) {
    return error(fmt::format("expected {}", what));
  }
  take();
  return value;
}

Expected<int64_t> TextReader::positive(std::string_view what) {
  Token start = token_;
  auto value = integer(what);
  if (value && *value < 1) return errorAt(start, fmt::format("expected {}", what));
  return value;
}

Expected<double> TextReader::number(std::string_view what) {
  double sign = accept("-") ? -1 : 1, value = 0;
  if (accept("inf")) return sign * std::numeric_limits<double>::infinity();
  bool isNumber = token_.kind == Token::Kind::kInteger || token_.kind == Token::Kind::kNumber;
  const char* end = token_.text.data() + token_.text.size();
  if (!isNumber || std::from_chars(token_.text.data(), end, value).ec != std::errc()) {
    return error(fmt::format("expected {}", what));
  }
  take();
  return sign * value;
}

std::string TextReader::word() {
  if (atEnd()) return "";
  size_t begin = static_cast<size_t>(token_.text.data() - text_.data());
  size_t end = begin;
  while (end < text_.size() && !std::isspace(static_cast<unsigned char>(text_[end])) && text_[end] != '{')
    ++end;
  lastLine_ = token_.line;
  position_ = end;
  line_ = token_.line;
  column_ = token_.column + static_cast<int>(end - begin);
  advance();
  return std::string(text_.substr(begin, end - begin));
}

// expression := ['-'] term { ('+' | '-') term };  term := integer [['*'] factor] | factor ['*' integer];
// factor := name | 'floor' '(' expression '/' integer ')' | '(' expression ')'
Expected<Expr> TextReader::expression() {
  try {
    bool negative = accept("-");
    auto first = term();
    if (!first) return first;
    Expr sum = negative ? -*first : *first;
    while (at("+") || at("-")) {
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
    if (!accept(",")) break;
  }
  if (auto ok = expect("]"); !ok) return tl::unexpected(ok.error());
  return result;
}

Expected<Attribute> TextReader::attribute(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kScalar: {
      auto e = expression();
      if (!e) return tl::unexpected(e.error());
      return *e;
    }
    case AttributeKind::kList: {
      if (auto ok = expect("["); !ok) return tl::unexpected(ok.error());
      std::vector<Expr> list;
      while (!at("]")) {
        auto e = expression();
        if (!e) return tl::unexpected(e.error());
        list.push_back(*e);
        if (!accept(",")) break;
      }
      if (auto ok = expect("]"); !ok) return tl::unexpected(ok.error());
      return list;
    }
    case AttributeKind::kNumber: {
      auto n = number("a number");
      if (!n) return tl::unexpected(n.error());
      return *n;
    }
    default: {
      auto n = name("a word");
      if (!n) return tl::unexpected(n.error());
      return *n;
    }
  }
}

Expected<std::vector<std::vector<LayoutItem>>> TextReader::layoutSide() {
  std::vector<std::vector<LayoutItem>> side;
  auto item = [&]() -> Expected<LayoutItem> {
    if (token_.kind == Token::Kind::kInteger) {
      auto k = integer("a 64-bit integer");
      if (!k) return tl::unexpected(k.error());
      return LayoutItem{"", Dim(*k)};
    }
    auto n = name("an axis name or a number");
    if (!n) return tl::unexpected(n.error());
    if (!accept(":")) return LayoutItem{*n, std::nullopt};
    auto d = extent();
    if (!d) return tl::unexpected(d.error());
    return LayoutItem{*n, *d};
  };
  while (!at("->") && !at("}") && !atEnd() && !(atLineStart() && !side.empty())) {
    side.emplace_back();
    bool group = accept("(");
    do {
      auto i = item();
      if (!i) return tl::unexpected(i.error());
      side.back().push_back(*i);
    } while (group && !at(")"));
    if (group) take();
  }
  return side;
}

namespace {

/// The extents of a group's open items, given the group's dimension.
bool inferExtents(std::vector<LayoutItem>& group, const Dim& dim) {
  Dim rest = dim;
  size_t first = 0, last = group.size();
  while (first < last && group[first].extent && group[first].extent->asConstant()) {
    auto q = divideByOuter(rest, group[first].extent->affine());
    if (!q) break;
    rest = *q;
    ++first;
  }
  while (last > first && group[last - 1].extent && group[last - 1].extent->asConstant()) {
    auto q = divideByInner(rest, group[last - 1].extent->affine());
    if (!q) break;
    rest = *q;
    --last;
  }
  if (last - first == 1 && !group[first].extent) {
    group[first].extent = rest;
  } else if (last - first == rest.atoms().size()) {
    for (size_t i = first; i < last; ++i) {
      if (!group[i].extent) group[i].extent = Dim(rest.atoms()[i - first]);
    }
  }
  std::vector<Dim> product;
  for (const auto& i : group) {
    if (!i.extent) return false;
    product.push_back(*i.extent);
  }
  return Dim::product(product) == dim;
}

}  // namespace

namespace {

bool hasAxis(const LayoutSpec& spec, std::string_view name) {
  return std::any_of(spec.axes.begin(), spec.axes.end(), [&](const LayoutAxis& a) { return a.name == name; });
}

}  // namespace

// layout := side '->' side;  side := { item | '(' { item } ')' }, e.g. (n 2) c h w -> n c h (2 w)
Expected<Attribute> TextReader::layout(const Shape& operand) {
  Token start = token_;
  auto left = layoutSide();
  if (!left) return tl::unexpected(left.error());
  if (auto ok = expect("->"); !ok) return tl::unexpected(ok.error());
  auto right = layoutSide();
  if (!right) return tl::unexpected(right.error());
  if (left->size() != operand.size()) {
    return errorAt(
        start, fmt::format("the layout has {} dimensions on its left, the operand is {}", left->size(), str(operand)));
  }
  LayoutSpec spec;
  std::vector<bool> used;
  for (size_t d = 0; d < left->size(); ++d) {
    if (!inferExtents((*left)[d], operand[d])) {
      return errorAt(start, fmt::format("cannot split {} as written; give extents, e.g. (n p:2)", operand[d].str()));
    }
    spec.left.emplace_back();
    for (const LayoutItem& item : (*left)[d]) {
      if (!item.name.empty() && hasAxis(spec, item.name)) {
        return errorAt(start, fmt::format("axis '{}' occurs twice on the left", item.name));
      }
      spec.left.back().push_back(static_cast<int>(spec.axes.size()));
      spec.axes.push_back({item.name, *item.extent});
      used.push_back(false);
    }
  }
  for (const auto& group : *right) {
    spec.right.emplace_back();
    for (const LayoutItem& item : group) {
      size_t found = spec.axes.size();
      for (size_t a = 0; a < spec.axes.size() && found == spec.axes.size(); ++a) {
        if (!used[a] && spec.axes[a].name == item.name && (!item.name.empty() || spec.axes[a].extent == *item.extent))
          found = a;
      }
      if (found == spec.axes.size()) {
        if (item.extent != Dim(1)) {
          return errorAt(start, fmt::format("'{}' on the right is not on the left",
                                            item.name.empty() ? item.extent->str() : item.name));
        }
        spec.axes.push_back({item.name, Dim(1)});
        used.push_back(false);
      }
      used[found] = true;
      spec.right.back().push_back(static_cast<int>(found));
    }
  }
  for (size_t a = 0; a < used.size(); ++a) {
    if (!used[a] && spec.axes[a].extent != Dim(1)) {
      return errorAt(start, fmt::format("axis '{}' is missing on the right", spec.axes[a].name));
    }
  }
  for (LayoutAxis& axis : spec.axes) {  // literals get names, so that an axis is always referred to by name
    for (int k = 0; axis.name.empty(); ++k) {
      std::string free = fmt::format("_{}", k);
      if (!hasAxis(spec, free)) axis.name = free;
    }
  }
  return spec;
}

// map := '[' dims ']' '->' '[' digits ']' ['where' constraints];  a dimension is axis:extent or ( axis:extent … ),
// digits of one dimension are separated by ':'
Expected<Attribute> TextReader::indexMap() {
  IndexMapSpec spec;
  if (auto ok = expect("["); !ok) return tl::unexpected(ok.error());
  while (!at("]")) {
    spec.dims.emplace_back();
    bool group = accept("(");
    do {
      auto n = name("an axis name");
      if (!n) return tl::unexpected(n.error());
      if (auto ok = expect(":"); !ok) return tl::unexpected(ok.error());
      auto d = extent();
      if (!d) return tl::unexpected(d.error());
      spec.dims.back().push_back({*n, *d});
    } while (group && !at(")"));
    if (group) take();
    if (!accept(",")) break;
  }
  for (auto t : {"]", "->", "["}) {
    if (auto ok = expect(t); !ok) return tl::unexpected(ok.error());
  }
  while (!at("]")) {
    spec.source.emplace_back();
    do {
      auto e = expression();
      if (!e) return tl::unexpected(e.error());
      spec.source.back().push_back(*e);
    } while (accept(":"));
    if (!accept(",")) break;
  }
  if (auto ok = expect("]"); !ok) return tl::unexpected(ok.error());
  if (!atLineStart() && accept("where")) {
    auto guards = constraints();
    if (!guards) return tl::unexpected(guards.error());
    spec.guards = *guards;
  }
  return spec;
}

Expected<void> TextReader::statement(ProgramBuilder& builder, std::vector<Value>& result) {
  Token first = token_;
  std::vector<std::string> names;
  do {
    Token at = token_;
    auto n = name("a value name");
    if (!n) return tl::unexpected(n.error());
    if (builder.peek().find(*n)) return errorAt(at, fmt::format("'{}' is defined twice", *n));
    names.push_back(*n);
  } while (accept(","));
  if (auto ok = expect("="); !ok) return ok;
  Token opToken = token_;
  auto opName = name("an operator");
  if (!opName) return tl::unexpected(opName.error());
  const OpRow* op = findOp(*opName);
  if (!op || op->name == "Input") return errorAt(opToken, fmt::format("unknown operator '{}'", *opName));
  if (auto ok = expect("("); !ok) return ok;
  std::vector<Value> operands;
  while (!at(")")) {
    Token at = token_;
    auto n = name("an operand");
    if (!n) return tl::unexpected(n.error());
    auto v = builder.peek().find(*n);
    if (!v) return errorAt(at, fmt::format("'{}' is not defined", *n));
    operands.push_back(*v);
    if (!accept(",")) break;
  }
  if (auto ok = expect(")"); !ok) return ok;

  Attributes attributes;
  for (const AttributeSpec& spec : op->attributes) {
    bool isLayout = spec.kind == AttributeKind::kLayout;
    if (!isLayout && spec.kind != AttributeKind::kIndexMap) continue;
    if (operands.empty()) return errorAt(opToken, "an operand is missing");
    auto value = isLayout ? layout(builder.shape(operands[0])) : indexMap();
    if (!value) return tl::unexpected(value.error());
    attributes.emplace(spec.name, *value);
  }
  while (!atLineStart() && token_.kind == Token::Kind::kName) {
    Token at = token_;
    std::string key(take().text);
    const AttributeSpec* spec = nullptr;
    for (const auto& s : op->attributes) {
      if (s.name == key) spec = &s;
    }
    if (!spec) return errorAt(at, fmt::format("{} has no attribute '{}'", op->name, key));
    if (auto ok = expect("="); !ok) return ok;
    auto value = attribute(spec->kind);
    if (!value) return tl::unexpected(value.error());
    if (!attributes.emplace(key, *value).second) return errorAt(at, fmt::format("'{}' is given twice", key));
  }
  size_t outputs = names.size();
  auto added = builder.add(*op, operands, std::move(attributes), std::move(names));
  if (!added) {
    Error e = added.error();
    e.where = fmt::format("{}:{}:{}", file_, opToken.line, opToken.column);
    return tl::unexpected(e);
  }
  if (builder.peek().node(*added).shapes.size() != outputs) {
    return errorAt(first, fmt::format("{} has {} outputs", op->name, builder.peek().node(*added).shapes.size()));
  }
  result.clear();
  for (size_t i = 0; i < outputs; ++i)
    result.push_back({added->node, static_cast<int>(i)});
  return {};
}

Expected<Program> TextReader::body(ProgramBuilder builder) {
  std::vector<Value> result;
  while (!at("}") && !atEnd()) {
    if (accept("return")) {
      result.clear();
      do {
        Token at = token_;
        auto n = name("a value");
        if (!n) return tl::unexpected(n.error());
        auto v = builder.peek().find(*n);
        if (!v) return errorAt(at, fmt::format("'{}' is not defined", *n));
        result.push_back(*v);
      } while (accept(","));
      break;
    }
    if (auto ok = statement(builder, result); !ok) return tl::unexpected(ok.error());
  }
  if (result.empty()) return error("a program needs at least one statement");
  return std::move(builder).finish(result);
}

Expected<void> TextReader::declaration(ProgramBuilder& builder) {
  Token at = token_;
  auto n = name("an input name");
  if (!n) return tl::unexpected(n.error());
  if (builder.peek().find(*n)) return errorAt(at, fmt::format("'{}' is defined twice", *n));
  if (auto ok = expect(":"); !ok) return ok;
  bool constant = accept("const");
  auto s = shape();
  if (!s) return tl::unexpected(s.error());
  builder.input(*n, *s, constant);
  return {};
}

bool TextReader::atDeclaration() const {
  size_t p = position_;
  while (p < text_.size() && std::isspace(static_cast<unsigned char>(text_[p])))
    ++p;
  return token_.kind == Token::Kind::kName && p < text_.size() && text_[p] == ':';
}

Expected<Expr> parseExpr(std::string_view text) {
  TextReader reader(text, "expression");
  auto e = reader.expression();
  if (e && !reader.atEnd()) return reader.error("unexpected text after the expression");
  return e;
}

Expected<Program> parseProgram(std::string_view text, std::string_view file) {
  TextReader reader(text, file);
  try {
    ProgramBuilder builder;
    while (reader.atDeclaration()) {
      if (auto ok = reader.declaration(builder); !ok) return tl::unexpected(ok.error());
    }
    auto program = reader.body(std::move(builder));
    if (program && !reader.atEnd()) return reader.error("expected the end");
    return program;
  } catch (const OverflowError& e) {
    return reader.error(e.what());
  }
}

}  // namespace pet
