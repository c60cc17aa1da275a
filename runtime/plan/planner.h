#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/ops/op.h"
#include "ir/program.h"
#include "ir/tensor.h"
#include "runtime/plan/access.h"
#include "runtime/plan/constants.h"
#include "runtime/plan/epilogue.h"
#include "runtime/plan/step.h"
#include "runtime/prepared.h"

namespace pet::plan {

/// Where a value is.
struct Place {
  int buffer = -1;
  Access access;
};

/// Each element lies at the same position.
inline bool liesAt(const Place& there, const Place& wanted) {
  return there.buffer == wanted.buffer && there.access.offset == wanted.access.offset &&
         sameForm(there.access, wanted.access);
}

struct Buffer {
  enum class Kind { kArena, kInput, kOutput, kConstant };
  Kind kind = Kind::kArena;
  int64_t elements = 0;
  int index = 0;    ///< of the input, output or placed constant
  int parent = -1;  ///< lies in another buffer, from `offset` on
  int64_t offset = 0;
};

/// Why a node is not computed by a library or a kernel of the engine. Thrown by lowerings, caught by the planner.
struct NotLowered {
  std::string reason;
};

/// Turns a program into steps: what is a view, what is computed together, what is written in place, where values lie.
/// An engine is a class derived from it: what it computes an operator with, how it copies and sums. Its lowerings see
/// one node at a time, ask where its operands are, emit steps and say where its results are.
class Planner {
 public:
  explicit Planner(const Program& program);
  virtual ~Planner() = default;
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  /// `late`: large constants are not all asked for now, but some by steps as they run: `weights` is kept.
  Expected<void> plan(const Weights& weights, bool late);

  // --- For lowerings. ---

  const Program& program() const { return program_; }
  const Node& node(int n) const { return program_.nodes()[static_cast<size_t>(n)]; }
  Extents extents(Value v) const;
  /// The list or number of an attribute.
  Extents list(int n, std::string_view name) const;
  int64_t scalar(int n, std::string_view name) const { return node(n).scalar(name).constant(); }
  bool isConstant(Value v) const { return constants_->contains(v); }
  /// The numbers of a value that is still to be read, where it is a constant; else null.
  const Tensor<float>* constant(Value v) const { return isConstant(v) ? constants_->value(v).get() : nullptr; }

