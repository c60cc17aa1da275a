#include "rules/taso/translate.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "ir/denote.h"
#include "rules/taso/ranks.h"

namespace pet::taso {
namespace {

/// A convolution has at most so many groups, and so many combinations of such numbers are looked at.
constexpr int64_t kMostGroups = 8;
constexpr int kMostTrials = 1000;
/// TASO's graphs have three or four.
constexpr size_t kMostOperators = 100;

/// "a", "b", …, "z", "a1", …
std::string operatorName(size_t i) {
  std::string letter(1, static_cast<char>('a' + i % 26));
  return i < 26 ? letter : letter + std::to_string(i / 26);
}

std::string inputName(const Tensor& variable) {
  int64_t number = -static_cast<int64_t>(variable.op);
  return variable.output == 0 ? fmt::format("x{}", number) : fmt::format("x{}_{}", number, variable.output);
}

/// The results' dimensions of every operator of one side.
using SideShapes = std::vector<std::vector<Dimensions>>;

class Translator {
 public:
  Translator(const Substitution& s, const std::string& name, Groups groups) : s_(s), name_(name), choice_(groups) {}

  Expected<Translation> run() {
    PET_TRY(checkOperands());
    auto ranks = inferRanks(s_);
    if (!ranks) return tl::unexpected(ranks.error());
    ranks_ = std::move(*ranks);
    PET_TRY(nameVariables());
    for (int side : {0, 1})
      PET_TRY(inferShapes(side));
    PET_TRY(equateOutputs());
    PET_TRY(choice_ == Groups::kAny ? openGroups() : settleGroups());
    nameSymbols();
    return build();
  }

 private:
  const std::vector<Operator>& side(int side) const { return side == 0 ? s_.source : s_.target; }

  Expected<void> checkOperands() const {
    for (int side : {0, 1}) {
      if (this->side(side).size() > kMostOperators) {
        return fail(ErrorKind::kUnsupported, fmt::format("more than {} operators", kMostOperators));
      }
      for (const Operator& op : this->side(side)) {
        auto row = findOperator(op.type);
        if (!row) return tl::unexpected(row.error());
        size_t given = op.inputs.size(), wanted = (*row)->operands.size();
        if ((*row)->variadic ? given < wanted : given != wanted) {
          return fail(ErrorKind::kText, fmt::format("{} takes {} operands, got {}", (*row)->name, wanted, given));
        }
      }
    }
    return {};
  }

  /// Variables in the order in which the source reads them. The target has no others.
  Expected<void> nameVariables() {
    for (int side : {0, 1}) {
      for (const Operator& op : this->side(side)) {
        for (const Tensor& t : op.inputs) {
          if (!t.isVariable() || variables_.contains(t)) continue;
          if (side == 1) {
            return fail(ErrorKind::kUnsupported,
                        fmt::format("the target reads {}, which the source does not", inputName(t)));
          }
          Dimensions dims;
          for (const std::string& letter : ranks_.at({0, t}).letters)
            dims.push_back({extents_.fresh(letter)});
          variables_.emplace(t, std::move(dims));
          order_.push_back(t);
        }
      }
    }
    return {};
  }

  Expected<Dimensions> dimensionsOf(int side, const Tensor& t) const {
    if (t.isVariable()) return variables_.at(t);
    const auto& outputs = shapes_[side][static_cast<size_t>(t.op)];
    if (t.output < static_cast<int>(outputs.size())) return outputs[static_cast<size_t>(t.output)];
    return fail(ErrorKind::kText, fmt::format("operator {} has no output {}", t.op, t.output));
  }

  Expected<void> inferShapes(int side) {
    const auto& ops = this->side(side);
    for (size_t i = 0; i < ops.size(); ++i) {
      std::vector<Dimensions> operands;
      for (const Tensor& t : ops[i].inputs) {
        auto dims = dimensionsOf(side, t);
        if (!dims) return tl::unexpected(dims.error());
        operands.push_back(std::move(*dims));
      }
      const TensorRank& rank = ranks_.at({side, {static_cast<int>(i), 0}});
      size_t convolutions = groups_.size();
      auto outputs = (*findOperator(ops[i].type))->shape({ops[i], operands, rank.rank, extents_, groups_});
      if (!outputs) return tl::unexpected(outputs.error());
      groupOf_[side].push_back(groups_.size() > convolutions ? static_cast<int>(convolutions) : -1);
      if (groups_.size() > convolutions) noteKernel(ops[i], operands[1]);
      shapes_[side].push_back(std::move(*outputs));
    }
    return {};
  }

