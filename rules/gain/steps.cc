#include "rules/gain/steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/layout_algebra.h"
#include "ir/ops/op.h"
#include "ir/work.h"

namespace pet {
namespace {

/// What an operator can be computed together with.
enum class Manner {
  kView,         ///< whatever makes its operand: it is nothing
  kElementwise,  ///< what makes an operand of its extents
  kLayout,       ///< element-wise operators and layouts before it
  kAlone,        ///< nothing before it
};

Manner mannerOf(const Node& node) {
  if (movesNothing(node)) return Manner::kView;
  if (node.op->layout) return Manner::kLayout;
  const bool isArithmetic = node.is(ops::kAdd) || node.is(ops::kSub) || node.is(ops::kMul) || node.is(ops::kDiv) ||
                            node.is(ops::kBatchNormalization);
  return node.op->facts.elementwise || isArithmetic ? Manner::kElementwise : Manner::kAlone;
}

/// Extents are not known.
struct Unknown {};

class Grouping {
 public:
  Grouping(const Program& program, const Bindings& symbols)
      : program_(program),
        symbols_(symbols),
        stepOf_(program.nodes().size(), kNone),
        readers_(program.nodes().size()),
        isConstant_(constantNodes(program)) {
    for (size_t i = 0; i < program.nodes().size(); ++i) {
      for (Value v : program.nodes()[i].operands)
        readers_[static_cast<size_t>(v.node)].insert(static_cast<int>(i));
    }
    for (Value v : program.outputs())
      readers_[static_cast<size_t>(v.node)].insert(kOutside);
  }

  std::vector<DeviceStep> steps() {
    for (int n = 0; n < static_cast<int>(program_.nodes().size()); ++n) {
      if (!node(n).is(ops::kInput) && !isConstant_[static_cast<size_t>(n)]) place(n);
    }
    for (DeviceStep& step : steps_)
      step.elements = elementsAround(step);
    return std::move(steps_);
  }

 private:
  static constexpr int kNone = -1;     ///< of an input, a constant, or a view of either
  static constexpr int kOutside = -1;  ///< who reads an output

  const Node& node(int n) const { return program_.nodes()[static_cast<size_t>(n)]; }
  int& stepOf(int n) { return stepOf_[static_cast<size_t>(n)]; }
  int stepOf(int n) const { return stepOf_[static_cast<size_t>(n)]; }
  double elements(Value v) const { return known(elementsOf(program_.shape(v), symbols_)); }
  static double known(std::optional<double> amount) {
    if (!amount || !(*amount >= 0)) throw Unknown();
    return *amount;
  }

  /// The step of an operand that the node can be a part of; kNone: there is none.
  int stepBefore(int n, Manner manner) {
    if (manner == Manner::kAlone) return kNone;
    for (Value v : node(n).operands) {
      const int step = stepOf(v.node);
      const bool isRead = readers_[static_cast<size_t>(v.node)].size() > 1;
      if (step == kNone || isRead) continue;
      if (manner == Manner::kElementwise && elements(v) == elements({n, 0})) return step;
      if (manner == Manner::kLayout && !isAlone_[static_cast<size_t>(step)]) return step;
    }
    return kNone;
  }

  void place(int n) {
    const Manner manner = mannerOf(node(n));
    if (manner == Manner::kView) {
      stepOf(n) = stepOf(node(n).operands[0].node);
      if (stepOf(n) != kNone) steps_[static_cast<size_t>(stepOf(n))].nodes.push_back(n);
      return;
    }
    stepOf(n) = stepBefore(n, manner);
    if (stepOf(n) == kNone) {
      stepOf(n) = static_cast<int>(steps_.size());
      steps_.emplace_back();
      isAlone_.push_back(manner == Manner::kAlone);
    }
    DeviceStep& step = steps_[static_cast<size_t>(stepOf(n))];
    step.nodes.push_back(n);
    const bool isProduct = node(n).is(ops::kMatMul) || node(n).is(ops::kGemm);
    const bool isConv = node(n).is(ops::kConv) || node(n).is(ops::kConvTranspose);
    if (isProduct || isConv) (isProduct ? step.gemm : step.conv) += known(workOf(program_, node(n), symbols_));
  }

  /// A layout reads no more than it writes: what it leaves out stays where it is.
  double readBy(int n, Value operand) const {
    const double all = elements(operand);
    return node(n).op->layout ? std::min(all, elements({n, 0})) : all;
  }

  double elementsAround(const DeviceStep& step) {
    const int here = stepOf(step.nodes[0]);
    std::map<Value, double> read;
    double sum = 0;
    for (int n : step.nodes) {
      for (Value v : node(n).operands) {
        if (stepOf(v.node) != here) read[v] = std::max(read[v], readBy(n, v));
      }
      const auto& readers = readers_[static_cast<size_t>(n)];
      const bool isStored =
          std::any_of(readers.begin(), readers.end(), [&](int r) { return r == kOutside || stepOf(r) != here; });
      if (!isStored) continue;
      for (size_t output = 0; output < node(n).shapes.size(); ++output)
        sum += elements({n, static_cast<int>(output)});
    }
    for (const auto& [value, amount] : read)
      sum += amount;
    return sum;
  }

  const Program& program_;
  const Bindings& symbols_;
  std::vector<int> stepOf_;
  std::vector<std::set<int>> readers_;
  std::vector<bool> isConstant_;  ///< per node
  std::vector<DeviceStep> steps_;
  std::vector<bool> isAlone_;  ///< per step: it begins with an operator that nothing is computed before
};

}  // namespace

Expected<std::vector<DeviceStep>> deviceSteps(const Program& program, const Bindings& symbols) {
  try {
    return Grouping(program, symbols).steps();
  } catch (const Unknown&) {
    return fail(ErrorKind::kCheck, "its extents are not known");
  } catch (const OverflowError&) {
    return fail(ErrorKind::kCheck, "extents beyond 64 bits");
  }
}

}  // namespace pet
