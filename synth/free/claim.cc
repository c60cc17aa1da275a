#include "synth/free/claim.h"

#include <algorithm>

#include "ir/ops/op.h"

namespace pet::freemode {
namespace {

/// TASO's numbers of operators and constants (rules/taso/operators.cc, windows.cc).
int typeOf(const Step& step, bool byNumber) {
  switch (step.op.kind) {
    case OperatorKind::kAdd:
      return 16;
    case OperatorKind::kAveragePool:
      return 7;
    case OperatorKind::kConcat:
      return 12;
    case OperatorKind::kConv:
      return 3;
    case OperatorKind::kMatMul:
      return 18;
    case OperatorKind::kMaxPool:
      return 6;
    case OperatorKind::kMul:
      return byNumber ? 19 : 17;
    case OperatorKind::kPad:
      return 20;
    case OperatorKind::kRelu:
      return 8;
    case OperatorKind::kSigmoid:
      return 9;
    case OperatorKind::kSplit:
      return 13;
    case OperatorKind::kTanh:
      return 10;
    case OperatorKind::kTranspose:
      return 15;
  }
  return -1;
}

int typeOf(Constant c) {
  switch (c) {
    case Constant::kEye:
      return 22;
    case Constant::kIdentityKernel:
      return 23;
    case Constant::kOnes:
      return 24;
    default:
      return 25;
  }
}

int activationOf(Activation a) {
  switch (a) {
    case Activation::kNone:
      return 0;
    case Activation::kSigmoid:
      return 1;
    case Activation::kRelu:
      return 2;
    default:
      return 3;
  }
}

/// One side in TASO's form.
class SideWriter {
 public:
  SideWriter(const Equality& e, const std::vector<Step>& steps, std::vector<taso::Operator>& ops)
      : e_(e), steps_(steps), ops_(ops) {}

  taso::Tensor write(Operand o) {
    if (auto it = done_.find(o); it != done_.end()) return it->second;
    taso::Tensor t = o < 0 ? leaf(variableOf(o)) : node(e_.nodes[static_cast<size_t>(o)]);
    // Each use of a constant is one of its own: of other extents, if need be.
    if (o >= 0 || t.isVariable()) done_[o] = t;
    return t;
  }
  size_t rankOf(Operand o) const {
    if (o < 0) return static_cast<size_t>(e_.variables[variableOf(o)].type.rank);
    const EqualityNode& n = e_.nodes[static_cast<size_t>(o)];
    return n.b == kNoOperand ? rankOf(n.a) : std::max(rankOf(n.a), rankOf(n.b));
  }

 private:
  taso::Tensor leaf(size_t v) {
    const Variable& variable = e_.variables[v];
    if (variable.constant == Constant::kNone) return {-1 - static_cast<int>(v), 0};
    taso::Operator op{typeOf(variable.constant), {}, {}};
    if (variable.constant == Constant::kOnes) op.parameters[taso::kRank] = variable.type.rank;
    if (variable.constant == Constant::kMeanKernel) {
      op.parameters[taso::kKernelH] = variable.type.extents[2];
      op.parameters[taso::kKernelW] = variable.type.extents[3];
    }
    ops_.push_back(std::move(op));
    return {static_cast<int>(ops_.size() - 1), 0};
  }

  taso::Tensor node(const EqualityNode& n) {
    const Step& step = steps_[n.step];
    Operand x = n.a, y = n.b;
    bool byNumber = step.op.kind == OperatorKind::kMul && rankOf(x) != rankOf(y);
    if (byNumber && rankOf(x) == 0) std::swap(x, y);
    taso::Operator op{typeOf(step, byNumber), {write(x)}, parametersOf(step, rankOf(x))};
    if (y != kNoOperand) op.inputs.push_back(write(y));
    if (step.op.kind == OperatorKind::kSplit) {
      auto same = std::find_if(ops_.begin(), ops_.end(), [&](const taso::Operator& o) {
        return o.type == op.type && o.inputs == op.inputs && o.parameters == op.parameters;
      });
      if (same != ops_.end()) return {static_cast<int>(same - ops_.begin()), step.output};
    }
    ops_.push_back(std::move(op));
    return {static_cast<int>(ops_.size() - 1), step.output};
  }

  static std::map<int, int> parametersOf(const Step& step, size_t rank) {
    std::map<int, int> p;
    switch (step.op.kind) {
      case OperatorKind::kConv:
      case OperatorKind::kAveragePool:
      case OperatorKind::kMaxPool:
        p = {{taso::kKernelH, static_cast<int>(step.op.kernel[0])},
             {taso::kKernelW, static_cast<int>(step.op.kernel[1])},
             {taso::kActivation, activationOf(step.op.activation)}};
        break;
      case OperatorKind::kConcat:
      case OperatorKind::kSplit:
        p = {{taso::kAxis, step.op.axis}};
        break;
      case OperatorKind::kTranspose:
        p = {{taso::kPerm, 2}};  // the digits 1, 0 in base 2
        break;
      default:
        break;
    }
    if (rank > 0 && step.op.kind != OperatorKind::kPad) p[taso::kRank] = static_cast<int>(rank);
    return p;
  }

