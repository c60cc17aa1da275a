#include "runtime/onednn/float_engine.h"

#include <memory>

#include "ir/shape.h"
#include "runtime/onednn/onednn.h"

namespace pet {

FloatEngine oneDnnFloatEngine(int threads) {
  return [threads](const Program& program, const Weights& weights) -> Expected<FloatRun> {
    for (Value input : program.inputs()) {  // the planner takes numbers only
      if (!asConstants(program.shape(input)))
        return fail(ErrorKind::kUnsupported, "it leaves extents open", program.name(input));
    }
    auto prepared = OneDnnModel::prepare(program, weights, {.threads = threads, .winograd = false, .once = true});
    if (!prepared) return tl::unexpected(prepared.error());
    auto model = std::make_shared<OneDnnModel>(std::move(*prepared));
    return [model](const TensorMap& inputs, const ReportShare& progress) { return model->run(inputs, progress); };
  };
}

}  // namespace pet
