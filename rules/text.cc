#include "rules/text.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/denote.h"
#include "ir/join.h"
#include "ir/limits.h"
#include "ir/text.h"
#include "rules/numbers.h"
#include "rules/text_proof.h"

namespace pet {
namespace {

std::string print(const std::vector<Constraint>& constraints) {
  return joined(constraints, ", ", [](const Constraint& c) { return c.str(); });
}

std::string print(const BoxRange& r) {
  std::string text = r.lower.str() + ":" + r.upper.str();
  return r.step == 1 ? text : fmt::format("{}:{}", text, r.step);
}

class RuleReader {
 public:
  RuleReader(std::string_view text, std::string_view file, const RuleSet& known) : in_(text, file), known_(known) {}

  Expected<RuleSet> read() {
    try {
      return readAll();
    } catch (const OverflowError& e) {
      return in_.error(e.what());
    }
  }

 private:
  Expected<RuleSet> readAll() {
    while (!in_.atEnd()) {
      if (in_.accept("pattern")) {
        PET_TRY(pattern());
      } else if (in_.accept("rule")) {
        PET_TRY(rule());
      } else {
        return in_.error("expected 'pattern' or 'rule'");
      }
    }
    auto byName = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::sort(result_.patterns.begin(), result_.patterns.end(), byName);
    std::sort(result_.rules.begin(), result_.rules.end(), byName);
    return std::move(result_);
  }

  /// A name such as "conv/n2-w".
  Expected<std::string> word(std::string_view what) {
    bool starts = in_.peek().kind == Token::Kind::kName || in_.peek().kind == Token::Kind::kInteger;
    Token at = in_.peek();
    if (!starts) return in_.error(fmt::format("expected {}", what));
    std::string word = in_.word();
    auto strange = std::find_if(word.begin(), word.end(), [](char c) { return c < '!' || c > '~'; });
    if (strange == word.end()) return word;
    at.column += static_cast<int>(strange - word.begin());
    return in_.errorAt(at, fmt::format("{} has visible ASCII characters only", what));
  }

  Expected<ShapeClass> shapeClass() {
    ShapeClass shapes;
    while (in_.peek().kind == Token::Kind::kName && !in_.atLineStart()) {
      std::string symbol(in_.peek().text);
      if (std::find(shapes.symbols.begin(), shapes.symbols.end(), symbol) != shapes.symbols.end())
        return in_.error(fmt::format("the symbol '{}' is declared twice", symbol));
      if (shapes.symbols.size() >= kMostEntries) return in_.error("a class of very many symbols");
      shapes.symbols.push_back(std::move(symbol));
      in_.take();
    }
    if (in_.accept(":")) {
      auto c = in_.constraints();
      if (!c) return tl::unexpected(c.error());
      shapes.constraints = std::move(*c);
    }
    return shapes;
  }

  Expected<void> pattern() {
    Pattern p;
    Token at = in_.peek();
    auto name = word("a pattern's name");
    if (!name) return tl::unexpected(name.error());
    p.name = std::move(*name);
    if (find(result_.patterns, p.name)) return in_.errorAt(at, fmt::format("pattern '{}' is defined twice", p.name));
    PET_TRY(in_.expect("{"));
    PET_TRY(in_.expect("shape"));
    auto shapes = shapeClass();
    if (!shapes) return tl::unexpected(shapes.error());
    p.shapes = std::move(*shapes);
    std::vector<Token> any;
    while (atAnyNumber())
      PET_TRY(anyNumber(any, p.anyNumbers));
    ProgramBuilder builder;
    while (in_.atDeclaration())
      PET_TRY(in_.declaration(builder));
    auto body = in_.body(std::move(builder));
    if (!body) return tl::unexpected(body.error());
    p.program = std::move(*body);
    PET_TRY(in_.expect("}"));
    for (size_t i = 0; i < any.size(); ++i) {
      if (auto why = whyNotAny(p.anyNumbers[i], p.program, NumberPlace::kPattern)) return in_.errorAt(any[i], *why);
    }
    std::vector<std::string> outputs = outputNames(p.program);
    for (auto o = outputs.begin(); o != outputs.end(); ++o) {
      if (std::find(outputs.begin(), o, *o) != o)
        return in_.errorAt(at, fmt::format("pattern '{}' returns {} twice", p.name, *o));
    }
    // The rows' own demands (pads >= 0, extents >= 1) are part of the class.
    for (const Constraint& c : obligations(p.program))
      p.shapes.require(c);
    for (Value v : p.program.inputs()) {
      for (const Dim& d : p.program.shape(v)) {
        for (const Expr& atom : d.atoms())
          p.shapes.require(Constraint::le(1, atom));
      }
    }
    if (auto unknown = unknownSymbol(p.program, p.shapes)) {
      return in_.errorAt(at, fmt::format("symbol '{}' is not declared in 'shape'", *unknown));
    }
    result_.patterns.push_back(std::move(p));
    return {};
  }