  const Equality& e_;
  const std::vector<Step>& steps_;
  std::vector<taso::Operator>& ops_;
  std::map<Operand, taso::Tensor> done_;
};

std::vector<size_t> variablesOf(const Equality& e, Operand side) {
  std::vector<size_t> all;
  auto visit = [&](Operand o, const auto& self) -> void {
    if (o == kNoOperand) return;
    if (o >= 0) {
      self(e.nodes[static_cast<size_t>(o)].a, self);
      self(e.nodes[static_cast<size_t>(o)].b, self);
    } else if (e.variables[variableOf(o)].constant == Constant::kNone) {
      all.push_back(variableOf(o));
    }
  };
  visit(side, visit);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Channels and filters: groups and identity kernels may want them equal.
void addChannelNarrowings(taso::Translation& t) {
  const auto& symbols = t.pattern.shapes.symbols;
  for (size_t b = 0; b < symbols.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      bool mixed = (symbols[a][0] == 'C' && symbols[b][0] == 'F') || (symbols[a][0] == 'F' && symbols[b][0] == 'C');
      if (mixed) t.narrowings.emplace_back(symbols[b], Expr::variable(symbols[a]));
    }
  }
}

/// A program has an operator: what is an input alone is an Identity of it.
void addIdentity(Rule& rule) {
  const Program& p = rule.replacement;
  if (!p.node(p.outputs()[0]).is(ops::kInput)) return;
  ProgramBuilder builder(p);
  if (auto same = builder.add("Identity", {p.outputs()[0]}, {}, "y")) {
    rule.replacement = rule.mutant = std::move(builder).finish({*same});
  }
}

/// Which side is the pattern; none where each reads what the other does not.
Operand patternOf(const Equality& e) {
  auto left = variablesOf(e, e.left), right = variablesOf(e, e.right);
  bool rightFirst = sizeOf(e, e.right) >= sizeOf(e, e.left);
  for (bool takesRight : {rightFirst, !rightFirst}) {
    Operand side = takesRight ? e.right : e.left;
    const auto &mine = takesRight ? right : left, &other = takesRight ? left : right;
    if (side >= 0 && std::includes(mine.begin(), mine.end(), other.begin(), other.end())) return side;
  }
  return kNoOperand;
}

}  // namespace

Expected<std::vector<taso::Translation>> readingsOf(const Equality& e,
                                                    const std::vector<Step>& steps,
                                                    const std::string& name) {
  Operand pattern = patternOf(e);
  if (pattern == kNoOperand) return fail(ErrorKind::kUnsupported, "each side reads what the other does not");
  taso::Substitution s;
  taso::Tensor source = SideWriter(e, steps, s.source).write(pattern),
               target = SideWriter(e, steps, s.target).write(pattern == e.left ? e.right : e.left);
  s.outputs = {{source.op, target.op, source.output, target.output}};
  std::vector<taso::Translation> readings;
  for (taso::Groups groups : {taso::Groups::kAny, taso::Groups::kLeast}) {
    auto t = taso::translate(s, name, groups);
    if (!t && groups == taso::Groups::kLeast && readings.empty()) return tl::unexpected(t.error());
    if (!t) continue;
    addChannelNarrowings(*t);
    t->rule.name = name + "/rule";
    t->rule.family = "free";
    addIdentity(t->rule);
    readings.push_back(std::move(*t));
  }
  return readings;
}

Claim claimOf(const Equality& e,
              const std::vector<Step>& steps,
              const std::string& name,
              const DecideOptions& options) {
  Claim claim;
  auto readings = readingsOf(e, steps, name);
  if (!readings) {
    claim.judgement.reason = readings.error().message();
    return claim;
  }
  for (const taso::Translation& t : *readings) {
    claim.judgement = judge(t.pattern, t.rule, t.narrowings, options, 1);
    if (claim.judgement.verdict == Verdict::kRefuted) {
      Judgement narrow = judge(t.pattern, t.rule, t.lastNarrowings, options, 1);
      if (narrow.verdict == Verdict::kProved) claim.judgement = std::move(narrow);
    }
    claim.exact = !claim.judgement.narrowed.empty();
    if (claim.judgement.verdict == Verdict::kProved) break;
  }
  return claim;
}

}  // namespace pet::freemode
