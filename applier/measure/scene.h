#pragma once

#include "applier/onnx/model.h"
#include "ir/program.h"

namespace pet {

/// The name of a scene's site: of the pattern's (first) output.
inline constexpr const char* kSceneSite = "site";

/// What is beside a scene's site.
enum class Neighbours { kNone, kInFront, kBoth };

/// A pattern at concrete shapes as an ONNX model with random weights. With neighbours it is between operators that
/// leave their results in the engine's own layout and take them from there, or only behind such:
///
///     x = Relu(Conv(x', 1x1)),   pattern,   out = Conv(Relu(y), 1x1)     and alike with MatMul,
///
/// without the Relu where the pattern itself takes a function of x, or ends with one,
/// x' and out with few channels, so that the neighbours cost little. Values of up to 4 channels are a model's input or
/// output in real life, and are here. kUnsupported: an operator that ONNX has not at this opset.
Expected<Model> sceneOf(const Program& pattern, Neighbours neighbours, int opset);

}  // namespace pet
