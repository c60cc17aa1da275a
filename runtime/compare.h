#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/counterparts.h"
#include "runtime/reference/reference.h"
#include "runtime/weights.h"

// Whether two programs compute the same, by execution (docs/semantics.md, Checks by execution). Four ways, since each
// finds errors that another misses: integers are exact, whatever the length of the sums; real weights are those of the
// user's model; values of all magnitudes show a difference behind a threshold; the whole model is what the user runs.
// A fifth is for programs that only move values, or sum integers.
// Both programs have inputs of the same names and extents, all symbols bound.
namespace pet {

struct Comparison {
  enum class Verdict { kHolds, kFails, kNotPossible };
  Verdict verdict = Verdict::kHolds;
  std::string reason;  ///< why it fails (where, which values) or was not possible; empty where it holds
  std::string scope;   ///< what was compared, for people
  double worst = 0;    ///< the largest difference, in units of the largest that is allowed
  bool holds() const { return verdict == Verdict::kHolds; }
};

/// The verdict that nothing was compared: a program could not be made, or not be evaluated.
Comparison notPossible(const Error& error);

/// A program that is ready to run in float: results in the order of its outputs.
using FloatRun =
    std::function<Expected<std::vector<Tensor<float>>>(const TensorMap& inputs, const ReportShare& progress)>;
/// Makes whole programs ready, to run faster than by the reference. Any error, then or later, means that it cannot.
using FloatEngine = std::function<Expected<FloatRun>(const Program&, const Weights& weights)>;

/// Positions lower, lower + step, … < upper of one dimension.
struct PositionRange {
  int64_t lower = 0, upper = 0, step = 1;
};
/// A box of the pattern's output, one range per dimension.
using PositionBox = std::vector<PositionRange>;

struct ProbeOptions {
  uint64_t seed = 0;
  int dense = 2;  ///< probes of random numbers
  /// Of the pattern's first output: each gets a probe of impulses along its borders.
  std::vector<PositionBox> boxes = {};
  /// Sums of |terms| stay below this, so that float is exact; 2^11 for half precision.
  double exactBelow = 0x1p24;
  /// Up to so many multiply-adds, the first probe is evaluated in F_p or int64 as well.
  int64_t ringWork = int64_t{1} << 27;
  /// Beyond so many, there is only one dense probe.
  int64_t denseWork = int64_t{1} << 30;
  /// One dense probe, in float alone: kNotPossible where that is not exact.
  bool quick = false;
  /// Runs the probes in float: what it finds equal is. Else, or where it is null, the reference decides.
  FloatEngine engine = nullptr;
};

/// Integer inputs and weights, chosen so that every partial sum is exact; results must be equal, at every position, up
/// to 16 roundings where they are no integers (HardSwish divides by 6).
/// Dense probes have no zeros, so that a missing or a wrong tap changes the sum; where a maximum is taken, there is one
/// of negative activations, which shows the values of pads; impulse probes are zero except along the borders of tensors
/// and boxes. Where a mean is taken, activations are multiples of its divisor. In float, and in a ring (F_p, else
/// int64) where all operators have one; in the ring alone where sums are too long to be exact in float. In F_p alone,
/// one probe of random residues.
Comparison compareIntegerProbes(const Program& pattern,
                                const Program& replacement,
                                const Bindings& symbols,
                                const ProbeOptions& options = {});

struct RealOptions {
  uint64_t seed = 0;
  bool inFloat = true;
  /// The same bound with u = 2^-53, which no missing term can pass.
  bool inDouble = true;
  bool spreadsNan = false;  ///< the rule's: where the pattern makes a NaN inside, the replacement may have more
  /// Null: the reference runs both. Else |M - P| <= floor · max|P| in float on this engine decides first; where that
  /// does not hold, the reference does.
  FloatEngine engine = nullptr;
  double floor = 0x1p-20;
  /// The replacement as the engine runs it, with weights that it makes as further constant inputs, and those by name.
  /// Null: as it is.
  const Program* prepared = nullptr;
  InputSource<float> made = nullptr;
};

/// The model's weights (constant inputs, by name) and random activations in [-1, 1), or those in `tensors` as well:
///
///     |M - P| <= error of M + error of P,    element by element, the running error bounds of runtime/bounded.h.
///
/// An element without a value or a bound in the pattern says nothing. kNotPossible: fewer than one in four of an output
/// can be compared, with activations of both signs and without.
///
/// With an engine the results as wholes are compared first, output by output: no bound is needed where they agree to
/// some units of float of the largest value.
Comparison compareRealWeights(const Program& pattern,
                              const Program& replacement,
                              const Bindings& symbols,
                              const TensorMap& tensors,
                              const RealOptions& options = {});

struct ScaleOptions {
  uint64_t seed = 0;
  int draws = 24;  ///< at most
  /// So many multiply-adds in all, about; one draw is always done.
  int64_t work = int64_t{1} << 22;
  bool spreadsNan = false;  ///< as for compareRealWeights()
};

/// Activations beyond what a probe holds, in double precision, with the bound of compareRealWeights(): magnitudes from
/// float's denormals to 1e30, zeros, equal values, and both sides of every number in the two programs. The first draw
/// holds all of these, by slabs of the longest dimension; of the others, every second one is of one kind throughout.
/// Where there is room for all draws, more follow at magnitudes at which a value inside a program meets a number.
/// Weights are those in `tensors`, else in [-1, 1), without sign in every second draw. An element whose magnitudes are
/// beyond float's range in either program says nothing. kFails: in one draw they differ. kNotPossible: fewer than one
/// in four draws can be compared.
Comparison compareScales(const Program& pattern,
                         const Program& replacement,
                         const Bindings& symbols,
                         const TensorMap& tensors,
                         const ScaleOptions& options = {});

/// Integers by name: what stands for a tensor's values one to one.
using WholeTensors = std::map<std::string, Tensor<int64_t>, std::less<>>;

/// A program without symbols that moves values, in whatever type, and sums integers; what its inputs hold, as far as
/// that is given.
struct IntegerProgram {
  const Program& program;
  const WholeTensors& given;
};

/// Inputs that are summed, and the largest magnitude that they get.
using SummedInputs = std::map<std::string, int64_t, std::less<>>;

/// Inputs that are not given get numbers; results must be equal, in 64-bit integers. What is only moved gets numbers of
/// 62 bits, of which no two are equal but by chance: each result is shown to be the same position of the same input in
/// both. `summed` ones are of both signs, and none is 0.
Comparison compareIntegers(const IntegerProgram& original,
                           const IntegerProgram& rewritten,
                           const SummedInputs& summed,
                           uint64_t seed);

/// A model as a program, with its initializers by name.
struct ModelProgram {
  const Program& program;
  Weights weights;
  /// Rounds the results of a node to the precision in which the model keeps them. Null: float.
  std::function<void(int node, Tensor<float>&)> round = nullptr;
};

struct ModelOptions {
  uint64_t seed = 0;
  /// The rewritten model's error may be factor · the original's + floor · max|output|.
  double factor = 4;
  double floor = 0x1p-20;
  /// The least error that a part of the rewritten model may have, relative to its largest result: thousands of terms in
  /// another order.
  double partFloor = 0x1p-17;
  /// Null: the reference runs both models.
  FloatEngine engine = nullptr;
  /// The rewritten model's intermediate results need not be rounded to see that they round as the original's do: the
  /// engine may decide about models of 16 bits, too.
  bool sameRounding = false;
  /// What the rewritten model has of the original. None: that is not known.
  Counterparts counterparts = {};
  /// Of the original's values, at most so many are kept to run parts of the rewritten model by themselves.
  int64_t mostFloats = int64_t{1} << 28;
  /// They are kept from the first run if they are no more of all its values; else it runs again where they are needed.
  double keptShare = 1.0 / 3;
  /// Told the way in which it compares ("in float", "part by part", "in double"), and the share of that which is done.
  ReportProgress progress = nullptr;
};

/// Random values in [-1, 1), by name, for the inputs that are no weights; then one of two ways.
///
/// In float: `engine` runs both models, where there are no symbols, and where they are of 16 bits with `sameRounding`
/// only; what both compute alike it computes once. With P and M what it computes of the original and of the rewritten
/// one, |M - P| <= floor · max|P|, output by output, decides that they are alike. Whatever the exact result y is, M's
/// error is then at most P's and floor · max|P|, which is less than the other way allows. In a model that amplifies
/// roundings |M - P| may be more, up to 49 times, where each part of the rewritten one that is not the original's
/// passes by itself: it runs on what the original has there, and each of its results is within floor · max of what the
/// original has there. By induction over the parts M is then P with some results rounded otherwise. Where an output
/// depends on a comparison, |M - P| may be anything, if the parts pass.
///
/// In double, where there is no engine or it does not decide: the original in double precision is the truth; the
/// rewritten model's error in float, with each result rounded to the precision in which the model keeps it, may be
/// little larger than the original's. The reference runs all three. Where an output depends on a comparison, and not
/// one in 64 of its elements is off by more, rounding may have turned it, and nothing is said.
Comparison compareWholeModel(const ModelProgram& original,
                             const ModelProgram& rewritten,
                             const Bindings& symbols = {},
                             const ModelOptions& options = {});

}  // namespace pet
