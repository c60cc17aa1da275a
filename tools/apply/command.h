#pragma once

#include <string>
#include <vector>

#include "tools/apply/arguments.h"

// The command that was given, as text.
namespace pet::tool {

/// The options on which depends what is written, each as a shell reads it: "--all", "--numerics any". Those that have
/// their defaults are left out.
std::vector<std::string> choicesOf(const ApplyArguments& o);

/// The command once more, with another option, in place of the same one: "pet-apply model.onnx rules.db --measure".
std::string againWith(const ApplyArguments& o, const std::string& option);

/// model.onnx -> model.pet.onnx
std::string defaultOutput(const std::string& model);

}  // namespace pet::tool
