#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "runtime/onednn/aligned_floats.h"
#include "runtime/onednn/form.h"
#include "runtime/onednn/onednn.h"
#include "runtime/onednn/step.h"
#include "runtime/plan/planner.h"

namespace pet::onednn {

using namespace plan;  // this engine is a part of it

/// Plans on one processor: oneDNN's primitives, and kernels of ours between them.
class Planner : public plan::Planner {
 public:
  Planner(const Program& program, const OneDnnOptions& options);

  const OneDnnOptions& options() const { return options_; }
  const dnnl::engine& engine() const { return engine_; }
  const dnnl::stream& stream() const { return stream_; }

  /// A primitive step; its scratchpad is part of the planned memory.
  std::unique_ptr<PrimitiveStep> primitive(const dnnl::primitive& p, const dnnl::memory::desc& scratchpad);
  /// Numbers in the form a primitive wants.
  FixedMemory prepared(const Tensor<float>& tensor, const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
    return prepared(tensor.data.data(), from, to);
  }
  FixedMemory prepared(const void* numbers, const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  /// A constant in the form `to`, one for all that ask for it: layers may have their weights in common. Numbers that
  /// have this form are copied only if that is asked for: to large pages, which pays where bands of rows read them
  /// again and again.
  FixedMemory shared(Value constant, const dnnl::memory::desc& from, const dnnl::memory::desc& to, bool copies);
  /// An argument of a primitive that is a constant in the form `to`: of its numbers, or of what `change` makes of them.
  /// They are not copied where that is the form that they have, and made anew at each run with options().once.
  using Change = std::function<Tensor<float>(const StoredFloats&)>;
  void addConstant(PrimitiveStep& step,
                   int argument,
                   Value constant,
                   const Change& change,
                   const dnnl::memory::desc& from,
                   const dnnl::memory::desc& to);

  std::optional<Taking> taking(int n) const override;
  bool lowerNode(int n, const Epilogue& epilogue) override;
  std::vector<int> groupOf(int n) override;
  bool lowerGroup(const std::vector<int>& members) override;
  bool fuses(int n) const override;
  bool lowerFused(const std::vector<int>& members) override;
  void emitCopy(const Place& from, const Place& to) override;
  bool emitSum(const Place& to, const std::vector<Place>& from, const Epilogue& epilogue) override;
  void emitReference(int n, std::vector<ReferenceOperand> operands, std::vector<int> into) override;

 private:
  /// Constants that are kept, in the form of one argument.
  struct Shared {
    dnnl::memory::desc from, to;
    bool copies;
    FixedMemory memory;
  };
  /// Where they are, if they have this form.
  FixedMemory formed(const StoredFloats& numbers, const dnnl::memory::desc& from, const dnnl::memory::desc& to);

  OneDnnOptions options_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  FloatPool prepared_;  ///< constants in the forms that primitives want
  std::map<Value, std::vector<Shared>> shared_;
};

}  // namespace pet::onednn