  /// A value may be called "any", too.
  bool atAnyNumber() const {
    TextReader ahead = in_;
    const bool any = ahead.accept("any");
    return any && (ahead.peek().kind == Token::Kind::kNumber || ahead.peek().kind == Token::Kind::kInteger);
  }

  /// "any 1e-05 > 0".
  Expected<void> anyNumber(std::vector<Token>& at, std::vector<double>& into) {
    in_.take();
    at.push_back(in_.peek());
    auto number = in_.number("a number");
    if (!number) return tl::unexpected(number.error());
    if (std::find(into.begin(), into.end(), *number) != into.end())
      return in_.errorAt(at.back(), fmt::format("{} is given twice", *number));
    if (into.size() >= kMostEntries) return in_.error("a pattern of very many numbers");
    into.push_back(*number);
    PET_TRY(in_.expect(">"));
    PET_TRY(in_.expect("0"));
    return {};
  }

  static std::optional<std::string> unknownSymbol(const Program& program, const ShapeClass& shapes) {
    std::set<std::string> used;
    for (const Constraint& c : shapes.constraints)
      c.expr.collectVariables(used);
    for (const Node& n : program.nodes()) {
      for (const Shape& s : n.shapes) {
        for (const Dim& d : s) {
          for (const Expr& atom : d.atoms())
            atom.collectVariables(used);
        }
      }
      for (const auto& [name, value] : n.attributes) {
        if (const auto* e = std::get_if<Expr>(&value)) e->collectVariables(used);
        if (const auto* list = std::get_if<std::vector<Expr>>(&value)) {
          for (const Expr& e : *list)
            e.collectVariables(used);
        }
      }
    }
    for (const std::string& s : used) {
      if (std::find(shapes.symbols.begin(), shapes.symbols.end(), s) == shapes.symbols.end()) return s;
    }
    return std::nullopt;
  }

  template <class T>
  static const T* find(const std::vector<T>& all, std::string_view name) {
    auto it = std::find_if(all.begin(), all.end(), [&](const T& t) { return t.name == name; });
    return it == all.end() ? nullptr : &*it;
  }

  /// A rule while its clauses are read.
  struct OpenRule {
    Rule rule;
    const Pattern* pattern = nullptr;
    std::vector<std::string> outputs;  ///< names of the pattern's
    std::optional<Program> source;     ///< the pattern over the rule's symbols, once a program needs it
    std::set<std::string> given;       ///< clauses
  };

  Expected<void> rule() {
    const Token at = in_.peek();
    auto open = head();
    if (!open) return tl::unexpected(open.error());
    PET_TRY(in_.expect("{"));
    while (!in_.at("}")) {
      PET_TRY(clause(*open));
    }
    PET_TRY(in_.expect("}"));
    Rule& r = open->rule;
    if (r.replacement.nodes().empty()) return in_.errorAt(at, fmt::format("rule '{}' has no replacement", r.name));
    if (r.mutant.nodes().empty()) r.mutant = r.replacement;
    for (double number : open->pattern->anyNumbers) {
      for (const Program* program : {&r.mutant, &r.replacement}) {
        if (auto why = whyNotAny(number, *program, NumberPlace::kReplacement)) return in_.errorAt(at, *why);
      }
    }
    r.proofs = oneForEach(open->outputs, std::move(r.proofs));
    result_.rules.push_back(std::move(r));
    return {};
  }

  /// "conv/n2-w of conv".
  Expected<OpenRule> head() {
    OpenRule open;
    Rule& r = open.rule;
    r.numerics = kNothingClaimed;
    Token at = in_.peek();
    auto name = word("a rule's name");
    if (!name) return tl::unexpected(name.error());
    r.name = std::move(*name);
    if (find(result_.rules, r.name)) return in_.errorAt(at, fmt::format("rule '{}' is defined twice", r.name));
    PET_TRY(in_.expect("of"));
    auto patternName = word("a pattern's name");
    if (!patternName) return tl::unexpected(patternName.error());
    r.pattern = std::move(*patternName);
    open.pattern = find(result_.patterns, r.pattern);
    if (!open.pattern) open.pattern = find(known_.patterns, r.pattern);
    if (!open.pattern)
      return in_.errorAt(at, fmt::format("rule '{}' is of an unknown pattern '{}'", r.name, r.pattern));
    open.outputs = outputNames(open.pattern->program);
    return open;
  }

