#include "synth/free/vocabulary.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/suggest.h"
#include "ir/text.h"

namespace pet::freemode {
namespace {

constexpr std::string_view kConstants[] = {"", "Eye", "Ones", "IdentityKernel", "MeanKernel"};
constexpr std::string_view kActivations[] = {"none", "Relu", "Sigmoid", "Tanh"};
constexpr int64_t kMostExtent = 64;

enum class AttributeOf { kKernel, kTo, kOf, kAxis, kActivation };
constexpr std::string_view kAttributes[] = {"kernel", "to", "of", "axis", "activation"};

struct KindRow {
  std::string_view name;
  std::vector<AttributeOf> required, optional;
};

/// In the order of OperatorKind.
const std::vector<KindRow>& kinds() {
  using enum AttributeOf;
  static const std::vector<KindRow> rows = {
      {"Add", {}, {}},         {"AveragePool", {kKernel}, {}},
      {"Concat", {kAxis}, {}}, {"Conv", {kKernel}, {kActivation}},
      {"MatMul", {}, {}},      {"MaxPool", {kKernel}, {}},
      {"Mul", {}, {}},         {"Pad", {kTo}, {kOf}},
      {"Relu", {}, {}},        {"Sigmoid", {}, {}},
      {"Split", {kAxis}, {}},  {"Tanh", {}, {}},
      {"Transpose", {}, {}},
  };
  return rows;
}

template <class Names>
std::string oneOf(const Names& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The error, with the word that was probably meant.
tl::unexpected<Error> meaning(tl::unexpected<Error> error,
                              std::string_view word,
                              const std::vector<std::string>& known) {
  error.value().advice = suggestion(word, known);
  return error;
}

/// Why a constant cannot be of this shape; empty if it can.
std::string shapeFault(Constant c, const Extents& e) {
  bool square = e.size() >= 2 && e[0] == e[1], odd = e.size() == 4 && e[2] % 2 == 1 && e[3] % 2 == 1;
  switch (c) {
    case Constant::kEye:
      return e.size() == 2 && square ? "" : "the identity matrix is square";
    case Constant::kIdentityKernel:
      return odd && square ? "" : "an identity kernel is [C, C, R, S] with R and S odd";
    case Constant::kMeanKernel:
      return odd && e[1] == 1 ? "" : "a mean kernel is [C, 1, R, S] with R and S odd";
    default:
      return "";
  }
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : in_(text, file) {}

  Expected<Vocabulary> run() {
    while (!in_.atEnd()) {
      auto ok = line();
      if (!ok) return tl::unexpected(ok.error());
    }
    if (v_.leaves.empty()) return in_.error("expected 'inputs': a vocabulary has inputs");
    if (v_.operatorLines.empty()) return in_.error("expected 'operator': a vocabulary has operators");
    for (const auto& [axis, token] : axes_) {
      bool fits = std::any_of(v_.leaves.begin(), v_.leaves.end(),
                              [a = axis](const Leaf& l) { return a < static_cast<int64_t>(l.extents.size()); });
      if (!fits) return in_.errorAt(token, fmt::format("no input has an axis {}", axis));
    }
    return std::move(v_);
  }

 private:
  Expected<void> line() {
    if (in_.accept("inputs")) return inputs(false);
    if (in_.accept("weights")) return inputs(true);
    if (in_.accept("constant")) return constant();
    if (in_.accept("operator")) return operatorLine();
    if (in_.accept("distinct")) {
      v_.distinctOperands = true;
      return in_.expect("operands");
    }
    if (in_.accept("fold")) {
      v_.foldConstants = true;
      return in_.expect("constants");
    }
    return meaning(in_.error("expected 'inputs', 'weights', 'constant', 'operator', 'distinct operands' or 'fold "
                             "constants'"),
                   in_.peek().text, {"inputs", "weights", "constant", "operator", "distinct", "fold"});
  }

  Expected<std::string> newName() {
    Token token = in_.peek();
    auto name = in_.name("a name");
    if (!name) return name;
    for (const Leaf& l : v_.leaves) {
      if (l.name == *name) return in_.errorAt(token, fmt::format("'{}' is defined twice", *name));
    }
    if (v_.leaves.size() == kMostLeaves) {
      return in_.errorAt(token, fmt::format("more than {} inputs and constants", kMostLeaves));
    }
    return name;
  }

  Expected<Extents> extents() {
    Token begin = in_.peek();
    if (auto ok = in_.expect("["); !ok) return tl::unexpected(ok.error());
    Extents result;
    int64_t elements = 1;
    while (!in_.at("]")) {
      Token at = in_.peek();
      if (!result.empty()) {
        if (auto ok = in_.expect(","); !ok) return tl::unexpected(ok.error());
        at = in_.peek();
      }
      auto e = in_.positive("an extent");
      if (!e) return tl::unexpected(e.error());
      if (*e > kMostExtent) return in_.errorAt(at, fmt::format("an extent is at most {}", kMostExtent));
      result.push_back(*e);
      elements *= *e;
      if (result.size() > kMostRank) return in_.errorAt(at, fmt::format("at most {} dimensions", kMostRank));
    }
    if (elements > kMostElements) return in_.errorAt(begin, fmt::format("more than {} elements", kMostElements));
    in_.take();
    return result;
  }

  Expected<void> inputs(bool weight) {
    if (!v_.leaves.empty() && v_.leaves.back().constant != Constant::kNone) {
      return in_.error("inputs stand before constants");
    }
    LeafLine line{v_.leaves.size(), 0};
    do {
      if (line.count > 0 && in_.atLineStart()) return in_.error("expected ':' and a shape on the line of the names");
      auto name = newName();
      if (!name) return tl::unexpected(name.error());
      v_.leaves.push_back({*name, {}, weight, Constant::kNone, v_.leafLines.size()});
      ++line.count;
    } while (!in_.at(":"));
    in_.take();
    auto shape = extents();
    if (!shape) return tl::unexpected(shape.error());
    for (size_t i = line.first; i < v_.leaves.size(); ++i)
      v_.leaves[i].extents = *shape;
    v_.leafLines.push_back(line);
    return {};
  }

  Expected<void> constant() {
    auto name = newName();
    if (!name) return tl::unexpected(name.error());
    if (auto ok = in_.expect("="); !ok) return ok;
    Token token = in_.take();
    auto at = std::find(std::begin(kConstants) + 1, std::end(kConstants), token.text);
    if (at == std::end(kConstants)) {
      const std::vector<std::string> names(std::begin(kConstants) + 1, std::end(kConstants));
      return meaning(in_.errorAt(token, "expected one of " + oneOf(names)), token.text, names);
    }
    auto kind = static_cast<Constant>(at - std::begin(kConstants));
    Token shapeToken = in_.peek();
    auto shape = extents();
    if (!shape) return tl::unexpected(shape.error());
    if (std::string fault = shapeFault(kind, *shape); !fault.empty()) return in_.errorAt(shapeToken, fault);
    v_.leafLines.push_back({v_.leaves.size(), 1});
    v_.leaves.push_back({*name, std::move(*shape), true, kind, v_.leafLines.size() - 1});
    return {};
  }

  Expected<void> operatorLine() {
    Token token = in_.take();
    auto row = std::find_if(kinds().begin(), kinds().end(), [&](const KindRow& r) { return r.name == token.text; });
    if (row == kinds().end()) {
      std::vector<std::string> names;
      for (const KindRow& r : kinds())
        names.emplace_back(r.name);
      return meaning(in_.errorAt(token, fmt::format("no operator '{}'; expected one of {}", token.text, oneOf(names))),
                     token.text, names);
    }
    auto kind = static_cast<OperatorKind>(row - kinds().begin());
    for (const OperatorLine& l : v_.operatorLines) {
      if (l.kind == kind) return in_.errorAt(token, fmt::format("'{}' is listed twice", token.text));
    }
    std::vector<Operator> choices{{kind}};
    std::vector<AttributeOf> given;
    while (!in_.atLineStart() && !in_.atEnd()) {
      auto which = attributeName(*row, given);
      if (!which) return tl::unexpected(which.error());
      given.push_back(*which);
      if (auto ok = in_.expect("="); !ok) return ok;
      if (auto ok = attributeChoices(*which, choices); !ok) return ok;
    }
    for (AttributeOf a : row->required) {
      if (std::find(given.begin(), given.end(), a) == given.end()) {
        return in_.errorAt(token, fmt::format("{} needs '{}'", token.text, kAttributes[static_cast<size_t>(a)]));
      }
    }
    v_.operatorLines.push_back({kind, std::move(choices)});
    return {};
  }

  Expected<AttributeOf> attributeName(const KindRow& row, const std::vector<AttributeOf>& given) {
    Token token = in_.take();
    std::vector<AttributeOf> all = row.required;
    all.insert(all.end(), row.optional.begin(), row.optional.end());
    for (AttributeOf a : all) {
      if (kAttributes[static_cast<size_t>(a)] != token.text) continue;
      if (std::find(given.begin(), given.end(), a) == given.end()) return a;
      return in_.errorAt(token, fmt::format("'{}' is given twice", token.text));
    }
    std::vector<std::string> known;
    for (AttributeOf a : all)
      known.emplace_back(kAttributes[static_cast<size_t>(a)]);
    return meaning(in_.errorAt(token, fmt::format("{} has no attribute '{}'", row.name, token.text)), token.text,
                   known);
  }

  /// One value, or several in braces; every choice so far is combined with each of them.
  Expected<void> attributeChoices(AttributeOf which, std::vector<Operator>& choices) {
    std::vector<Operator> combined;
    bool several = in_.accept("{");
    do {
      Token token = in_.peek();
      Operator value{};
      if (auto ok = attributeValue(which, value); !ok) return ok;
      for (Operator o : choices) {
        assign(which, value, o);
        if (std::find(combined.begin(), combined.end(), o) != combined.end()) {
          return in_.errorAt(token, "the same choice twice");
        }
        combined.push_back(std::move(o));
      }
    } while (several && in_.accept(","));
    choices = std::move(combined);
    return several ? in_.expect("}") : Expected<void>();
  }

  static void assign(AttributeOf which, const Operator& value, Operator& o) {
    switch (which) {
      case AttributeOf::kKernel:
      case AttributeOf::kTo:
        o.kernel = value.kernel;
        break;
      case AttributeOf::kOf:
        o.ofInputs = value.ofInputs;
        break;
      case AttributeOf::kAxis:
        o.axis = value.axis;
        break;
      case AttributeOf::kActivation:
        o.activation = value.activation;
        break;
    }
  }

  Expected<void> attributeValue(AttributeOf which, Operator& o) {
    Token token = in_.peek();
    if (which == AttributeOf::kKernel || which == AttributeOf::kTo) {
      auto e = extents();
      if (!e) return tl::unexpected(e.error());
      if (e->size() != 2 || (*e)[0] % 2 == 0 || (*e)[1] % 2 == 0) {
        return in_.errorAt(token, "a window has two odd extents");
      }
      o.kernel = std::move(*e);
      return {};
    }
    if (which == AttributeOf::kAxis) {
      auto axis = in_.integer("an axis");
      if (!axis) return tl::unexpected(axis.error());
      axes_.emplace_back(*axis, token);
      o.axis = static_cast<int>(std::min<int64_t>(*axis, kMostExtent));
      return {};
    }
    in_.take();
    if (which == AttributeOf::kOf) {
      if (token.text != "inputs" && token.text != "any") return in_.errorAt(token, "expected 'inputs' or 'any'");
      o.ofInputs = token.text == "inputs";
      return {};
    }
    auto at = std::find(std::begin(kActivations), std::end(kActivations), token.text);
    if (at == std::end(kActivations)) return in_.errorAt(token, "expected one of " + oneOf(kActivations));
    o.activation = static_cast<Activation>(at - std::begin(kActivations));
    return {};
  }

  TextReader in_;
  Vocabulary v_;
  std::vector<std::pair<int64_t, Token>> axes_;  ///< that were given
};

/// The attribute's value as text.
std::string valueText(AttributeOf which, const Operator& o) {
  switch (which) {
    case AttributeOf::kKernel:
    case AttributeOf::kTo:
      return pet::str(o.kernel);
    case AttributeOf::kOf:
      return o.ofInputs ? "inputs" : "any";
    case AttributeOf::kAxis:
      return std::to_string(o.axis);
    case AttributeOf::kActivation:
      return std::string(activationName(o.activation));
  }
  return "";
}

}  // namespace

std::string_view constantName(Constant constant) {
  return kConstants[static_cast<size_t>(constant)];
}

std::string_view operatorName(OperatorKind kind) {
  return kinds()[static_cast<size_t>(kind)].name;
}

std::string_view activationName(Activation activation) {
  return kActivations[static_cast<size_t>(activation)];
}

std::vector<Operator> Vocabulary::operators() const {
  std::vector<Operator> all;
  for (const OperatorLine& line : operatorLines)
    all.insert(all.end(), line.choices.begin(), line.choices.end());
  return all;
}

Expected<Vocabulary> parseVocabulary(std::string_view text, std::string_view file) {
  return Reader(text, file).run();
}

std::string print(const Vocabulary& v) {
  std::string text;
  for (const LeafLine& line : v.leafLines) {
    const Leaf& first = v.leaves[line.first];
    if (first.constant != Constant::kNone) {
      text += fmt::format("constant {} = {} {}\n", first.name, constantName(first.constant), pet::str(first.extents));
      continue;
    }
    text += first.weight ? "weights" : "inputs";
    for (size_t i = 0; i < line.count; ++i)
      text += " " + v.leaves[line.first + i].name;
    text += ": " + pet::str(first.extents) + "\n";
  }
  for (const OperatorLine& line : v.operatorLines) {
    const KindRow& row = kinds()[static_cast<size_t>(line.kind)];
    text += fmt::format("operator {}", row.name);
    std::vector<AttributeOf> attributes = row.required;
    attributes.insert(attributes.end(), row.optional.begin(), row.optional.end());
    for (AttributeOf a : attributes) {
      std::vector<std::string> values;
      for (const Operator& o : line.choices) {
        std::string value = valueText(a, o);
        if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
      }
      std::string_view name = kAttributes[static_cast<size_t>(a)];
      text += values.size() == 1 ? fmt::format(" {}={}", name, values[0])
                                 : fmt::format(" {}={{{}}}", name, fmt::join(values, ", "));
    }
    text += "\n";
  }
  return text + (v.distinctOperands ? "distinct operands\n" : "") + (v.foldConstants ? "fold constants\n" : "");
}

}  // namespace pet::freemode
