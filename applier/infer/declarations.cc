#include "applier/infer/declarations.h"

#include <fmt/format.h>

#include "ir/limits.h"

namespace pet {

Declarations::Declarations(const Graph& graph, Sizes& sizes, bool isMain) : sizes_(sizes), isMain_(isMain) {
  for (const std::string& input : graph.inputs) {
    if (auto it = graph.types.find(input); it != graph.types.end())
      ofInputs_.insert(it->second.names.begin(), it->second.names.end());
  }
}

InferredType Declarations::typeOf(const ValueType& declared, int64_t least) {
  InferredType type;
  if (declared.element == ElementType::kUnknown && !declared.dims) return type;
  type.kind = InferredType::Kind::kTensor;
  type.element = declared.element;
  if (!declared.dims || declared.dims->size() > kMostDimensions) return type;
  type.dims.emplace();
  for (size_t i = 0; i < declared.dims->size(); ++i) {
    if (const auto& k = (*declared.dims)[i]) {
      type.dims->emplace_back(*k);
    } else if (std::string_view name = declared.nameOf(i); !name.empty()) {
      type.dims->push_back(sizes_.named(name));
    } else if (sizes_.canMakeMore()) {
      type.dims->push_back(sizes_.fresh(least));
    } else {
      type.dims.reset();
      return type;
    }
  }
  return type;
}

/// An extent that callers choose is what they choose, whatever the file says of a result: declarations are left behind
/// where inputs are made open later on.
void Declarations::reportOnce(const Dim& d, const Dim& declared, size_t i, const Report& report) {
  if (!isMain_ || !sizes_.isOfInputs(d) || !reported_.insert(d.str() + " = " + declared.str()).second) return;
  report(
      fmt::format("is declared with extent {} in dimension {}, but has {}, which callers choose: nothing relies on it",
                  declared.str(), i, d.str()));
}

void Declarations::mergeExtent(Dim& d, const ValueType& declared, size_t i, const Report& report) {
  const auto& k = (*declared.dims)[i];
  const std::string_view name = declared.nameOf(i);
  if (!k && name.empty()) return;
  const Dim other = k ? Dim(*k) : sizes_.named(name);
  if (d == other) return;
  if (d.isAffine() && sizes_.isEqual(d, other) == false)
    return report(fmt::format("is declared with extent {} in dimension {}, but has {}", other.str(), i, d.str()));
  if (sizes_.isMade(d) && !sizes_.isOfInputs(d)) {
    d = other;
  } else if (!k && !ofInputs_.contains(name)) {
    sizes_.standFor(other, d);
  } else if (!d.asConstant()) {
    reportOnce(d, other, i, report);
  }
}

InferredType Declarations::merged(const ValueType& declared, InferredType inferred, const Report& report) {
  if (inferred.kind == InferredType::Kind::kUnknown) return typeOf(declared);
  const bool isTensor = inferred.kind == InferredType::Kind::kTensor;
  if (inferred.element == ElementType::kUnknown) {
    inferred.element = declared.element;
  } else if (isTensor && declared.element != ElementType::kUnknown && declared.element != inferred.element) {
    report(fmt::format("is declared as {}, but is of {}", str(declared.element), str(inferred.element)));
  }
  if (!declared.dims || !isTensor) return inferred;
  if (!inferred.dims) {
    inferred.dims = typeOf(declared).dims;
  } else if (inferred.dims->size() != declared.dims->size()) {
    report(fmt::format("is declared with {} dimensions, but has {}: {}", declared.dims->size(), inferred.dims->size(),
                       str(*inferred.dims)));
  } else {
    for (size_t i = 0; i < inferred.dims->size(); ++i)
      mergeExtent((*inferred.dims)[i], declared, i, report);
  }
  return inferred;
}

}  // namespace pet
