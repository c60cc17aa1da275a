#pragma once

#include <numeric>
#include <span>
#include <string_view>

#include "ir/ops/attribute.h"
#include "ir/ops/rounding.h"
#include "ir/program.h"
#include "ir/tensor.h"

namespace pet {

/// A position in a tensor: per dimension, one digit per atom.
using Index = std::vector<std::vector<Expr>>;

/// An exact coefficient, always reduced with a positive denominator.
struct Rational {
  int64_t numerator = 1;
  int64_t denominator = 1;
  friend Rational operator*(Rational a, Rational b) {
    int64_t n = checkedMul(a.numerator, b.numerator), d = checkedMul(a.denominator, b.denominator);
    int64_t g = std::gcd(n, d);
    return g == 0 ? Rational{0, 1} : Rational{n / g, d / g};
  }
  friend Rational operator+(Rational a, Rational b) {
    int64_t n = checkedAdd(checkedMul(a.numerator, b.denominator), checkedMul(b.numerator, a.denominator));
    return Rational{n, 1} * Rational{1, checkedMul(a.denominator, b.denominator)};
  }
  friend bool operator==(const Rational&, const Rational&) = default;
};

/// The exact value of a number, if it is a fraction n / 2^k with |n| < 2^31 and k <= 20.
std::optional<Rational> asRational(double number);

struct OperandRead {
  int operand = 0;
  Index at;
};

/// A number that depends on nothing but its key, its parameters and a position: 1 / (the extent of a mean), 1 / (the
/// positions that a window counts), an entry of a resampling matrix (docs/semantics.md, Functions, maxima, numbers).
/// Two of them are equal where all three are.
struct ConstantRead {
  std::string key;               ///< the formula's name with every attribute that it depends on
  std::vector<Expr> parameters;  ///< in shape symbols
  std::vector<Expr> at;
  /// Reduction indices of the same piece: over them, for each value of everything else, the numbers add up to 1.
  std::vector<std::string> sumsToOne = {};
  /// The number, where it is a fraction; null: known by its key alone.
  Rational (*value)(std::span<const int64_t> parameters, std::span<const int64_t> at) = nullptr;
  bool positive = false;  ///< the number is > 0, whatever the parameters
};

/// One piece of an operator's access relation: out[v] += Σ_{reduction in domain} coefficient · Π constants · Π
/// operand[at]. The domain holds the bounds of the reduction indices and the in-range conditions of the reads.
struct AccessPiece {
  Rational coefficient = {};
  std::vector<std::string> reduction = {};
  std::vector<Constraint> domain = {};
  std::vector<OperandRead> reads = {};
  std::vector<ConstantRead> constants = {};
  /// The value is -inf in the domain; there are no reads, no reduction.
  bool minusInfinity = false;
};

/// Fresh index names, deterministic in the order of requests: "c_1", "r_2", …
class NameSource {
 public:
  std::string fresh(std::string_view stem) { return std::string(stem) + "_" + std::to_string(++next_); }

 private:
  int next_ = 0;
};

/// The view that a row's functions have of a node under construction or evaluation.
struct OpView {
  const Attributes& attributes;
  std::span<const Shape> operands;
  std::span<const Shape> outputs;  ///< empty during shape inference

  const Expr& scalar(std::string_view name) const { return std::get<Expr>(attributes.find(name)->second); }
  const std::vector<Expr>& list(std::string_view name) const {
    return std::get<std::vector<Expr>>(attributes.find(name)->second);
  }
  double number(std::string_view name) const { return std::get<double>(attributes.find(name)->second); }
  const std::string& text(std::string_view name) const { return std::get<std::string>(attributes.find(name)->second); }
};

/// A node with its symbols bound, as evaluation sees it.
struct ConcreteNode {
  const Attributes& attributes;
  const Bindings& symbols;
  std::vector<Shape> operands;  ///< as the program knows them: with atoms
  std::vector<Extents> outputs;

  /// Attribute values under the bindings (all symbols are bound: evaluate() checks before).
  int64_t scalar(std::string_view name) const;
  Extents list(std::string_view name) const;
  double number(std::string_view name) const { return std::get<double>(attributes.find(name)->second); }
  const std::string& text(std::string_view name) const { return std::get<std::string>(attributes.find(name)->second); }
};

/// One node with its symbols bound, and the extents of its operands.
struct NodeExtents {
  const Node& node;
  ConcreteNode concrete;
  std::vector<Extents> operands;
};

template <class T>
using Kernel = Expected<std::vector<Tensor<T>>> (*)(const ConcreteNode&, std::span<const Tensor<T>* const>);

/// The evaluation of an operator over each scalar type; null where the operator has no meaning there.
struct Kernels {
  Kernel<float> f32 = nullptr;
  Kernel<double> f64 = nullptr;
  Kernel<int64_t> i64 = nullptr;
  Kernel<Fp> fp = nullptr;

