#include "runtime/onednn/onednn_engines.h"

#include "runtime/onednn/byte_engine.h"

namespace pet {
namespace {

class OneDnnProgram final : public PreparedProgram {
 public:
  explicit OneDnnProgram(OneDnnModel model) : model_(std::move(model)) {}
  Expected<void> run(std::span<const float* const> inputs, std::span<float* const> outputs) override {
    return model_.execute(inputs, outputs);
  }
  Expected<std::vector<StepTime>> profile(std::span<const float* const> inputs,
                                          std::span<float* const> outputs) override {
    return model_.profile(inputs, outputs);
  }
  std::vector<EngineNote> notes() const override { return model_.notes(); }
  int64_t arenaFloats() const override { return model_.arenaSize(); }

 private:
  OneDnnModel model_;
};

ProgramEngine programEngine(const OneDnnOptions& options) {
  return [options](const Program& program,
                   const InputSource<float>& weights) -> Expected<std::unique_ptr<PreparedProgram>> {
    auto model = OneDnnModel::prepare(program, weights, options);
    if (!model) return tl::unexpected(model.error());
    return std::make_unique<OneDnnProgram>(std::move(*model));
  };
}

}  // namespace

Engines oneDnnEngines(const OneDnnOptions& options) {
  return {programEngine(options), oneDnnByteEngine(options.threads)};
}

}  // namespace pet
