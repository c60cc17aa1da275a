#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "applier/onnx/file.h"

namespace pet {

/// Calls `visit` for every tensor of a model, in a fixed order: of the main graph, of attributes, of subgraphs and of
/// functions. `owner` is what messages call it: "initializer 'w'".
void forEachTensor(onnx::ModelProto& proto,
                   const std::function<void(onnx::TensorProto& tensor, const std::string& owner)>& visit);

/// Gives a tensor whose data are external its values, instead.
void putInline(onnx::TensorProto& tensor, std::string_view value);

/// The number of elements. Nullopt: there is none, or so many that it has to be a mistake.
std::optional<int64_t> countOf(const Extents& extents);

/// "initializer 'w' holds 140 bytes of values, but [2, 2, 3, 3] of float need 144".
Error wrongSize(const onnx::TensorProto& tensor, const std::string& owner, uint64_t held, const std::string& where);

}  // namespace pet
