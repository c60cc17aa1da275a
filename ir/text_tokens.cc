// The tokens of the text forms.

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "ir/text.h"

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

}  // namespace

bool isName(std::string_view text) {
  return !text.empty() && isNameStart(text[0]) && std::all_of(text.begin(), text.end(), isNamePart);
}

TextReader::TextReader(std::string_view text, std::string_view file) : text_(text), file_(file) {
  advance();
}

tl::unexpected<Error> TextReader::errorAt(const Token& token, std::string what) const {
  return fail(ErrorKind::kText, std::move(what), place(token));
}

std::string TextReader::place(const Token& token) const {
  return fmt::format("{}:{}:{}", file_, token.line, token.column);
}

void TextReader::skipSpace() {
  bool comment = false;
  for (; position_ < text_.size(); ++position_, ++column_) {
    char c = text_[position_];
    comment = c == '#' || (comment && c != '\n');
    if (!comment && !std::isspace(static_cast<unsigned char>(c))) return;
    if (c != '\n') continue;
    ++line_;
    column_ = 0;
  }
}

void TextReader::advance() {
  skipSpace();
  token_ = {Token::Kind::kEnd, text_.substr(position_, 0), line_, column_};
  if (position_ == text_.size()) return;
  size_t end = position_ + 1;
  char c = text_[position_];
  auto digits = [&] {
    while (end < text_.size() && isDigit(text_[end]))
      ++end;
  };
  auto digitAt = [&](size_t i) { return i < text_.size() && isDigit(text_[i]); };
  if (isNameStart(c)) {
    token_.kind = Token::Kind::kName;
    while (end < text_.size() && isNamePart(text_[end]))
      ++end;
  } else if (isDigit(c)) {
    token_.kind = Token::Kind::kInteger;
    digits();
    if (text_.substr(end, 1) == "." && digitAt(end + 1)) {
      token_.kind = Token::Kind::kNumber;
      ++end;
      digits();
    }
    auto sign = text_.substr(std::min(end + 1, text_.size()), 1);
    size_t exponent = end + (sign == "-" || sign == "+" ? 2 : 1);
    if (text_.substr(end, 1) == "e" && digitAt(exponent)) {
      token_.kind = Token::Kind::kNumber;
      end = exponent;
      digits();
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

Expected<std::string> TextReader::quoted() {
  const auto begin = static_cast<size_t>(token_.text.data() - text_.data()) + 1;
  const size_t end = text_.find_first_of("\"\n", begin);
  if (end == std::string_view::npos || text_[end] != '"') return error("expected '\"' at the end of the line");
  lastLine_ = line_ = token_.line;
  position_ = end + 1;
  column_ = token_.column + static_cast<int>(position_ - begin) + 1;
  advance();
  return std::string(text_.substr(begin, end - begin));
}

bool TextReader::atDeclaration() const {
  size_t p = position_;
  while (p < text_.size() && std::isspace(static_cast<unsigned char>(text_[p])))
    ++p;
  return token_.kind == Token::Kind::kName && p < text_.size() && text_[p] == ':';
}

}  // namespace pet