  const Place& place(Value v);
  /// The value has been lowered, or is a constant that was placed.
  bool hasPlace(Value v) const { return places_.contains(v); }
  /// The value in this form: where it is, or a copy that is made once.
  Place as(Value v, const Access& form);
  /// The value lies in this form, or has been copied to it.
  bool exists(Value v, const Access& form);
  /// As as(), for a tensor that is no value of the program; a copy is made each time.
  Place as(const Place& there, const Access& form);
  /// The same for an operand that a lowering sees elsewhere, without its pads.
  Place windowOperand(Value v, const Place& seen, const Access& form) {
    return seen.access.extents() == extents(v) ? as(v, form) : as(seen, form);
  }
  /// The value somewhere dense, in the order that it has.
  Place dense(Value v);
  /// A place of this form that holds the value and may be overwritten, apart from the buffers `busy`.
  Place accumulator(Value v, const Access& form, const std::vector<int>& busy);
  /// A new buffer for a tensor of this dense form.
  Place create(const Access& form);
  int createBuffer(int64_t elements);
  /// Where a result may be written: over this operand, if nobody needs that any more, or in a new buffer of its form.
  Place overOrLike(const Place& operand) { return isFree(operand) ? operand : create(operand.access); }
  void define(Value v, Place place);
  void emit(std::unique_ptr<Step> step) {
    step->lowered = lowered_;
    steps.push_back(std::move(step));
  }
  void copy(const Place& from, const Place& to) { emitCopy(from, to); }
  /// No node that is still to be lowered reads the place's buffer, and we may write to it.
  bool isFree(const Place& place);
  /// The places in a buffer whose values are read by nodes that are still to be lowered.
  std::vector<Place> stillRead(int buffer);
  /// Makes a buffer that holds nothing but this a part of another buffer, if it has the form `at` there.
  bool adopt(const Place& part, int whole, const Access& at);
  /// A node that is still to be lowered reads the value itself.
  bool isRead(Value v) const { return uses_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)] > 0; }
  /// The node that reads this node's results; nothing: more than one does, or none.
  std::optional<int> onlyReader(int n) const;
  /// Each reader of the node's results is such a node; -1: an output.
  bool isReadBy(int n, const std::function<bool(int)>& which) const;
  /// What a ReduceSum along the one axis of a Concat adds, where the parts have one position there and nothing else
  /// reads the Concat: its parts; else nothing.
  std::vector<Value> stackedAddends(int n) const;
  /// The node moves elements of its operand, and perhaps puts zeros around them.
  bool isMove(int n) const;
  /// The node is a Pad with one number.
  bool fills(int n) const;
  /// Where the result of such a node would be, were its operand there; nothing: only a copy could be.
  std::optional<Place> moved(int n, const Place& operand);
  /// One other node reads the node, and it is no output.
  bool isReadOnce(int n) const { return onlyReader(n).has_value(); }
  /// An operand of the node, or of a node that may be computed with it, lies in this root buffer, also as a copy.
  bool readsFrom(int n, int buffer) const;
  void note(int n, std::string how) { notes[static_cast<size_t>(n)].how = std::move(how); }
  int root(int buffer) const;

  // --- What an engine is. ---

  /// How an operator takes what follows it.
  struct Taking {
    /// Which dimension of the result an epilogue's scale and shift go along.
    size_t channel = 0;
    /// Takes an epilogue before others may: the operator is heavy.
    bool heavy = false;
  };
  /// Of offsets in buffers at which a result may lie, in elements.
  virtual int64_t alignment() const { return 1; }
  /// Nothing: it takes no epilogue.
  virtual std::optional<Taking> taking(int n) const = 0;
  /// Emits the node's steps, with the epilogue, and defines epilogue.result. False: not with this epilogue; throws
  /// NotLowered where not at all.
  virtual bool lowerNode(int n, const Epilogue& epilogue) = 0;
  /// The nodes that one call computes, in order, of which `n` is the last and nothing else reads the others; none: it
  /// is not the last of such. Asked before anything is lowered.
  virtual std::vector<int> groupOf(int) { return {}; }
  /// Emits this call and defines the last one's result. False: the nodes are lowered one by one.
  virtual bool lowerGroup(const std::vector<int>&) { return false; }
  /// The node is element-wise, and lowerFused() may take it.
  virtual bool fuses(int) const { return false; }
  /// Emits one pass over memory for nodes that fuse, of equal extents, and defines the last one's result; each of the
  /// others is read by later ones alone. False: not these.
  virtual bool lowerFused(const std::vector<int>&) { return false; }
  /// How many operands lowerFused() reads through views, too: then it is asked for nodes with views between them, whose
  /// extents may differ, and for sums of what a Concat stacks, with it. 0: it is not.
  virtual size_t fusedThroughViews() const { return 0; }
  /// to[v] = from[v] for every position v.
  virtual void emitCopy(const Place& from, const Place& to) = 0;
  /// to[v] = Σ_k from_k[v], where a filled position of an addend adds nothing and its fill is 0, with the epilogue, of
  /// which dimension 1 has the channels. `to` is dense. False: not with this epilogue. Throws NotLowered: too many.
  virtual bool emitSum(const Place& to, const std::vector<Place>& from, const Epilogue& epilogue) = 0;
  /// The node by the reference, on row-major operands and results from offset 0 of a buffer each.
  struct ReferenceOperand {
    int buffer;
    int64_t offset;
    Extents extents;
  };
  virtual void emitReference(int n, std::vector<ReferenceOperand> operands, std::vector<int> into) = 0;

  // --- Results. ---

  std::vector<Buffer> buffers;
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<EngineNote> notes;
  std::vector<TensorRef<float>> placed;  ///< constants that steps read where they are
  std::vector<Place> results;            ///< per output of the program: row-major, from offset 0 of a buffer of its own

 protected:
  Constants& constants() { return *constants_; }

 private:
  Expected<void> lowerAll();
  void releaseConstants();
  void findChains();
  void findGroups();
  void findChains(bool heavy);
  void findSums();
  void findFused();
  /// What the node takes behind it, by the row for all engines or by the engine's.
  std::optional<Taking> takes(int n) const;
  bool lowerBy(int n, const Epilogue& epilogue);
  Expected<void> lower(int n);
  Expected<void> lowerSlicesOf(int n);
  void checkNotEmpty(int n) const;
  void tryLowering(int n);
  Expected<void> lowerChain(int anchor);
  void lowerSums(int last);
  Expected<void> lowerTogether(int last);
  Expected<void> byReference(int n, const std::string& reason);
  void release(int n);
  void dropConstants(int n);
  /// Forgets the steps from `steps` on, and the copies they make.
  struct Mark {
    size_t steps, copies;
  };
  Mark mark() const { return {steps.size(), copied_.size()}; }
  void rollBack(const Mark& mark);
  void placeResults();

  const Program program_;
  std::vector<std::vector<int>> uses_;     ///< per value: reads that are still to be lowered
  std::vector<std::vector<int>> readers_;  ///< per node: all nodes that read it; -1: an output
  std::unique_ptr<Constants> constants_;
  int lowered_ = -1;  ///< the node that is being lowered
  std::map<Value, Place> places_;
  std::map<Value, std::vector<Place>> copies_;   ///< the forms that a value also exists in
  std::vector<Value> copied_;                    ///< the keys of `copies_`, in the order of copying
  std::map<int, std::vector<Value>> residents_;  ///< the values in each root buffer, also as copies
  std::vector<int> chainOf_;                     ///< per node: the anchor it is computed with, or -1
  std::map<int, std::vector<Value>> sums_;  ///< per Add that is the last of several, or ReduceSum: all that it adds
  std::set<int> groups_;                    ///< the last nodes of those that one call computes
  std::set<int> fused_;                     ///< the last nodes of those that are computed in one pass
  std::map<int, std::vector<int>> chains_;  ///< per anchor: the nodes that may be computed with it, in order
};

