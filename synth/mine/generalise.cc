#include "synth/mine/generalise.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "ir/text.h"
#include "rules/numbers.h"
#include "rules/text.h"

namespace pet::mine {
namespace {

std::optional<Attribute> solved(const Attribute& a, const Unknowns& unknowns) {
  if (const auto* e = std::get_if<Expr>(&a)) return unknowns.solved(*e);
  if (const auto* list = std::get_if<std::vector<Expr>>(&a)) {
    std::vector<Expr> result;
    for (const Expr& e : *list) {
      auto value = unknowns.solved(e);
      if (!value) return std::nullopt;
      result.push_back(std::move(*value));
    }
    return result;
  }
  if (const auto* layout = std::get_if<LayoutSpec>(&a)) {
    LayoutSpec result = *layout;
    for (LayoutAxis& axis : result.axes) {
      auto extent = unknowns.solved(axis.extent);
      if (!extent) return std::nullopt;
      axis.extent = std::move(*extent);
    }
    return result;
  }
  return a;
}

/// The numbers that no proof looks at: an epsilon, a slope.
std::vector<double> openNumbers(const Program& program) {
  std::set<double> open;
  for (const Node& n : program.nodes()) {
    for (const auto& [name, value] : n.attributes) {
      const auto* number = std::get_if<double>(&value);
      if (number && !whyNotAny(*number, program, NumberPlace::kPattern)) open.insert(*number);
    }
  }
  return {open.begin(), open.end()};
}

/// The nodes of a program, one after the other, over unknown extents.
class Draft {
 public:
  Draft(const Program& program, const Choice& choice)
      : program_(program), choice_(choice), inputs_(program.nodes().size()), attributes_(program.nodes().size()) {}

  Expected<General> run() {
    for (size_t n = 0; n < program_.nodes().size(); ++n) {
      if (program_.nodes()[n].is(ops::kInput)) continue;
      if (auto ok = enter(n); !ok) return tl::unexpected(ok.error());
    }
    return finish();
  }

 private:
  const Node& node(size_t n) const { return program_.nodes()[n]; }

  /// Adds node n: with symbols as far as that goes, else with the numbers of all that it takes.
  Expected<void> enter(size_t n) {
    Unknowns before = unknowns_;
    auto inputsBefore = inputs_;
    std::vector<Step::Operand> operands;
    for (Value v : node(n).operands)
      operands.push_back(operandOf(v));
    Step step(node(n), operands, choice_, unknowns_);
    demand(step);
    accept(n, step);
    if (rebuild(n + 1)) return {};
    // Once more, everything being a number.
    unknowns_ = std::move(before);
    inputs_ = std::move(inputsBefore);
    Step fixed(node(n), operands, choice_, unknowns_);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (fixed.isOpen(i)) fixed.enter(i, std::vector<std::string>(fixed.rank(i), "E"));
      for (size_t d = 0; d < fixed.rank(i); ++d)
        fixed.pin(i, d);
    }
    accept(n, fixed);
    return rebuild(n + 1);
  }

  Step::Operand operandOf(Value v) const {
    Step::Operand operand;
    const Node& from = program_.node(v);
    for (const Dim& d : program_.shape(v))
      operand.extents.push_back(*d.asConstant());
    if (!from.is(ops::kInput)) {
      operand.shape = built_.shape(now_.at(v));
    } else {
      operand.constant = from.scalar("constant") == Expr(1);
      operand.shape = inputs_[static_cast<size_t>(v.node)];
    }
    return operand;
  }

  void accept(size_t n, const Step& step) {
    for (size_t i = 0; i < step.operands.size(); ++i) {
      Value v = node(n).operands[i];
      if (program_.node(v).is(ops::kInput)) inputs_[static_cast<size_t>(v.node)] = step.operands[i].shape;
    }
    attributes_[n] = step.attributes;
  }

