#include <algorithm>
#include <cmath>

#include "rules/check/meaning/function.h"
#include "rules/check/numerics/numerics.h"

// What is multiplied on the way: no value may be larger than what the pattern's data allow.
namespace pet::check {
namespace {

/// The factors of a product, as words in order: "activation", "weight", a function.
using Word = std::vector<std::string>;
/// The largest coefficient of each.
using Words = std::map<Word, double>;

void raise(Words& words, const Word& word, double coefficient) {
  auto [it, isNew] = words.emplace(word, coefficient);
  if (!isNew) it->second = std::max(it->second, coefficient);
}

void raise(Words& words, const Words& more) {
  for (const auto& [word, coefficient] : more)
    raise(words, word, coefficient);
}

Words times(const Words& a, const Words& b) {
  Words result;
  for (const auto& [x, cx] : a) {
    for (const auto& [y, cy] : b) {
      Word both = x;
      both.insert(both.end(), y.begin(), y.end());
      std::sort(both.begin(), both.end());
      raise(result, both, cx * cy);
    }
  }
  return result;
}

Words alone(const std::string& word) {
  return {{{word}, 1.0}};
}
Words numberWords(double size) {
  return {{{}, size}};
}

/// A function's value; a condition is 0 or 1.
Words ofFunction(const std::string& name) {
  return name == "Not" ? numberWords(1) : alone(name);
}

/// What a constant is at most: the largest entry of a table, a number; shares and weights of means are at most 1.
double largest(const Factor& f) {
  bool isTable = f.key.starts_with("Table ");
  if (!isTable) return std::abs(plainNumber(f).value_or(1));
  int64_t most = 0;
  for (size_t i = 2 + f.at.size(); i < f.parameters.size(); ++i)
    most = std::max(most, std::abs(f.parameters[i].constant()));
  return static_cast<double>(most) / static_cast<double>(f.parameters[0].constant());
}

/// The products that a program's values are sums of, node by node.
class Ways {
 public:
  explicit Ways(const Program& program) : program_(program) {
    for (size_t n = 0; n < program.nodes().size(); ++n)
      nodes.push_back(ofNode(program.nodes()[n], static_cast<int>(n)));
  }
  std::vector<Words> nodes;

 private:
  const Program& program_;
  Names names_;

  Words ofNode(const Node& node, int n) {
    std::string op(opOf(node));
    if (op == "Input") return alone(isConstant(program_, {n, 0}) ? "weight" : "activation");
    if (functionOf(op)) return ofFunction(op);
    Relation relation = relationOf(op);
    if (!relation) throw Opaque(op + " is not a sum of products of its operands");
    Words result;
    for (int output = 0; output < static_cast<int>(node.shapes.size()); ++output) {
      Position at;
      for (const Dim& d : node.shapes[static_cast<size_t>(output)]) {
        at.emplace_back();
        for (size_t a = 0; a < d.atoms().size(); ++a)
          at.back().push_back(Expr::variable(names_.fresh("at")));
      }
      for (const Clause& clause : relation(Call(program_, {n, output}), at, names_))
        raise(result, ofClause(node, clause));
    }
    bool doubles = op == "Add" && node.operands[0] == node.operands[1];
    return doubles ? times(numberWords(2), result) : result;
  }

  Words ofClause(const Node& node, const Clause& clause) const {
    if (clause.minusInfinity) return {};
    double size =
        std::abs(static_cast<double>(clause.coefficient.over)) / static_cast<double>(clause.coefficient.under);
    for (const Factor& f : clause.constants)
      size *= largest(f);
    Words result = numberWords(size);
    for (const Read& read : clause.reads)
      result = times(result, nodes[static_cast<size_t>(node.operands[read.operand].node)]);
    return result;
  }
};

/// Which nodes are added as they are to an output, or to what a function or a maximum is taken of.
std::vector<bool> addedAsTheyAre(const Program& program) {
  const auto& nodes = program.nodes();
  std::vector<bool> result(nodes.size());
  for (Value v : program.outputs())
    result[static_cast<size_t>(v.node)] = true;
  for (size_t n = nodes.size(); n > 0; --n) {
    const Node& node = nodes[n - 1];
    std::string_view op = opOf(node);
    bool adds = onlyMoves(op) || op == "Add" || op == "Sub" || op == "Neg" || op == "Identity";
    if (!functionOf(op) && !isMaximum(op) && !(adds && result[n - 1])) continue;
    for (Value v : node.operands)
      result[static_cast<size_t>(v.node)] = true;
  }
  return result;
}

/// What a function is taken of, sum by sum.
struct Argument {
  Words words;
  /// Those of each piece, and where it has a term.
  std::vector<std::pair<Words, Formula>> pieces;
};
using ArgumentList = std::vector<Argument>;

bool holds(const Words& theirs, const Words& ours) {
  return std::all_of(ours.begin(), ours.end(), [&](const auto& word) {
    auto it = theirs.find(word.first);
    return it != theirs.end() && word.second <= it->second;
  });
}

/// Where our list has products that theirs does not have, or smaller ones.
std::optional<std::vector<Formula>> excess(const ArgumentList& theirs, const ArgumentList& ours) {
  if (theirs.size() != ours.size()) return std::nullopt;
  std::vector<Formula> result;
  for (size_t i = 0; i < ours.size(); ++i) {
    for (const auto& [words, where] : ours[i].pieces) {
      if (!holds(theirs[i].words, words)) result.push_back(where);
    }
  }
  return result;
}

/// What every function is taken of, by its key.
class Arguments {
 public:
  explicit Arguments(const Program& program) {
    for (size_t n = 0; n < program.nodes().size(); ++n) {
      if (!functionOf(opOf(program.nodes()[n]))) continue;
      Meaning meaning = meaningAt(program, {static_cast<int>(n), 0});
      for (const Application& a : meaning.applications) {
        if (!a.isMaximum()) byKey_[a.key].push_back(ofArguments(meaning, a));
      }
    }
  }

