#include "tools/apply/sizes.h"

#include <charconv>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "applier/infer/infer.h"
#include "ir/text.h"

namespace pet::tool {
namespace {

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 1 ? std::optional(value) : std::nullopt;
}

/// "name" and what stands behind the last =.
std::optional<std::pair<std::string, std::string>> named(const std::string& text) {
  size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

tl::unexpected<Error> wrongForm(const char* option, const std::string& text, const char* example) {
  return fail(ErrorKind::kUsage, fmt::format("{} {}: not of the form {}", option, text, example));
}

/// "1,8" or "128..512".
std::optional<std::vector<int64_t>> values(const std::string& text) {
  std::vector<int64_t> result;
  size_t range = text.find("..");
  std::vector<std::string> parts =
      range == std::string::npos ? split(text, ',') : std::vector{text.substr(0, range), text.substr(range + 2)};
  for (const std::string& part : parts) {
    auto value = number(part);
    if (!value) return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

class SizeReader {
 public:
  SizeReader(const Graph& graph, NormaliseOptions& into)
      : inference_(infer(graph, {.freezeInputs = into.freezeInputs})), into_(into) {}

  Expected<void> assume(const std::string& text) {
    static const std::regex kMultiple(R"(\s*(\S+)\s*%\s*(\d+)\s*==?\s*0\s*)"),
        kRelation(R"((.+?)(<=|>=|==|<|>|=)(.+))");
    std::smatch m;
    if (std::regex_match(text, m, kMultiple)) {
      auto symbol = symbolOf(m[1]);
      auto divisor = number(m[2].str());
      if (!symbol) return tl::unexpected(symbol.error());
      if (!divisor) return wrongForm("--assume", text, "'seq % 16 == 0'");
      into_.multiples[*symbol] = *divisor;
      return {};
    }
    if (!std::regex_match(text, m, kRelation)) return wrongForm("--assume", text, "'seq <= 4096' or 'seq % 16 == 0'");
    auto left = expression(m[1]), right = expression(m[3]);
    if (!left || !right) return tl::unexpected((left ? right : left).error());
    const std::string relation = m[2];
    into_.assumed.push_back(relation == "<="   ? Constraint::le(*left, *right)
                            : relation == "<"  ? Constraint::lt(*left, *right)
                            : relation == ">=" ? Constraint::le(*right, *left)
                            : relation == ">"  ? Constraint::lt(*right, *left)
                                               : Constraint::eq(*left, *right));
    return {};
  }

  Expected<void> expect(const std::string& text) {
    auto parts = named(text);
    auto list = parts ? values(parts->second) : std::nullopt;
    if (!list) return wrongForm("--expect", text, "batch=1,8 or seq=128..512");
    auto symbol = symbolOf(parts->first);
    if (!symbol) return tl::unexpected(symbol.error());
    into_.expected[*symbol] = std::move(*list);
    return {};
  }

 private:
  Expected<std::string> symbolOf(const std::string& name) const {
    if (auto it = inference_.symbols.find(name); it != inference_.symbols.end()) return it->second;
    if (inference_.least.contains(name)) return name;
    std::vector<std::string> names;
    for (const auto& [file, symbol] : inference_.symbols)
      names.push_back(file);
    return fail(ErrorKind::kUsage, fmt::format("the model leaves no extent open that is called '{}'", name), "",
                names.empty() ? "--types shows what it leaves open" : fmt::format("it has {}", fmt::join(names, ", ")));
  }

  Expected<Expr> expression(const std::string& text) const {
    auto e = parseExpr(text);
    if (!e) return fail(ErrorKind::kUsage, fmt::format("--assume: '{}' is not a sum of sizes and numbers", text));
    std::map<std::string, Expr> by;
    for (const std::string& name : e->variables()) {
      auto symbol = symbolOf(name);
      if (!symbol) return tl::unexpected(symbol.error());
      by.emplace(name, Expr::variable(*symbol));
    }
    return e->substitute(by);
  }

  Inference inference_;
  NormaliseOptions& into_;
};

}  // namespace

Expected<OpenExtents> openExtents(const SizeTexts& texts) {
  OpenExtents extents;
  for (const std::string& text : texts.bind) {
    auto parts = named(text);
    auto value = parts ? number(parts->second) : std::nullopt;
    if (!value) return wrongForm("--bind", text, "batch=8");
    extents.byName[parts->first] = *value;
  }
  for (const std::string& text : texts.shapes) {
    auto parts = named(text);
    std::vector<int64_t> shape;
    for (const std::string& part : split(parts ? parts->second : "", 'x')) {
      auto value = number(part);
      if (!value) return wrongForm("--shape", text, "input=1x3x224x224");
      shape.push_back(*value);
    }
    extents.byInput[parts->first] = std::move(shape);
  }
  return extents;
}

Expected<void> readSizes(const SizeTexts& texts, const Graph& graph, NormaliseOptions& into) {
  SizeReader reader(graph, into);
  for (const std::string& text : texts.assume) {
    if (auto ok = reader.assume(text); !ok) return ok;
  }
  for (const std::string& text : texts.expect) {
    if (auto ok = reader.expect(text); !ok) return ok;
  }
  return {};
}

}  // namespace pet::tool
