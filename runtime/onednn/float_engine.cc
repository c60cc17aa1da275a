#include "runtime/onednn/float_engine.h"

#include "runtime/onednn/onednn.h"

namespace pet {

FloatEngine oneDnnFloatEngine(int threads) {
  return [threads](const Program& program, const InputSource<float>& weights, const TensorMap& inputs,
                   const ReportShare& progress) -> Expected<std::vector<Tensor<float>>> {
    auto model = OneDnnModel::prepare(program, weights, {.threads = threads, .winograd = false});
    if (!model) return tl::unexpected(model.error());
    return model->run(inputs, progress);
  };
}

}  // namespace pet