  Expected<void> clause(OpenRule& open) {
    Token at = in_.peek();
    auto key = in_.name("a clause of the rule");
    if (!key) return tl::unexpected(key.error());
    bool repeats = *key == "box" || *key == "proof";
    if (!repeats && !open.given.insert(*key).second) return in_.errorAt(at, fmt::format("'{}' is given twice", *key));
    Rule& r = open.rule;
    if (*key == "family") return assign(r.family, word("a family"));
    if (*key == "source") return assign(result_.sources[r.name], word("where it comes from"));
    if (*key == "depth") return number(r.depth, "a depth");
    if (*key == "where") {
      if (open.source) return in_.errorAt(at, "'where' must come before the programs");
      return where(r);
    }
    if (*key == "class") return assign(r.shapes, shapeClass());
    if (*key == "numerics") return numerics(r.numerics);
    if (*key == "box") {
      if (open.outputs.size() > 1)
        return in_.errorAt(at, fmt::format("pattern '{}' has several outputs: its rules have no boxes", r.pattern));
      return box(r.boxes);
    }
    if (*key == "mutant") return programClause(at, open, r.mutant);
    if (*key == "replacement") return programClause(at, open, r.replacement);
    if (*key == "proof") return readProof(in_, at, open.outputs, r.proofs);
    return in_.errorAt(at, fmt::format("unknown clause '{}'", *key));
  }

  Expected<void> programClause(const Token& at, OpenRule& open, Program& into) {
    if (!open.source) {
      auto source = instantiate(*open.pattern, open.rule);
      if (!source) {
        Error e = source.error();
        e.where = in_.place(at);
        return tl::unexpected(e);
      }
      open.source = std::move(*source);
    }
    return assign(into, program(*open.source));
  }

  template <class T>
  static Expected<void> assign(T& into, Expected<T> value) {
    if (!value) return tl::unexpected(value.error());
    into = std::move(*value);
    return {};
  }

  static std::vector<std::string> outputNames(const Program& program) {
    std::vector<std::string> names;
    for (Value v : program.outputs())
      names.push_back(program.name(v));
    return names;
  }

  Expected<void> where(Rule& r) {
    do {
      auto symbol = in_.name("a symbol of the pattern");
      if (!symbol) return tl::unexpected(symbol.error());
      PET_TRY(in_.expect("="));
      auto value = in_.expression();
      if (!value) return tl::unexpected(value.error());
      if (r.where.size() >= kMostEntries) return in_.error("a list of very many equations");
      r.where.emplace_back(*symbol, *value);
    } while (in_.accept(","));
    return {};
  }

  Expected<void> numerics(Numerics& n) {
    n = {};
    Token at = in_.peek();
    std::string word = in_.word();
    bool comma = !word.empty() && word.back() == ',';
    if (comma) word.pop_back();
    if (word == "bit-equal") {
      n.kind = Numerics::Kind::kBitEqual;
    } else if (word == "same-terms") {
      n.kind = Numerics::Kind::kSameTerms;
    } else if (word == "unbounded") {
      n.kind = Numerics::Kind::kUnbounded;
    } else if (word == "conditioned") {
      n.kind = Numerics::Kind::kConditioned;
      auto kappa = in_.number("a factor");
      if (!kappa) return tl::unexpected(kappa.error());
      n.kappa = *kappa;
      n.ofOne = in_.accept("of");
      if (n.ofOne) PET_TRY(in_.expect("1"));
      comma = in_.accept(",");
    } else {
      return in_.errorAt(at, fmt::format("unknown numerics '{}'", word));
    }
    if (comma) {
      PET_TRY(in_.expect("spreads"));
      PET_TRY(in_.expect("NaN"));
      n.spreadsNan = true;
    }
    return {};
  }

  Expected<void> box(std::vector<Box>& boxes) {
    PET_TRY(in_.expect("["));
    Box b;
    while (!in_.at("]")) {
      auto lower = in_.expression();
      if (!lower) return tl::unexpected(lower.error());
      PET_TRY(in_.expect(":"));
      auto upper = in_.expression();
      if (!upper) return tl::unexpected(upper.error());
      BoxRange range{*lower, *upper, 1};
      if (in_.accept(":")) {
        auto step = in_.positive("a step");
        if (!step) return tl::unexpected(step.error());
        range.step = *step;
      }
      b.ranges.push_back(range);
      if (b.ranges.size() > kMostTerms) return in_.error("a box of very many ranges");
      if (!in_.accept(",")) break;
    }
    PET_TRY(in_.expect("]"));
    if (boxes.size() >= kMostEntries) return in_.error("a rule of very many boxes");
    boxes.push_back(std::move(b));
    return {};
  }

