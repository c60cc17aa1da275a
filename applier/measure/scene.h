#pragma once

#include <optional>

#include "applier/onnx/model.h"
#include "ir/program.h"
#include "rules/surroundings.h"

namespace pet {

/// The name of a scene's site: of the pattern's (first) output.
inline constexpr const char* kSceneSite = "site";

/// A pattern at concrete shapes as an ONNX model with random weights. Beside two neighbours it is between operators
/// that leave their results in the engine's own layout and take them from there:
///
///     x = Relu(Conv(x', 1x1)),   pattern,   out = Conv(Relu(y), 1x1)     and alike with MatMul,
///
/// without the Relu where the pattern itself takes a function of x, or ends with one, or with a choice by a comparison;
/// nothing reads y where it is of integers;
/// x' and out with few channels, so that the neighbours cost little. Values of up to 4 channels are a model's input or
/// output in real life, and are here. Where it is the first one, x is Relu(x'); where it is the last one, y is out.
/// Nullopt: the pattern by itself. kUnsupported: an operator that ONNX has not at this opset.
Expected<Model> sceneOf(const Program& pattern, const std::optional<Surroundings>& beside, int opset);

}  // namespace pet