  /// The first `count` nodes over what is unknown now; inputs that are not read yet are left out.
  Expected<void> rebuild(size_t count) {
    auto unsolved = [] { return fail(ErrorKind::kUnsupported, "a product of extents in an affine expression"); };
    ProgramBuilder builder;
    std::map<Value, Value> now;
    for (size_t n = 0; n < count; ++n) {
      int at = static_cast<int>(n);
      if (node(n).is(ops::kInput)) {
        if (!inputs_[n]) continue;
        Shape shape;
        for (const Dim& d : *inputs_[n]) {
          auto extent = unknowns_.solved(d);
          if (!extent) return unsolved();
          shape.push_back(std::move(*extent));
        }
        now[{at, 0}] = builder.input(node(n).names[0], std::move(shape), node(n).scalar("constant") == Expr(1));
        continue;
      }
      std::vector<Value> operands;
      for (Value v : node(n).operands)
        operands.push_back(now.at(v));
      Attributes attributes;
      for (const auto& [name, value] : attributes_[n]) {
        auto attribute = solved(value, unknowns_);
        if (!attribute) return unsolved();
        attributes.emplace(name, std::move(*attribute));
      }
      auto added = builder.add(*node(n).op, std::move(operands), std::move(attributes), node(n).names);
      if (!added) return tl::unexpected(added.error());
      for (size_t o = 0; o < node(n).shapes.size(); ++o) {
        now[{at, static_cast<int>(o)}] = {added->node, static_cast<int>(o)};
        if (!isRight(builder.shape({added->node, static_cast<int>(o)}), node(n).shapes[o]))
          return fail(ErrorKind::kUnsupported, "other extents than the model's");
      }
    }
    std::vector<Value> outputs;
    if (count == program_.nodes().size()) {
      for (Value v : program_.outputs())
        outputs.push_back(now.at(v));
    }
    built_ = std::move(builder).finish(std::move(outputs));
    now_ = std::move(now);
    return {};
  }

  bool isRight(const Shape& shape, const Shape& concrete) const {
    return std::equal(shape.begin(), shape.end(), concrete.begin(), concrete.end(),
                      [&](const Dim& d, const Dim& number) { return unknowns_.value(d) == number.asConstant(); });
  }

  Expected<General> finish() const {
    auto found = unknowns_.symbols(extents());
    General result{{}, found.values, unknowns_.pinned()};
    auto program = built_.substitute(found.names);
    if (!program) return tl::unexpected(program.error());
    result.pattern.name = "mined";
    result.pattern.shapes.symbols = found.symbols;
    for (const Constraint& c : found.constraints)
      result.pattern.shapes.require(c);
    result.pattern.program = std::move(*program);
    result.pattern.anyNumbers = openNumbers(result.pattern.program);
    // The reader adds what the operators demand.
    auto read = parseRules(print(result.pattern), "a mined pattern");
    if (!read) return tl::unexpected(read.error());
    result.pattern = std::move(read->patterns[0]);
    if (!result.pattern.shapes.contains(result.values))
      return fail(ErrorKind::kUnsupported, "the model's extents are outside the pattern's class");
    result.pattern.name = patternName(result.pattern);
    return result;
  }

  /// All that symbols may stand in.
  std::vector<Dim> extents() const {
    std::vector<Dim> all;
    for (const Node& n : built_.nodes()) {
      if (n.is(ops::kInput)) all.insert(all.end(), n.shapes[0].begin(), n.shapes[0].end());
      for (const auto& [name, value] : n.attributes) {
        if (const auto* e = std::get_if<Expr>(&value)) all.emplace_back(*e);
        if (const auto* list = std::get_if<std::vector<Expr>>(&value))
          all.insert(all.end(), list->begin(), list->end());
        if (const auto* layout = std::get_if<LayoutSpec>(&value)) {
          for (const LayoutAxis& axis : layout->axes)
            all.push_back(axis.extent);
        }
      }
    }
    return all;
  }

  const Program& program_;
  const Choice& choice_;
  Unknowns unknowns_;
  std::vector<std::optional<Shape>> inputs_;
  std::vector<Attributes> attributes_;
  Program built_;
  std::map<Value, Value> now_;
};

/// "conv-1x1-s2" of a node.
std::string wordOf(const Program& program, const Node& node) {
  std::string word;
  for (char c : node.op->name)
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (node.is(ops::kConv)) {
    const Shape& w = program.shape(node.operands[1]);
    if (!node.scalar("group").isConstant()) word += "-depthwise";
    if (std::all_of(w.begin() + 2, w.end(), [](const Dim& d) { return d == Dim(1); })) word += "-1x1";
  }
  for (auto [name, letter] : {std::pair{"strides", 's'}, {"dilations", 'd'}}) {
    auto it = node.attributes.find(name);
    if (it == node.attributes.end()) continue;
    int64_t largest = 1;
    for (const Expr& e : std::get<std::vector<Expr>>(it->second))
      largest = std::max(largest, e.constant());
    if (largest > 1) word += fmt::format("-{}{}", letter, largest);
  }
  return word;
}

/// FNV-1a.
uint64_t digest(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

Expected<General> generalise(const Program& program, const Choice& choice) {
  return Draft(program, choice).run();
}

std::string patternName(const Pattern& pattern) {
  std::string name;
  for (const Node& n : pattern.program.nodes()) {
    if (!n.is(ops::kInput)) name += wordOf(pattern.program, n) + "-";
  }
  Pattern unnamed = pattern;
  unnamed.name = "mined";
  return name + fmt::format("{:06x}", digest(print(unnamed)) & 0xffffff);
}

}  // namespace pet::mine