  /// A body in the scope of the pattern's inputs.
  Expected<Program> program(const Program& source) {
    PET_TRY(in_.expect("{"));
    ProgramBuilder builder;
    for (Value v : source.inputs()) {
      builder.input(source.name(v), source.shape(v), source.node(v).scalar("constant") == Expr(1));
    }
    auto body = in_.body(std::move(builder));
    if (!body) return body;
    PET_TRY(in_.expect("}"));
    return body;
  }

  Expected<void> number(int& into, std::string_view what) {
    Token at = in_.peek();
    auto n = in_.integer(what);
    if (!n) return tl::unexpected(n.error());
    if (*n > std::numeric_limits<int>::max()) return in_.errorAt(at, fmt::format("expected {}", what));
    into = static_cast<int>(*n);
    return {};
  }

  TextReader in_;
  const RuleSet& known_;
  RuleSet result_;
};

}  // namespace

Expected<RuleSet> parseRules(std::string_view text, std::string_view file, const RuleSet& known) {
  return RuleReader(text, file, known).read();
}

std::string print(const ShapeClass& shapes) {
  std::string text = fmt::format("{}", fmt::join(shapes.symbols, " "));
  return shapes.constraints.empty() ? text : text + " : " + print(shapes.constraints);
}

Expected<void> addRules(RuleSet& set, RuleSet more, const std::string& file) {
  auto byName = [](const auto& a, const auto& b) { return a.name < b.name; };
  for (Pattern& p : more.patterns) {
    const Pattern* known = set.findPattern(p.name);
    if (!known) {
      set.patterns.insert(std::upper_bound(set.patterns.begin(), set.patterns.end(), p, byName), std::move(p));
    } else if (print(*known) != print(p)) {
      return fail(ErrorKind::kText, fmt::format("pattern '{}' is another one in an earlier file", p.name), file);
    }
  }
  for (Rule& r : more.rules) {
    if (set.findRule(r.name)) return fail(ErrorKind::kText, fmt::format("rule '{}' stands in two files", r.name), file);
    set.rules.insert(std::upper_bound(set.rules.begin(), set.rules.end(), r, byName), std::move(r));
  }
  set.sources.merge(std::move(more.sources));
  return {};
}

std::string print(const Box& box) {
  return "[" + joined(box.ranges, ", ", [](const BoxRange& r) { return print(r); }) + "]";
}

std::string print(const Pattern& pattern) {
  std::string any;
  for (double number : pattern.anyNumbers)
    any += fmt::format("  any {} > 0\n", number);
  return fmt::format("pattern {} {{\n  shape {}\n{}{}}}\n", pattern.name, print(pattern.shapes), any,
                     print(pattern.program, "  "));
}

std::string printStatement(const Rule& rule) {
  std::string out = fmt::format("rule {} of {} {{\n", rule.name, rule.pattern);
  if (!rule.family.empty()) out += fmt::format("  family {}\n", rule.family);
  out += fmt::format("  depth {}\n", rule.depth);
  if (!rule.where.empty()) {
    out += fmt::format("  where {}\n",
                       joined(rule.where, ", ", [](const auto& w) { return w.first + " = " + w.second.str(); }));
  }
  out += fmt::format("  class {}\n  numerics {}\n", print(rule.shapes), rule.numerics.str());
  if (!rule.boxes.empty()) {
    for (const Box& b : rule.boxes)
      out += fmt::format("  box {}\n", print(b));
    out += fmt::format("  mutant {{\n{}  }}\n", printStatements(rule.mutant, "    "));
  }
  return out + fmt::format("  replacement {{\n{}  }}\n", printStatements(rule.replacement, "    "));
}

std::string print(const Rule& rule) {
  return printStatement(rule) + joined(rule.proofs, "", [](const Proof& p) { return print(p); }) + "}\n";
}

std::string print(const RuleSet& set) {
  std::string text;
  for (const Pattern& p : set.patterns)
    text += print(p) + "\n";
  for (const Rule& r : set.rules) {
    std::string rule = print(r);
    const auto source = set.sources.find(r.name);
    if (source != set.sources.end()) rule.insert(rule.find('\n') + 1, fmt::format("  source {}\n", source->second));
    text += rule + "\n";
  }
  return text;
}

}  // namespace pet
