#include "tools/apply/sizes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "applier/infer/infer.h"
#include "applier/view/model_sizes.h"
#include "ir/suggest.h"
#include "ir/text.h"

namespace pet::tool {
namespace {

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 1 ? std::optional(value) : std::nullopt;
}

/// Combinations of expected sizes.
constexpr size_t kMostExpected = 64;

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

/// Of "8" the number, of "128..512" the ends and the middle, which is as many times the one as the other is of it.
bool enterValues(const std::string& text, std::set<int64_t>& into) {
  const size_t range = text.find("..");
  auto first = number(text.substr(0, range));
  auto last = range == std::string::npos ? first : number(text.substr(range + 2));
  if (!first || !last || *first > *last) return false;
  const double middle = std::sqrt(static_cast<double>(*first)) * std::sqrt(static_cast<double>(*last));
  into.insert({*first, std::clamp(static_cast<int64_t>(std::llround(middle)), *first, *last), *last});
  return true;
}

/// "1,8" or "128..512", the least first.
std::optional<std::vector<int64_t>> values(const std::string& text) {
  std::set<int64_t> result;
  for (const std::string& part : split(text, ',')) {
    if (!enterValues(part, result)) return std::nullopt;
  }
  return std::vector(result.begin(), result.end());
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
      int64_t& multiple = into_.multiples.try_emplace(*symbol, 1).first->second;
      multiple = checkedMul(multiple / std::gcd(multiple, *divisor), *divisor);
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
    size_t count = 1;
    for (const auto& [name, each] : into_.expected)
      count *= each.size();
    if (count <= kMostExpected) return {};
    return fail(ErrorKind::kUsage,
                fmt::format("--expect {}: {} combinations of sizes, more than {}", text, count, kMostExpected));
  }

  /// Whether there are sizes of which all promises hold, as far as one symbol or two promises say.
  Expected<void> checkPromises() const {
    const ModelSizes sizes(inference_.least, into_.assumed);
    for (const auto& [symbol, most] : sizes.most()) {
      if (auto ok = checkRange(symbol, sizes, most); !ok) return ok;
    }
    for (const Constraint& a : into_.assumed) {
      if (a.decided() == false) return contradictory(a, a);
      for (const Constraint& b : into_.assumed) {
        const bool isEqual = a.kind == Constraint::Kind::kZero;
        if (Constraint{a.expr + b.expr}.decided() == false) return contradictory(a, b);
        if (isEqual && Constraint{b.expr - a.expr}.decided() == false) return contradictory(a, b);
      }
    }
    return {};
  }

 private:
  /// A symbol, or a number where the model runs with no other.
  Expected<Expr> extentOf(const std::string& name) const {
    if (auto it = inference_.symbols.find(name); it != inference_.symbols.end()) return Expr::variable(it->second);
    if (auto it = inference_.equal.find(name); it != inference_.equal.end()) return it->second;
    if (inference_.least.contains(name)) return Expr::variable(name);
    std::vector<std::string> names;
    for (const auto& [file, symbol] : inference_.symbols)
      names.push_back(file);
    const std::string all =
        names.empty() ? "--types shows what it leaves open" : fmt::format("it has {}", fmt::join(names, ", "));
    return fail(ErrorKind::kUsage, fmt::format("the model leaves no extent open that is called '{}'", name), "",
                suggestionAnd(name, names, all));
  }

  Expected<std::string> symbolOf(const std::string& name) const {
    auto extent = extentOf(name);
    if (!extent) return tl::unexpected(extent.error());
    if (auto symbol = extent->asVariable()) return *symbol;
    return fail(ErrorKind::kUsage, fmt::format("the model runs only where '{}' is {}", name, extent->str()));
  }

  /// At least, at most, and a multiple.
  Expected<void> checkRange(const std::string& symbol, const ModelSizes& sizes, int64_t most) const {
    auto from = sizes.least().find(symbol);
    auto by = into_.multiples.find(symbol);
    const int64_t least = from == sizes.least().end() ? 1 : from->second;
    const int64_t multiple = by == into_.multiples.end() ? 1 : by->second;
    if (most >= least && floorDivide(most, multiple) > floorDivide(least - 1, multiple)) return {};
    const std::string also = multiple > 1 ? fmt::format(" and a multiple of {}", multiple) : "";
    return fail(ErrorKind::kUsage,
                fmt::format("--assume: no size '{}' is at least {}, at most {}{}", nameOf(symbol), least, most, also));
  }

  tl::unexpected<Error> contradictory(const Constraint& a, const Constraint& b) const {
    const std::string text = a == b ? a.str() : fmt::format("{}, {}", a.str(), b.str());
    return fail(ErrorKind::kUsage, fmt::format("--assume: this holds for no sizes: {}", text));
  }

  /// What the file calls a symbol.
  std::string nameOf(const std::string& symbol) const {
    for (const auto& [name, its] : inference_.symbols) {
      if (its == symbol) return name;
    }
    return symbol;
  }

  Expected<Expr> expression(const std::string& text) const {
    auto e = parseExpr(text);
    if (!e) return fail(ErrorKind::kUsage, fmt::format("--assume: '{}' is not a sum of sizes and numbers", text));
    std::map<std::string, Expr> by;
    for (const std::string& name : e->variables()) {
      auto extent = extentOf(name);
      if (!extent) return tl::unexpected(extent.error());
      by.emplace(name, std::move(*extent));
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

Expected<void> readSizes(const SizeTexts& texts, const Graph& graph, NormaliseOptions& into) try {
  SizeReader reader(graph, into);
  for (const std::string& text : texts.assume) {
    if (auto ok = reader.assume(text); !ok) return ok;
  }
  for (const std::string& text : texts.expect) {
    if (auto ok = reader.expect(text); !ok) return ok;
  }
  return reader.checkPromises();
} catch (const OverflowError&) {
  return fail(ErrorKind::kUsage, "--assume: a number beyond 64 bits");
}

}  // namespace pet::tool
