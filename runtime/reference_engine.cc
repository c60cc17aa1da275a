#include <algorithm>

#include "ir/ops/op.h"
#include "runtime/prepared.h"

namespace pet {
namespace {

class ReferenceProgram final : public PreparedProgram {
 public:
  static Expected<std::unique_ptr<PreparedProgram>> make(const Program& program, const InputSource<float>& weights) {
    auto prepared = std::make_unique<ReferenceProgram>();
    prepared->program_ = program;
    for (Value v : program.inputs()) {
      const std::string& name = program.name(v);
      if (program.node(v).scalar("constant") == Expr(0)) {
        prepared->inputs_.push_back(v);
        continue;
      }
      TensorRef<float> weight = weights(name);
      if (!weight) return fail(ErrorKind::kModel, "no value for the weight", name);
      prepared->weights_.emplace(name, std::move(weight));
    }
    return prepared;
  }

  Expected<void> run(std::span<const float* const> inputs, std::span<float* const> outputs) override {
    TensorMap given;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Tensor<float> tensor(asConstants(program_.shape(inputs_[i])).value());
      std::copy_n(inputs[i], tensor.data.size(), tensor.data.begin());
      given.emplace(program_.name(inputs_[i]), std::move(tensor));
    }
    auto results = execute<float>(program_, {}, [&](std::string_view name) -> TensorRef<float> {
      if (auto weight = weights_.find(name); weight != weights_.end()) return weight->second;
      auto input = given.find(name);
      return input == given.end() ? nullptr : borrow(input->second);
    });
    if (!results) return tl::unexpected(results.error());
    for (size_t i = 0; i < results->size(); ++i)
      std::copy((*results)[i]->data.begin(), (*results)[i]->data.end(), outputs[i]);
    return {};
  }

  std::vector<EngineNote> notes() const override {
    std::vector<EngineNote> notes;
    for (const Node& n : program_.nodes()) {
      if (!n.is(ops::kInput)) notes.push_back({n.names[0], std::string(n.op->name), "the reference", true});
    }
    return notes;
  }
  int64_t arenaFloats() const override { return 0; }

 private:
  Program program_;
  std::vector<Value> inputs_;
  std::map<std::string, TensorRef<float>, std::less<>> weights_;
};

}  // namespace

ProgramEngine referenceEngine() {
  return ReferenceProgram::make;
}

}  // namespace pet