/// A row of an engine's table of lowerings.
template <class EnginePlanner>
struct LowerRowOf {
  std::string_view op;
  /// As Planner::lowerNode().
  bool (*lower)(EnginePlanner&, int node, const Epilogue&);
  /// Planner::Taking::channel. Null: takes no epilogue.
  size_t (*channel)(const Planner&, int node) = nullptr;
  bool heavy = false;  ///< Planner::Taking::heavy
};

/// What Planner::taking() says of a node with this row; null: it has none.
template <class Row>
std::optional<Planner::Taking> takingOf(const Planner& p, int n, const Row* row) {
  if (!row || !row->channel) return std::nullopt;
  return Planner::Taking{row->channel(p, n), row->heavy};
}

/// What LowerRowOf::channel is for most: dimension 1, and the last one.
inline size_t channelDimension(const Planner&, int) {
  return 1;
}
inline size_t lastDimension(const Planner& p, int node) {
  return std::max<size_t>(1, p.extents({node, 0}).size()) - 1;
}

/// Throws NotLowered: the shape has a symbol.
Extents concreteExtents(const Shape& shape);
/// There are no elements.
inline bool isEmpty(const Extents& extents) {
  return std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e < 1; });
}

/// Operators that are lowered the same way for every engine: those that only move values (views.cc), Concat, of which
/// parts are computed in place (concat.cc), sums of many values (sums.cc).
struct SharedLowering {
  std::string_view op;
  /// False: the engine's own lowering is asked. Throws NotLowered. Null: `lowerWith` is the only one.
  bool (*lower)(Planner&, int node);
  /// As Planner::lowerNode(), of which dimension 1 has the channels. Null: it takes no epilogue.
  bool (*lowerWith)(Planner&, int node, const Epilogue&) = nullptr;
};
const SharedLowering* findShared(std::string_view op);
std::span<const SharedLowering> viewLowerings();
std::span<const SharedLowering> concatLowerings();
std::span<const SharedLowering> sumLowerings();

}  // namespace pet::plan
