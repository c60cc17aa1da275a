#include "rules/exhaustive.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/denote.h"
#include "ir/evaluate.h"
#include "rules/numbers.h"
#include "rules/small_shapes.h"

namespace pet {
namespace {

// --- Values: how they are drawn, compared and printed ---

void draw(std::mt19937_64& random, Fp& v) {
  v = Fp(static_cast<int64_t>(random() % Fp::kPrime));
}
void draw(std::mt19937_64& random, int64_t& v) {
  v = static_cast<int64_t>(random() % 2001) - 1000;
}
void draw(std::mt19937_64& random, double& v) {
  v = static_cast<double>(random() % 65536) / 16384.0 - 2;
}

bool same(Fp a, Fp b) {
  return a == b;
}
bool same(int64_t a, int64_t b) {
  return a == b;
}
bool same(double a, double b) {
  // Where both have no value there is nothing to compare.
  if (std::isnan(a) && std::isnan(b)) return true;
  return a == b || std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

template <class T>
bool isNone(T) {
  return false;
}
bool isNone(double v) {
  return std::isnan(v);
}

std::string text(Fp v) {
  return std::to_string(v.value());
}
std::string text(int64_t v) {
  return std::to_string(v);
}
std::string text(double v) {
  return fmt::format("{}", v);
}

template <class T>
bool hasKernels(const Program& program) {
  return std::all_of(program.nodes().begin(), program.nodes().end(),
                     [](const Node& n) { return n.is(ops::kInput) || n.op->kernels.template get<T>() != nullptr; });
}

/// Whether all numbers of the program are elements of a ring: small fractions, or whole.
bool hasNumbers(const Program& program, bool whole) {
  auto isElement = [&](double number) {
    if (std::isinf(number)) return true;
    auto fraction = asRational(number);
    return fraction && (!whole || fraction->denominator == 1);
  };
  return std::all_of(program.nodes().begin(), program.nodes().end(), [&](const Node& n) {
    return std::all_of(n.attributes.begin(), n.attributes.end(), [&](const auto& attribute) {
      const double* number = std::get_if<double>(&attribute.second);
      return !number || isElement(*number);
    });
  });
}

/// What one output element reads of the second operand: the weights of a Conv, a column of a MatMul, one element.
int64_t readsOf(const Program& program, const Node& n, const Bindings& symbols) {
  bool product = n.is(ops::kMatMul) || n.is(ops::kGemm);
  if (!product && !n.is(ops::kConv) && !n.is(ops::kConvTranspose)) return 1;
  Extents w = evaluate(program.shape(n.operands[1]), symbols).value_or(Extents{});
  if (product) return w.size() < 2 ? elementCount(w) : w[w.size() - 2];
  return elementCount(w) / std::max<int64_t>(1, w.empty() ? 1 : w[0]);
}

/// Multiplications and moves of a program at a shape, about.
int64_t workOf(const Program& program, const Bindings& symbols) {
  int64_t total = 0;
  for (const Node& n : program.nodes()) {
    if (n.is(ops::kInput) || n.is(ops::kConcat)) continue;
    int64_t each = std::max<int64_t>(1, readsOf(program, n, symbols));
    for (const Shape& s : n.shapes)
      total = checkedAdd(total, checkedMul(each, elementCount(evaluate(s, symbols).value_or(Extents{}))));
  }
  return total;
}

/// So many shapes of a rule are tried whatever they cost.
constexpr size_t kFewShapes = 20;

// --- Boxes ---

/// The boxes at one shape, over the digits of the output.
class ConcreteBoxes {
 public:
  ConcreteBoxes(const std::vector<Box>& boxes, const Shape& output, const Bindings& symbols) {
    for (const Dim& d : output) {
      for (const Expr& atom : d.atoms())
        radices_.push_back(atom.evaluate(symbols).value_or(0));
    }
    for (const Box& box : boxes) {
      boxes_.emplace_back();
      for (const BoxRange& r : box.ranges)
        boxes_.back().push_back({r.lower.evaluate(symbols), r.upper.evaluate(symbols), r.step});
    }
  }

  /// True if the element at this offset of the row-major output is in a box.
  bool contain(int64_t offset) const {
    std::vector<int64_t> digits(radices_.size());
    for (size_t i = radices_.size(); i-- > 0;) {
      digits[i] = offset % radices_[i];
      offset /= radices_[i];
    }
    return std::any_of(boxes_.begin(), boxes_.end(), [&](const auto& box) {
      bool inside = box.size() == digits.size();
      for (size_t i = 0; inside && i < digits.size(); ++i)
        inside = box[i].contains(digits[i]);
      return inside;
    });
  }

 private:
  struct Range {
    std::optional<int64_t> lower, upper;  ///< none where a symbol is not the class's
    int64_t step;
    bool contains(int64_t v) const {
      return lower && upper && step >= 1 && *lower <= v && v < *upper && (v - *lower) % step == 0;
    }
  };
  std::vector<int64_t> radices_;
  std::vector<std::vector<Range>> boxes_;
};

std::vector<int64_t> positionOf(int64_t offset, const Extents& extents) {
  std::vector<int64_t> position(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    position[i] = offset % extents[i];
    offset /= extents[i];
  }
  return position;
}

// --- One rule ---

/// The programs of a rule over its symbols.
struct Subject {
  const Pattern& pattern;
  const Rule& rule;
  Program source;
};

/// The first condition that the shape breaks although the class holds; empty if there is none.
std::string brokenCondition(const Subject& s, const Bindings& symbols) {
  Bindings patternSymbols = symbols;
  for (const auto& [name, value] : s.rule.where) {
    auto v = value.evaluate(symbols);
    if (!v) return fmt::format("{} = {} has a symbol that the class lacks", name, value.str());
    patternSymbols[name] = *v;
  }
  auto broken = [](const std::vector<Constraint>& constraints, const Bindings& at) {
    auto it =
        std::find_if(constraints.begin(), constraints.end(), [&](const auto& c) { return c.evaluate(at) != true; });
    return it == constraints.end() ? "" : it->str();
  };
  if (auto c = broken(s.pattern.shapes.constraints, patternSymbols); !c.empty()) {
    return fmt::format("the pattern's class does not hold: {}", c);
  }
  for (const auto& [noun, program] : {std::pair{"replacement", &s.rule.replacement}, {"mutant", &s.rule.mutant}}) {
    if (auto c = broken(obligations(*program), symbols); !c.empty()) {
      return fmt::format("an obligation of the {} does not hold: {}", noun, c);
    }
  }
  return "";
}

template <class T>
class RuleEvaluator {
 public:
  RuleEvaluator(const Subject& subject, uint64_t seed, Evaluation& result)
      : subject_(subject), seed_(seed), result_(result) {}

  /// Evaluates at one shape; false at a counter-example.
  bool at(const Bindings& symbols) {
    symbols_ = &symbols;
    ++result_.shapes;
    if (auto broken = brokenCondition(subject_, symbols); !broken.empty()) return fails(broken);
    std::map<std::string, Tensor<T>> inputs = randomInputs();
    std::vector<Tensor<T>> pattern, mutant, replacement;
    if (!values(subject_.source, "pattern", inputs, pattern)) return false;
    if (!values(subject_.rule.replacement, "replacement", inputs, replacement)) return false;
    for (size_t o = 0; o < pattern.size(); ++o) {
      if (!compareReplacement(o, pattern[o], replacement[o])) return false;
    }
    if (subject_.rule.boxes.empty()) return true;
    if (pattern.size() != 1) return fails("boxes of several outputs");
    if (!values(subject_.rule.mutant, "mutant", inputs, mutant)) return false;
    return hasExtents(mutant[0], pattern[0], "mutant") && compareMutant(pattern[0], mutant[0]);
  }

 private:
  std::map<std::string, Tensor<T>> randomInputs() const {
    std::mt19937_64 random(seed_ + result_.shapes);
    std::map<std::string, Tensor<T>> inputs;
    for (Value v : subject_.source.inputs()) {
      Tensor<T> x(evaluate(subject_.source.shape(v), *symbols_).value_or(Extents{}));
      for (T& e : x.data)
        draw(random, e);
      inputs.emplace(subject_.source.name(v), std::move(x));
    }
    return inputs;
  }

  bool fails(std::string what) {
    result_.counterExample = CounterExample{.what = std::move(what), .symbols = *symbols_};
    return false;
  }

  bool differs(std::string what, size_t output, int64_t offset, const Tensor<T>& pattern, const Tensor<T>& other) {
    auto i = static_cast<size_t>(offset);
    result_.counterExample = CounterExample{.what = std::move(what),
                                            .symbols = *symbols_,
                                            .output = subject_.source.name(subject_.source.outputs()[output]),
                                            .position = positionOf(offset, pattern.extents),
                                            .patternValue = text(pattern.data[i]),
                                            .otherValue = text(other.data[i])};
    return false;
  }

  /// All outputs, as many as the pattern has.
  bool values(const Program& program,
              const char* noun,
              const std::map<std::string, Tensor<T>>& inputs,
              std::vector<Tensor<T>>& into) {
    size_t expected = subject_.source.outputs().size(), given = program.outputs().size();
    if (given != expected) return fails(fmt::format("the {} has {} outputs, not {}", noun, given, expected));
    auto results = evaluate<T>(program, *symbols_, inputs);
    if (!results) return fails(fmt::format("the {} has no value: {}", noun, results.error().message()));
    into = std::move(*results);
    return true;
  }

  bool compareReplacement(size_t output, const Tensor<T>& pattern, const Tensor<T>& replacement) {
    if (!hasExtents(replacement, pattern, "replacement")) return false;
    result_.positions += pattern.size();
    for (int64_t i = 0; i < pattern.size(); ++i) {
      // The rule says that it has no value at more positions than the pattern.
      if (subject_.rule.numerics.spreadsNan && isNone(replacement.data[static_cast<size_t>(i)])) continue;
      if (!equalAt(i, pattern, replacement)) {
        return differs("the replacement differs", output, i, pattern, replacement);
      }
    }
    return true;
  }

  bool hasExtents(const Tensor<T>& x, const Tensor<T>& pattern, const char* noun) {
    if (x.extents == pattern.extents) return true;
    return fails(fmt::format("the {} has the extents {}, not {}", noun, str(x.extents), str(pattern.extents)));
  }

  static bool equalAt(int64_t offset, const Tensor<T>& a, const Tensor<T>& b) {
    auto i = static_cast<size_t>(offset);
    return same(a.data[i], b.data[i]);
  }

  bool compareMutant(const Tensor<T>& pattern, const Tensor<T>& mutant) {
    ConcreteBoxes boxes(subject_.rule.boxes, subject_.source.shape(subject_.source.outputs()[0]), *symbols_);
    for (int64_t i = 0; i < pattern.size(); ++i) {
      bool equal = equalAt(i, pattern, mutant), inBox = boxes.contain(i);
      if (!equal && !inBox) return differs("the mutant differs outside its boxes", 0, i, pattern, mutant);
      result_.boxPositions += inBox;
      result_.differentPositions += !equal;
    }
    return true;
  }

  const Subject& subject_;
  uint64_t seed_;
  Evaluation& result_;
  const Bindings* symbols_ = nullptr;
};

template <class T>
void evaluateShapes(const Subject& subject,
                    const SmallShapes& shapes,
                    const EvaluationOptions& options,
                    Evaluation& into) {
  RuleEvaluator<T> evaluator(subject, options.seed, into);
  int64_t work = 0;
  for (const Bindings& member : shapes.members) {
    work +=
        workOf(subject.source, member) + workOf(subject.rule.replacement, member) + workOf(subject.rule.mutant, member);
    if (work > options.ruleWork && into.shapes >= kFewShapes) return;
    if (!evaluator.at(member)) return;
  }
}

/// Those that cost least are tried; where the least members of the class are large, larger ones, until there are a few.
SmallShapes cheapShapes(const Subject& subject, const EvaluationOptions& options) {
  constexpr int64_t kTimesMore = 8, kMost = 512;
  for (int64_t times = 1;; times *= kTimesMore) {
    auto cheap = [&](const Bindings& symbols) { return workOf(subject.source, symbols) <= options.shapeWork * times; };
    SmallShapes shapes = smallShapes(subject.rule.shapes, options.shapes, options.seed, cheap);
    if (shapes.members.size() >= std::min(kFewShapes, options.shapes) || times == kMost) return shapes;
  }
}

Evaluation evaluateSubject(const Subject& subject, const EvaluationOptions& options) {
  Evaluation result;
  const Rule& rule = subject.rule;
  const SmallShapes shapes = cheapShapes(subject, options);
  result.constraints = rule.shapes.constraints.size();
  result.touched = shapes.touched;
  auto all = [&](auto has) { return has(subject.source) && has(rule.replacement) && has(rule.mutant); };
  auto hasFractions = [](const Program& p) { return hasNumbers(p, false); };
  auto hasIntegers = [](const Program& p) { return hasNumbers(p, true); };
  if (all(hasKernels<Fp>) && all(hasFractions)) {
    result.domain = "F_p";
    evaluateShapes<Fp>(subject, shapes, options, result);
  } else if (all(hasKernels<int64_t>) && all(hasIntegers)) {
    result.domain = "integers";
    evaluateShapes<int64_t>(subject, shapes, options, result);
  } else {
    result.domain = "doubles";
    evaluateShapes<double>(subject, shapes, options, result);
  }
  return result;
}

/// A small fraction, which counts in every ring, for each of the numbers that stand for others.
Numbers drawnNumbers(const std::vector<double>& anyNumbers, uint64_t seed) {
  std::mt19937_64 random(seed);
  Numbers drawn;
  for (double number : anyNumbers)
    drawn.emplace(number, static_cast<double>(1 + random() % 64) / 16);
  return drawn;
}

}  // namespace

std::string CounterExample::str() const {
  std::vector<std::string> values;
  for (const auto& [name, value] : symbols)
    values.push_back(fmt::format("{} = {}", name, value));
  std::string out =
      fmt::format("{} at {}", what, values.empty() ? "the only shape" : fmt::format("{}", fmt::join(values, ", ")));
  if (!isDifference()) return out;
  return out + fmt::format("; {}[{}] = {}, not {}", output, fmt::join(position, ", "), patternValue, otherValue);
}

std::string Evaluation::str() const {
  if (counterExample) return counterExample->str();
  if (shapes == 0) return "no small shape was found in the class";
  std::string out = fmt::format("equal at {} shapes, {} of {} constraints touched", shapes, touched, constraints);
  return boxPositions == 0 ? out
                           : fmt::format("{}; {} of {} box positions differ", out, differentPositions, boxPositions);
}

Evaluation evaluateRule(const Pattern& pattern, const Rule& rule, const EvaluationOptions& options) {
  Evaluation result;
  try {
    auto source = instantiate(pattern, rule);
    if (!source) {
      result.counterExample = CounterExample{.what = source.error().message()};
      return result;
    }
    const Numbers numbers = drawnNumbers(pattern.anyNumbers, options.seed);
    if (numbers.empty()) return evaluateSubject({pattern, rule, std::move(*source)}, options);
    Rule drawn = rule;
    drawn.mutant = withNumbers(rule.mutant, numbers);
    drawn.replacement = withNumbers(rule.replacement, numbers);
    return evaluateSubject({pattern, drawn, withNumbers(*source, numbers)}, options);
  } catch (const OverflowError& e) {
    result.counterExample = CounterExample{.what = e.what()};
  }
  return result;
}

}  // namespace pet
