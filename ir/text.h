#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/ops/op.h"

namespace pet {

/// A token of the text forms. `text` views the source.
struct Token {
  enum class Kind { kName, kInteger, kNumber, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text;
  int line = 1, column = 1;
};

/// One item of a layout's group: a name, a literal, or a name with an extent ("n", "2", "p:2").
struct LayoutItem {
  std::string name;  ///< empty for a literal
  std::optional<Dim> extent;
};

/// Reads the shared grammar of programs, patterns and rules: expressions, constraints, shapes and operator statements.
/// Every error names file:line:column and what was expected; its kind is kUnsupported where the text may be right and
/// an operator has no meaning here, else kText. Throws OverflowError where arithmetic on the expressions overflows;
/// parseProgram and parseRules turn that into an error.
class TextReader {
 public:
  TextReader(std::string_view text, std::string_view file);

  const Token& peek() const { return token_; }
  Token take();
  bool at(std::string_view text) const { return token_.kind != Token::Kind::kEnd && token_.text == text; }
  bool atEnd() const { return token_.kind == Token::Kind::kEnd; }
  /// Takes the token if it is `text`.
  bool accept(std::string_view text);
  Expected<void> expect(std::string_view text);
  Expected<std::string> name(std::string_view what);
  Expected<int64_t> integer(std::string_view what);
  /// An integer >= 1.
  Expected<int64_t> positive(std::string_view what);
  /// A floating-point number with its sign, or inf.
  Expected<double> number(std::string_view what);
  /// Everything up to the next white space or brace, e.g. a rule's name "conv/n2-w".
  std::string word();
  /// What is between double quotes, on one line.
  Expected<std::string> quoted();
  /// True if the current token starts a new source line.
  bool atLineStart() const { return token_.line != lastLine_; }

  Expected<Expr> expression();
  /// a <= b, a < b, a = b, a >= b, a > b, a % k = b.
  Expected<std::vector<Constraint>> constraints();
  Expected<Dim> dimension();
  Expected<Shape> shape();

  /// `x: [N, C]` or `w: const [F, C]`.
  bool atDeclaration() const;
  Expected<void> declaration(ProgramBuilder& builder);
  /// Statements `a, b = Op(x, y) attribute=value …` until `}` or the end of the text, in the scope of the builder's
  /// values. The program's outputs are those of the last statement, or of `return a, b`.
  Expected<Program> body(ProgramBuilder builder);

  tl::unexpected<Error> error(std::string what) const { return errorAt(token_, std::move(what)); }
  tl::unexpected<Error> errorAt(const Token& token, std::string what) const;
  /// file:line:column.
  std::string place(const Token& token) const;

 private:
  Expected<Dim> extent();
  Expected<Expr> term();
  Expected<Expr> factor();
  Expected<Attribute> attribute(AttributeKind kind);
  Expected<std::vector<std::vector<LayoutItem>>> layoutSide();
  Expected<Attribute> layout(const Shape& operand);
  Expected<Attribute> indexMap();
  /// A name that is not in use yet.
  Expected<std::string> newName(const ProgramBuilder& builder, std::string_view what);
  /// A name that is in use.
  Expected<Value> value(const ProgramBuilder& builder, std::string_view what);
  Expected<std::vector<Value>> operands(const ProgramBuilder& builder);
  /// `operand`: the shape of the first one, if there is one.
  Expected<Attributes> attributes(const OpRow& op, const Token& opToken, const Shape* operand);
  /// The values that the statement defines.
  Expected<std::vector<Value>> statement(ProgramBuilder& builder);
  void skipSpace();
  void advance();

  std::string_view text_;
  std::string file_;
  size_t position_ = 0;
  int line_ = 1, column_ = 1, lastLine_ = 0;
  int depth_ = 0;
  Token token_;
};

/// The text is one name, and needs no quotes.
bool isName(std::string_view text);
Expected<Expr> parseExpr(std::string_view text);
/// A program over the given inputs, e.g. in tests: declarations `x: [N, C]`, `w: const [F, C]`, then statements.
Expected<Program> parseProgram(std::string_view text, std::string_view file);

/// One line per input and statement, in the form that TextReader reads.
std::string print(const Program& program, std::string_view indent = "");
/// Only the statements, without the inputs' declarations.
std::string printStatements(const Program& program, std::string_view indent = "");
/// Of one node that is no input: "y = Conv(x, w) pads=[1, 1, 1, 1]".
std::string printStatement(const Program& program, const Node& node);
std::string print(const LayoutSpec& layout);
std::string print(const IndexMapSpec& map);

}  // namespace pet