  template <class T>
  Kernel<T> get() const {
    if constexpr (std::is_same_v<T, float>) return f32;
    if constexpr (std::is_same_v<T, double>) return f64;
    if constexpr (std::is_same_v<T, int64_t>) return i64;
    if constexpr (std::is_same_v<T, Fp>) return fp;
  }
};

/// Kernels of a functor with `template <class T> static Expected<vector<Tensor<T>>> run(node, operands)`, over the
/// exact rings and floating point, or over floating point only.
template <class F>
constexpr Kernels ringKernels() {
  return {&F::template run<float>, &F::template run<double>, &F::template run<int64_t>, &F::template run<Fp>};
}
/// For division.
template <class F>
constexpr Kernels fieldKernels() {
  return {&F::template run<float>, &F::template run<double>, nullptr, &F::template run<Fp>};
}
template <class F>
constexpr Kernels floatKernels() {
  return {&F::template run<float>, &F::template run<double>, nullptr, nullptr};
}
/// For max and comparisons, which have no meaning over F_p.
template <class F>
constexpr Kernels orderedKernels() {
  return {&F::template run<float>, &F::template run<double>, &F::template run<int64_t>, nullptr};
}

/// Declared facts about an operator as a function of its first operand, each covered by a test (docs/architecture.md,
/// The operator table).
struct Facts {
  bool elementwise = false;     ///< one function of one operand, the same at every position
  bool zeroPreserving = false;  ///< f(0) = 0
  bool monotone = false;
  bool idempotent = false;
  bool homogeneous = false;           ///< f(a·x) = a·f(x) for a >= 0
  bool ignoresMinusInfinity = false;  ///< f(-inf) = 0
  bool nonNegative = false;           ///< f(x) >= 0 where it has a value
  bool positive = false;              ///< f(x) > 0 for every real x
  // Laws that are used where a proof says that it unfolds the operator (docs/rule-language.md, Unfolding).
  bool odd = false;           ///< f(-x) = -f(x)
  bool exponential = false;   ///< f(x + y) = f(x) f(y)
  bool positivePart = false;  ///< f(x) is the larger of x and 0
  /// What must hold of x for f(x) to have a value.
  enum class Domain { kEverything, kNotZero, kNonNegative, kPositive } domain = Domain::kEverything;
};

/// What the pieces of a row's access relation mean, or what stands in for them.
enum class Meaning {
  kSum,       ///< addends; without `access` and `lower` the operator is opaque
  kMaximum,   ///< out[v] is the largest of all operand[at]: one read each, coefficient 1
  kFunction,  ///< position by position a function of the operands, which broadcast; no pieces
};

/// What an operator computes for one element, in multiply-adds.
enum class Work {
  kElement,     ///< one for each element that it makes
  kFilters,     ///< each output element: the weights of one of the filters (Conv)
  kWeights,     ///< each output element: all weights (a frame's window)
  kSignal,      ///< each output element: a whole signal, the first operand along `axis` (DFT, CumSum)
  kTransposed,  ///< each input element: the weights of one of the input channels (ConvTranspose)
  kColumns,     ///< each output element: a row of the first operand (MatMul)
  kLabels,      ///< each choice of a position for every label of the equation (Einsum)
  kWindow,      ///< each output element: a kernel_shape
  kWholeInput,  ///< each input element once (a reduction)
  kTaps,        ///< each output element: the neighbours that it is interpolated from (Resize)
};

/// What an operator is in ONNX's own domain, as far as it is the same there: its name, the first opset in which it can
/// be written, and the attributes that it shares, in the order of the operands that they become.
struct OnnxSignature {
  int64_t since = 0;  ///< 0: ONNX has no such operator
  /// Nullopt: the operator's own.
  std::optional<std::vector<OnnxAttribute>> attributes = std::nullopt;
};

/// One row of the operator table.
struct OpRow {
  std::string_view name;  ///< ONNX's name where it has one
  int minOperands;
  int maxOperands;  ///< -1: any number
  std::vector<AttributeSpec> attributes;
  /// Output shapes; errors name the shapes that clash.
  Expected<std::vector<Shape>> (*infer)(const OpView&);
  /// Facts about the shape symbols under which the row's meaning is the operator's (pads >= 0, slices in range, carries
  /// of product dimensions in {-1, 0, 1}); a rule must imply them all on its class. Null: none.
  std::vector<Constraint> (*obligations)(const OpView&) = nullptr;
  /// The access relation at output `output`, position `at`; kUnsupported (unknown to the prover) where it is not a sum
  /// of products. Null: opaque.
  Expected<std::vector<AccessPiece>> (*access)(const OpView&, int output, const Index& at, NameSource&) = nullptr;
  /// The same value by other operators, for operators that are not primitive (Softmax is Exp, ReduceSum, Reciprocal and
  /// Mul).
  Expected<Value> (*lower)(ProgramBuilder&, const OpView&, std::span<const Value> operands) = nullptr;
  /// The same value by functions without a definition of their own, all of which have a value there: what stands for
  /// the operator where a proof unfolds it. kUnsupported: not with these attributes. Null: nothing simpler is known.
  Expected<Value> (*definition)(ProgramBuilder&, const OpView&, std::span<const Value> operands) = nullptr;
  /// With these attributes the definition has at most one term that is not 0, whatever the operands: nothing in it
  /// cancels. Null: it may.
  bool (*neverCancels)(const OpView&) = nullptr;
  Meaning meaning = Meaning::kSum;
  Kernels kernels = {};
  Facts facts = {};
  Work work = Work::kElement;
  /// A layout operator moves values and computes nothing: at most one of its pieces holds at a position, and that piece
  /// copies. (It counts as layout in a mutant's depth.)
  bool layout = false;
  /// Positions that no piece reaches hold zero; a layout operator without this reaches all of them.
  bool fills = false;
  Rounding rounding = {};
  OnnxSignature onnx = {};

  bool is(OpName other) const { return name == other.text; }
};

/// Finds a row by name; null if there is none.
const OpRow* findOp(std::string_view name);
/// All rows, sorted by name.
std::span<const OpRow* const> operatorTable();

/// 0 <= digit < atom for every digit.
void requireInRange(const Index& at, const Shape& shape, std::vector<Constraint>& into);

}  // namespace pet