  /// What TASO's parameters say of a kernel that is here of any extent.
  void noteKernel(const Operator& op, const Dimensions& kernel) {
    for (auto [key, d] : {std::pair{kKernelH, 2}, {kKernelW, 3}}) {
      if (int k = op.parameter(key, 0); k > 0) kernels_.emplace_back(kernel[static_cast<size_t>(d)].size, k);
    }
  }

  Expected<void> equateOutputs() {
    std::set<std::pair<int, int>> sources;
    for (const MappedOutput& m : s_.outputs) {
      if (!sources.emplace(m.source, m.sourceOutput).second)
        return fail(ErrorKind::kText,
                    fmt::format("output {} of operator {} is mapped twice", m.sourceOutput, m.source));
      auto a = dimensionsOf(0, {m.source, m.sourceOutput}), b = dimensionsOf(1, {m.target, m.targetOutput});
      if (!a) return tl::unexpected(a.error());
      if (!b) return tl::unexpected(b.error());
      if (a->size() != b->size()) return fail(ErrorKind::kUnsupported, "the two sides differ in rank");
      for (size_t d = 0; d < a->size(); ++d) {
        if (!extents_.equate((*a)[d].size, (*b)[d].size)) {
          return fail(ErrorKind::kUnsupported, "the two sides are of different extents");
        }
      }
    }
    return {};
  }

  /// How many channels of a feature map one filter reads, where that is a number: a mean kernel reads one.
  std::optional<int64_t> fixedInner(const GroupEquation& e) const { return extents_.solved(e.inner).asConstant(); }

  /// The first combination of group numbers, the least ones first, for which extents exist.
  Expected<void> settleGroups() {
    groupCounts_.assign(groups_.size(), 1);
    int trials = 0;
    if (settleGroupsFrom(0, trials)) return {};
    return fail(ErrorKind::kUnsupported, "no extents fit the convolutions' channels");
  }

  bool settleGroupsFrom(size_t i, int& trials) {
    if (i == groups_.size()) return true;
    const Extents before = extents_;
    if (auto inner = fixedInner(groups_[i])) return settleChannelwise(i, *inner, trials);
    for (int64_t g = 1; g <= kMostGroups && ++trials <= kMostTrials; ++g) {
      const GroupEquation& e = groups_[i];
      groupCounts_[i] = g;
      bool fits = extents_.equate(e.channels, e.inner * g) &&
                  (g == 1 || extents_.equate(e.filters, extents_.fresh("F") * g)) && settleGroupsFrom(i + 1, trials);
      if (fits) return true;
      extents_ = before;
    }
    return false;
  }

  /// A kernel of `inner` channels a group: there are as many groups as the feature map has such channels, a symbol.
  /// With as many filters as channels, which is TASO's mean kernel (depthwise where inner is 1), or else with the
  /// fewest a group.
  bool settleChannelwise(size_t i, int64_t inner, int& trials) {
    const Extents before = extents_;
    std::vector<int64_t> filters{inner};
    for (int64_t f = 1; f <= kMostGroups; ++f) {
      if (f != inner) filters.push_back(f);
    }
    for (int64_t f : filters) {
      if (++trials > kMostTrials) break;
      const GroupEquation& e = groups_[i];
      const Expr group = extents_.fresh("G");
      groupCounts_[i] = group;
      bool fits = extents_.equate(e.channels, group * inner) && extents_.equate(e.filters, group * f) &&
                  settleGroupsFrom(i + 1, trials);
      if (fits) return true;
      extents_ = before;
    }
    return false;
  }

  // --- Groups that stay open: an unknown number of channels or filters becomes a product ---

  /// The unknown that an extent is; empty if it is none.
  std::string unknownOf(const Expr& e) const { return extents_.solved(e).asVariable().value_or(""); }

