#include "ir/text.h"

#include <fmt/format.h>

#include "ir/limits.h"
#include "ir/suggest.h"

namespace pet {

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
        if (list.size() > kMostEntries) return error("a list of very many entries");
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
      auto text = at("\"") ? quoted() : name("a word");
      if (!text) return tl::unexpected(text.error());
      return *text;
    }
  }
}

Expected<std::string> TextReader::newName(const ProgramBuilder& builder, std::string_view what) {
  Token at = token_;
  auto n = name(what);
  if (n && builder.peek().find(*n)) return errorAt(at, fmt::format("'{}' is defined twice", *n));
  return n;
}

Expected<Value> TextReader::value(const ProgramBuilder& builder, std::string_view what) {
  Token at = token_;
  auto n = name(what);
  if (!n) return tl::unexpected(n.error());
  auto v = builder.peek().find(*n);
  if (!v) return errorAt(at, fmt::format("'{}' is not defined", *n));
  return *v;
}

Expected<std::vector<Value>> TextReader::operands(const ProgramBuilder& builder) {
  std::vector<Value> result;
  if (auto ok = expect("("); !ok) return tl::unexpected(ok.error());
  while (!at(")")) {
    auto v = value(builder, "an operand");
    if (!v) return tl::unexpected(v.error());
    result.push_back(*v);
    if (result.size() > kMostNodes) return error("a list of very many operands");
    if (!accept(",")) break;
  }
  if (auto ok = expect(")"); !ok) return tl::unexpected(ok.error());
  return result;
}

namespace {

/// That a text may use.
std::vector<std::string> operatorNames() {
  std::vector<std::string> names;
  for (const OpRow* op : operatorTable()) {
    if (!op->is(ops::kInput)) names.emplace_back(op->name);
  }
  return names;
}

}  // namespace

// A layout or an index map stands first and without its name, then key=value to the end of the line.
Expected<Attributes> TextReader::attributes(const OpRow& op, const Token& opToken, const Shape* operand) {
  Attributes result;
  for (const AttributeSpec& spec : op.attributes) {
    bool isLayout = spec.kind == AttributeKind::kLayout;
    if (!isLayout && spec.kind != AttributeKind::kIndexMap) continue;
    if (!operand) return errorAt(opToken, "an operand is missing");
    auto value = isLayout ? layout(*operand) : indexMap();
    if (!value) return tl::unexpected(value.error());
    result.emplace(spec.name, *value);
  }
  while (!atLineStart() && token_.kind == Token::Kind::kName) {
    Token at = token_;
    std::string key(take().text);
    const AttributeSpec* spec = nullptr;
    for (const auto& s : op.attributes) {
      if (s.name == key) spec = &s;
    }
    if (!spec) {
      auto error = errorAt(at, fmt::format("{} has no attribute '{}'", op.name, key));
      std::vector<std::string> known;
      for (const auto& s : op.attributes)
        known.emplace_back(s.name);
      error.value().advice = suggestion(key, known);
      return error;
    }
    if (auto ok = expect("="); !ok) return tl::unexpected(ok.error());
    auto value = attribute(spec->kind);
    if (!value) return tl::unexpected(value.error());
    if (!result.emplace(key, *value).second) return errorAt(at, fmt::format("'{}' is given twice", key));
  }
  return result;
}

Expected<std::vector<Value>> TextReader::statement(ProgramBuilder& builder) {
  Token first = token_;
  std::vector<std::string> names;
  do {
    auto n = newName(builder, "a value name");
    if (!n) return tl::unexpected(n.error());
    names.push_back(*n);
  } while (accept(","));
  if (auto ok = expect("="); !ok) return tl::unexpected(ok.error());
  Token opToken = token_;
  auto opName = name("an operator");
  if (!opName) return tl::unexpected(opName.error());
  const OpRow* op = findOp(*opName);
  if (!op || op->is(ops::kInput)) {
    return fail(ErrorKind::kUnsupported, fmt::format("unknown operator '{}'", *opName), place(opToken),
                suggestion(*opName, operatorNames()));
  }
  auto on = operands(builder);
  if (!on) return tl::unexpected(on.error());
  auto with = attributes(*op, opToken, on->empty() ? nullptr : &builder.shape(on->front()));
  if (!with) return tl::unexpected(with.error());
  size_t outputs = names.size();
  auto added = builder.add(*op, std::move(*on), std::move(*with), std::move(names));
  if (!added) {
    Error e = added.error();
    e.where = place(opToken);
    return tl::unexpected(e);
  }
  if (builder.peek().node(*added).shapes.size() != outputs) {
    return errorAt(first, fmt::format("{} has {} outputs", op->name, builder.peek().node(*added).shapes.size()));
  }
  std::vector<Value> result;
  for (size_t i = 0; i < outputs; ++i)
    result.push_back({added->node, static_cast<int>(i)});
  return result;
}

Expected<Program> TextReader::body(ProgramBuilder builder) {
  std::vector<Value> result;
  while (!at("}") && !atEnd()) {
    if (accept("return")) {
      result.clear();
      do {
        auto v = value(builder, "a value");
        if (!v) return tl::unexpected(v.error());
        result.push_back(*v);
      } while (accept(","));
      break;
    }
    if (builder.peek().nodes().size() >= kMostNodes)
      return error(fmt::format("a program of more than {} inputs and operators", kMostNodes));
    auto made = statement(builder);
    if (!made) return tl::unexpected(made.error());
    result = std::move(*made);
  }
  if (result.empty()) return error("a program needs at least one statement");
  return std::move(builder).finish(result);
}

Expected<void> TextReader::declaration(ProgramBuilder& builder) {
  if (builder.peek().nodes().size() >= kMostNodes)
    return error(fmt::format("a program of more than {} inputs and operators", kMostNodes));
  auto n = newName(builder, "an input name");
  if (!n) return tl::unexpected(n.error());
  if (auto ok = expect(":"); !ok) return ok;
  bool constant = accept("const");
  auto s = shape();
  if (!s) return tl::unexpected(s.error());
  builder.input(*n, *s, constant);
  return {};
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