  /// What must not be for the pattern's to hold ours: of each function, for every list of arguments one that is at
  /// least as large, product by product. Nullopt: they do not.
  std::optional<std::vector<Formula>> excessOf(const Arguments& ours) const {
    std::vector<Formula> result;
    for (const auto& [key, lists] : ours.byKey_) {
      if (key == "Not") continue;
      auto known = byKey_.find(key);
      for (const ArgumentList& list : lists) {
        std::optional<std::vector<Formula>> least;
        for (size_t i = 0; known != byKey_.end() && i < known->second.size(); ++i) {
          auto more = excess(known->second[i], list);
          if (more && (!least || more->size() < least->size())) least = std::move(more);
        }
        if (!least) return std::nullopt;
        result.insert(result.end(), least->begin(), least->end());
      }
    }
    return result;
  }

 private:
  std::map<std::string, std::vector<ArgumentList>> byKey_;

  static ArgumentList ofArguments(const Meaning& meaning, const Application& a) {
    ArgumentList result;
    for (int sum : a.arguments)
      result.push_back(ofSum(meaning, sum));
    return result;
  }

  static Argument ofSum(const Meaning& meaning, int number) {
    const Sum& sum = meaning.sums[static_cast<size_t>(number)];
    Argument result;
    std::vector<Formula> finite;
    for (const Conjunction& part : sum.finite)
      finite.push_back(Formula::all(part));
    for (const Piece& piece : sum.pieces) {
      Words product = numberWords(weightOf(piece));
      for (const Factor& f : piece.factors)
        product = times(product, ofFactor(meaning, f));
      raise(result.words, product);
      result.pieces.emplace_back(product, Formula::all({Formula::all(piece.domain), Formula::any(finite)}));
    }
    return result;
  }

  static Words ofFactor(const Meaning& meaning, const Factor& f) {
    if (f.kind == Factor::Kind::kInput) return alone("input");
    if (f.kind == Factor::Kind::kConstant) return numberWords(plainNumber(f) ? 1 : largest(f));
    const Application& a = meaning.applications[static_cast<size_t>(f.number)];
    if (!a.isMaximum()) return ofFunction(a.key);
    Words result;
    for (const Application::Alternative& alternative : a.alternatives)
      raise(result, ofSum(meaning, alternative.element).words);
    return result;
  }
};

}  // namespace

std::optional<OnTheWay> valuesOnTheWay(const Program& pattern, const Program& replacement) {
  Words data;
  for (const Words& node : Ways(pattern).nodes)
    raise(data, node);
  std::vector<Words> nodes = Ways(replacement).nodes;
  std::vector<bool> judgedLater = addedAsTheyAre(replacement);
  OnTheWay result;
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (const auto& [word, coefficient] : nodes[n]) {
      if (word.empty()) continue;
      double allowed = 0;
      for (const auto& [theirs, size] : data) {
        if (std::includes(theirs.begin(), theirs.end(), word.begin(), word.end()))
          allowed = std::max({allowed, 1.0, size});
      }
      if (allowed == 0) return std::nullopt;
      if (!judgedLater[n]) result.factor = std::max(result.factor, coefficient / allowed);
    }
  }
  auto empty = Arguments(pattern).excessOf(Arguments(replacement));
  if (!empty) return std::nullopt;
  result.empty = std::move(*empty);
  return result;
}

}  // namespace pet::check