  /// Convolutions that read the same channels or make the same filters have the same groups, and those that read the
  /// same channels the same inner extents.
  Expected<void> openGroups() {
    if (groups_.empty()) return fail(ErrorKind::kUnsupported, "no convolution");
    for (const GroupEquation& a : groups_) {
      if (fixedInner(a)) return fail(ErrorKind::kUnsupported, "a kernel that says how many groups there are");
      for (const GroupEquation& b : groups_) {
        if (unknownOf(a.channels) == unknownOf(b.channels) && !extents_.equate(a.inner, b.inner)) {
          return fail(ErrorKind::kUnsupported, "the same channels in groups of different extents");
        }
      }
    }
    for (size_t i = 0; i < groups_.size(); ++i) {
      const GroupEquation& e = groups_[i];
      std::string channels = unknownOf(e.channels), filters = unknownOf(e.filters);
      auto known = products_.find(products_.contains(channels) ? channels : filters);
      Expr group = known == products_.end() ? extents_.fresh("G") : known->second[0];
      PET_TRY(define(channels, {group, extents_.solved(e.inner)}));
      if (!products_.contains(filters)) PET_TRY(define(filters, {group, extents_.fresh("F")}));
      if (products_.at(filters)[0] != group) return fail(ErrorKind::kUnsupported, "filters in two numbers of groups");
      groupCounts_.push_back(group);
    }
    return {};
  }

  Expected<void> define(const std::string& unknown, std::vector<Expr> factors) {
    auto it = products_.emplace(unknown, factors).first;
    if (!unknown.empty() && it->second == factors) return {};
    return fail(ErrorKind::kUnsupported, "channels that are not so many groups");
  }

  /// An extent as a dimension: a product, if it was found to be one.
  Dim dimension(const Expr& e) const {
    auto it = products_.find(unknownOf(e));
    if (it == products_.end()) return solved(e);
    std::vector<Dim> factors;
    for (const Expr& f : it->second)
      factors.emplace_back(solved(f));
    return Dim::product(factors);
  }

  /// True if an unknown that is a product came out somewhere as a mere number.
  static bool hasUnknowns(const Program& program) {
    for (const Node& n : program.nodes()) {
      for (const Shape& shape : n.shapes) {
        if (str(shape).find('?') != std::string::npos) return true;
      }
    }
    return false;
  }

  /// Unknowns that are left become symbols.
  void nameSymbols() {
    std::vector<Expr> used;
    auto use = [&](const Dimensions& dims) {
      for (const Dimension& d : dims) {
        auto product = products_.find(unknownOf(d.size));
        if (product == products_.end()) {
          used.push_back(d.size);
        } else {
          used.insert(used.end(), product->second.begin(), product->second.end());
        }
      }
    };
    for (const auto& [tensor, dims] : variables_)
      use(dims);
    for (const auto& side : shapes_) {
      for (const auto& outputs : side) {
        for (const Dimensions& dims : outputs)
          use(dims);
      }
    }
    symbols_ = extents_.symbols(used);
    for (const auto& s : symbols_)
      names_.emplace(s.unknown, Expr::variable(s.symbol));
  }

  Expr solved(const Expr& e) const { return extents_.solved(e).substitute(names_); }

  /// The extents alone.
  Dimensions solved(const Dimensions& dims) const {
    Dimensions result;
    for (const Dimension& d : dims)
      result.push_back({solved(d.size)});
    return result;
  }

  // --- Programs ---

  Expected<Program> program(int side) const {
    ProgramBuilder builder;
    std::map<Tensor, Value> values;  // of variables
    for (const Tensor& t : order_) {
      Shape shape;
      for (const Dimension& d : variables_.at(t))
        shape.push_back(dimension(d.size));
      values[t] = builder.input(inputName(t), std::move(shape));
    }
    const auto& ops = this->side(side);
    std::vector<Value> results;
    auto valueOf = [&](const Tensor& t) {
      return t.isVariable() ? values.at(t) : Value{results[static_cast<size_t>(t.op)].node, t.output};
    };
    for (size_t i = 0; i < ops.size(); ++i) {
      std::vector<Value> operands;
      for (const Tensor& t : ops[i].inputs)
        operands.push_back(valueOf(t));
      auto value = emit(side, i, operands, builder);
      if (!value) return tl::unexpected(value.error());
      results.push_back(*value);
    }
    std::vector<Value> outputs;
    for (const MappedOutput& m : s_.outputs)
      outputs.push_back(side == 0 ? valueOf({m.source, m.sourceOutput}) : valueOf({m.target, m.targetOutput}));
    return std::move(builder).finish(std::move(outputs));
  }

  /// One operator, with its activation behind it.
  Expected<Value> emit(int side, size_t i, const std::vector<Value>& operands, ProgramBuilder& builder) const {
    const Operator& op = this->side(side)[i];
    auto activation = activationOf(op);
    if (!activation) return tl::unexpected(activation.error());
    std::vector<Dimensions> outputs;
    for (const Dimensions& dims : shapes_[side][i])
      outputs.push_back(solved(dims));
    int convolution = groupOf_[side][i];
    Expr group = convolution < 0 ? 1 : solved(groupCounts_[static_cast<size_t>(convolution)]);
    std::string name = operatorName(i);
    auto value =
        (*findOperator(op.type))->emit({op, operands, outputs, group, *activation ? name + "'" : name, builder});
    if (!value || !*activation) return value;
    return builder.add(**activation, {*value}, {}, {name});
  }

