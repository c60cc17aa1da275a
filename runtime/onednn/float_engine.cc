#include "runtime/onednn/float_engine.h"

#include <memory>

#include "runtime/onednn/onednn.h"

namespace pet {

FloatEngine oneDnnFloatEngine(int threads) {
  return [threads](const Program& program, const InputSource<float>& weights) -> Expected<FloatRun> {
    auto prepared = OneDnnModel::prepare(program, weights, {.threads = threads, .winograd = false, .once = true});
    if (!prepared) return tl::unexpected(prepared.error());
    auto model = std::make_shared<OneDnnModel>(std::move(*prepared));
    return [model](const TensorMap& inputs, const ReportShare& progress) { return model->run(inputs, progress); };
  };
}

}  // namespace pet
