#include "synth/numerics/zeros.h"

#include <algorithm>
#include <cmath>

#include "ir/denote.h"
#include "synth/prove/pairing.h"

namespace pet {
namespace {

class Zeros {
 public:
  Zeros(const poly::Context& context, const Program& program) : context_(context), program_(program) {
    for (size_t i = 0; i < program.nodes().size(); ++i) {
      const Node& n = program.nodes()[i];
      auto among = [&](const std::vector<bool>& marked) {
        return std::any_of(n.operands.begin(), n.operands.end(),
                           [&](Value v) { return marked[static_cast<size_t>(v.node)]; });
      };
      bool isMoving = n.is(ops::kInput) && n.scalar("constant") != Expr(1);
      moving_.push_back(isMoving || among(moving_));
      auto value = n.attributes.find("value");
      bool isInfinite = value != n.attributes.end() && std::isinf(n.number("value"));
      infinite_.push_back(
          isInfinite || (among(infinite_) && !n.op->facts.ignoresMinusInfinity && n.op->meaning != Meaning::kMaximum));
      zeros_.push_back(hasZeros(n, among(zeros_), among(infinite_)));
    }
  }

  bool areMultiplied() const {
    return std::any_of(program_.nodes().begin(), program_.nodes().end(), [&](const Node& n) {
      if (!isProduct(n)) return false;
      if (n.is(ops::kGemm) && (n.number("alpha") == 0 || n.number("beta") == 0)) return true;
      for (Value zero : n.operands) {
        for (Value other : n.operands) {
          bool both = zeros_[static_cast<size_t>(zero.node)] && moving_[static_cast<size_t>(other.node)];
          if (both && zero != other) return true;
        }
      }
      return false;
    });
  }

 private:
  const poly::Context& context_;
  const Program& program_;
  std::vector<bool> moving_;    ///< depends on an activation
  std::vector<bool> infinite_;  ///< may be -inf, whatever the inputs
  std::vector<bool> zeros_;     ///< is zero somewhere, whatever the inputs

  static bool isProduct(const Node& n) {
    return n.op->rounding.arithmetic == Arithmetic::kProducts && n.operands.size() > 1 && !n.is(ops::kSelect);
  }

  bool hasZeros(const Node& n, bool fromZeros, bool fromInfinity) const {
    static constexpr OpName kWithZeros[] = {ops::kEye,  ops::kBand, ops::kNot,           ops::kFloor,
                                            ops::kCeil, ops::kMod,  ops::kConvTranspose, ops::kCol2Im};
    if (n.is(ops::kConstant)) return n.number("value") == 0;
    if (std::any_of(std::begin(kWithZeros), std::end(kWithZeros), [&](OpName op) { return n.is(op); })) return true;
    if (n.is(ops::kTable)) {
      const auto& values = n.list("values");
      return std::any_of(values.begin(), values.end(), [](const Expr& e) { return e == Expr(0); });
    }
    // A condition selects: its zeros multiply nothing.
    if (n.is(ops::kSelect)) return zeros_[static_cast<size_t>(n.operands[1].node)];
    if (n.op->meaning == Meaning::kFunction)
      return n.op->facts.ignoresMinusInfinity && fromInfinity ? true : n.op->facts.zeroPreserving && fromZeros;
    return fromZeros || (n.op->fills && leavesOut(n));
  }

  /// Some position is not reached.
  bool leavesOut(const Node& n) const {
    ProgramBuilder b;
    Value w = b.input("w", program_.shape(n.operands[0]));
    auto filled = b.add(*n.op, {w}, n.attributes);
    if (!filled) return true;
    NameSource names;
    auto d = denote(std::move(b).finish({*filled}), *filled, names);
    return !d || !positionsWithoutTerms(context_, *d).isEmpty();
  }
};

}  // namespace

bool multipliesByZeros(const poly::Context& context, const Program& program) {
  return Zeros(context, program).areMultiplied();
}

}  // namespace pet