  Expected<Translation> build() const {
    auto source = program(0), target = program(1);
    if (!source) return tl::unexpected(source.error());
    if (!target) return tl::unexpected(target.error());
    if (hasUnknowns(*source) || hasUnknowns(*target)) {
      return fail(ErrorKind::kUnsupported, "an extent that is a product in one place and a number in another");
    }
    Translation t;
    for (const auto& s : symbols_)
      t.pattern.shapes.symbols.push_back(s.symbol);
    for (const Constraint& c : extents_.bounds(symbols_))
      t.pattern.shapes.require(c.substitute(names_));
    for (const Constraint& c : obligations(*source))
      t.pattern.shapes.require(c);
    t.pattern.name = name_;
    t.pattern.program = std::move(*source);
    t.rule.name = name_ + "/target";
    t.rule.pattern = name_;
    t.rule.family = "taso";
    t.rule.depth = static_cast<int>(s_.target.size());
    t.rule.shapes = t.pattern.shapes;
    for (const Constraint& c : obligations(*target))
      t.rule.shapes.require(c);
    t.rule.mutant = *target;
    t.rule.replacement = std::move(*target);
    t.narrowings = narrowings();
    t.lastNarrowings = lastNarrowings();
    return t;
  }

  std::vector<std::pair<std::string, Expr>> narrowings() const {
    std::vector<std::pair<std::string, Expr>> result;
    auto add = [&](const std::string& symbol, const Expr& value) {
      std::pair<std::string, Expr> n{symbol, value};
      if (std::find(result.begin(), result.end(), n) == result.end()) result.push_back(std::move(n));
    };
    for (const Expr& group : choice_ == Groups::kAny ? groupCounts_ : std::vector<Expr>()) {
      if (auto symbol = solved(group).asVariable()) add(*symbol, 1);
    }
    for (size_t b = 0; b < symbols_.size(); ++b) {
      for (size_t a = 0; a < b; ++a) {
        if (symbols_[a].letter == symbols_[b].letter) add(symbols_[b].symbol, Expr::variable(symbols_[a].symbol));
      }
    }
    for (const auto& [extent, given] : kernels_) {
      Expr e = solved(extent) - given;  // c · symbol + constant, or nothing to narrow
      std::set<std::string> variables = e.variables();
      if (variables.size() != 1 || e.hasDivision()) continue;
      auto value = Expr(-e.constant()).dividedBy(std::abs(e.coefficient(*variables.begin())));
      if (value) add(*variables.begin(), e.coefficient(*variables.begin()) < 0 ? -*value : *value);
    }
    return result;
  }

  std::vector<std::pair<std::string, Expr>> lastNarrowings() const {
    std::vector<std::pair<std::string, Expr>> result;
    for (size_t b = 0; b < symbols_.size(); ++b) {
      for (size_t a = 0; a < b; ++a) {
        if (symbols_[a].letter != symbols_[b].letter)
          result.emplace_back(symbols_[b].symbol, Expr::variable(symbols_[a].symbol));
      }
    }
    return result;
  }

  const Substitution& s_;
  const std::string& name_;
  Groups choice_;
  Extents extents_;
  std::map<TensorKey, TensorRank> ranks_;
  std::vector<Tensor> order_;  ///< the variables, in order
  std::map<Tensor, Dimensions> variables_;
  SideShapes shapes_[2];
  std::vector<GroupEquation> groups_;
  std::vector<int> groupOf_[2];                        ///< by operator: its equation, or -1
  std::vector<Expr> groupCounts_;                      ///< by equation
  std::map<std::string, std::vector<Expr>> products_;  ///< unknowns that are (G C) or (G F)
  std::vector<std::pair<Expr, int64_t>> kernels_;      ///< extents, and what they are in TASO's rule
  std::vector<Extents::Symbol> symbols_;
  std::map<std::string, Expr> names_;
};

}  // namespace

Expected<Translation> translate(const Substitution& substitution, const std::string& name, Groups groups) {
  try {
    return Translator(substitution, name, groups).run();
  } catch (const OverflowError& e) {
    return fail(ErrorKind::kUnsupported, e.what());
  }
}

}  // namespace pet::taso
