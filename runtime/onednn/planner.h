#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/ops/op.h"
#include "ir/program.h"
#include "ir/tensor.h"
#include "runtime/onednn/access.h"
#include "runtime/onednn/constants.h"
#include "runtime/onednn/form.h"
#include "runtime/onednn/onednn.h"
#include "runtime/onednn/step.h"

namespace pet::onednn {

/// Where a value is.
struct Place {
  int buffer = -1;
  Access access;
};

struct Buffer {
  enum class Kind { kArena, kInput, kOutput, kConstant };
  Kind kind = Kind::kArena;
  int64_t floats = 0;
  int index = 0;    ///< of the input, output or placed constant
  int parent = -1;  ///< lies in another buffer, from `offset` on
  int64_t offset = 0;
};

/// Why a node is not computed by oneDNN or a kernel of ours. Thrown by lowerings, caught by the planner.
struct NotLowered {
  std::string reason;
};

/// Turns a program into steps. Lowerings (the table in lowerings.h) see one node at a time, ask where its operands are,
/// emit steps and say where its results are.
class Planner {
 public:
  Planner(const Program& program, const OneDnnOptions& options);

  Expected<void> plan(const InputSource<float>& weights);

  // --- For lowerings. ---

  const Program& program() const { return program_; }
  const Node& node(int n) const { return program_.nodes()[static_cast<size_t>(n)]; }
  const OneDnnOptions& options() const { return options_; }
  const dnnl::engine& engine() const { return engine_; }
  const dnnl::stream& stream() const { return stream_; }
  Extents extents(Value v) const;
  /// The list or number of an attribute.
  Extents list(int n, std::string_view name) const;
  int64_t scalar(int n, std::string_view name) const { return node(n).scalar(name).constant(); }
  bool isConstant(Value v) const { return constants_->contains(v); }
  /// The numbers of a value that is still to be read, where it is a constant; else null.
  const Tensor<float>* constant(Value v) const { return isConstant(v) ? constants_->value(v).get() : nullptr; }

  const Place& place(Value v);
  /// The value in this form: where it is, or a copy that is made once.
  Place as(Value v, const Access& form);
  /// The same for a tensor that is no value of the program; a copy is made each time.
  Place as(const Place& there, const Access& form);
  /// The same for an operand that a lowering sees elsewhere, without its pads.
  Place windowOperand(Value v, const Place& seen, const Access& form) {
    return seen.access.extents() == extents(v) ? as(v, form) : as(seen, form);
  }
  /// A place of this form that holds the value and may be overwritten, apart from the buffers `busy`.
  Place accumulator(Value v, const Access& form, const std::vector<int>& busy);
  /// A new buffer for a tensor of this dense form.
  Place create(const Access& form);
  int createBuffer(int64_t floats);
  void define(Value v, Place place);
  void emit(std::unique_ptr<Step> step) { steps.push_back(std::move(step)); }
  void copy(const Place& from, const Place& to);
  /// No node that is still to be lowered reads the place's buffer, and we may write to it.
  bool isFree(const Place& place);
  /// The places in a buffer whose values are read by nodes that are still to be lowered.
  std::vector<Place> stillRead(int buffer);
  /// Makes a buffer that holds nothing but this a part of another buffer, if it has the form `at` there.
  bool adopt(const Place& part, int whole, const Access& at);
  /// A node that is still to be lowered reads the value itself.
  bool isRead(Value v) const { return uses_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)] > 0; }
  void note(int n, std::string how) { notes[static_cast<size_t>(n)].how = std::move(how); }
  /// A primitive step; its scratchpad is part of the planned memory.
  std::unique_ptr<PrimitiveStep> primitive(const dnnl::primitive& p, const dnnl::memory::desc& scratchpad);
  /// Numbers in the form a primitive wants.
  dnnl::memory prepared(const Tensor<float>& tensor, const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  /// An argument of a primitive that is a constant in the form `to`: of its numbers, or of what `change` makes of them.
  /// They are not copied where that is the form that they have, and made anew at each run with options().once.
  using Change = std::function<Tensor<float>(const Tensor<float>&)>;
  void addConstant(PrimitiveStep& step,
                   int argument,
                   Value constant,
                   const Change& change,
                   const dnnl::memory::desc& from,
                   const dnnl::memory::desc& to);
  int root(int buffer) const;

  // --- Results. ---

  std::vector<Buffer> buffers;
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<EngineNote> notes;
  std::vector<TensorRef<float>> placed;  ///< constants that steps read where they are
  std::vector<Place> results;            ///< per output of the program: row-major, from offset 0 of a buffer of its own

 private:
  Expected<void> lowerAll();
  void releaseConstants();
  void findChains();
  void findChains(bool heavy);
  void findSums();
  Expected<void> lower(int n);
  Expected<void> lowerChain(int anchor);
  Expected<void> lowerSums(int last);
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
  OneDnnOptions options_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<std::vector<int>> uses_;     ///< per value: reads that are still to be lowered
  std::vector<std::vector<int>> readers_;  ///< per node: all nodes that read it; -1: an output
  std::unique_ptr<Constants> constants_;
  std::map<Value, Place> places_;
  std::map<Value, std::vector<Place>> copies_;   ///< the forms that a value also exists in
  std::vector<Value> copied_;                    ///< the keys of `copies_`, in the order of copying
  std::map<int, std::vector<Value>> residents_;  ///< the values in each root buffer, also as copies
  std::vector<int> chainOf_;                     ///< per node: the anchor it is computed with, or -1
  std::map<int, std::vector<Value>> sums_;       ///< per Add that is the last of several: all that it adds
  std::map<int, std::vector<int>> chains_;       ///< per anchor: the nodes that may be computed with it, in order
};

}  // namespace pet::onednn
