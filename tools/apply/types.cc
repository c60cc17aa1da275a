#include "tools/apply/types.h"

#include <nlohmann/json.hpp>

#include "applier/infer/infer.h"
#include "applier/round/places.h"

namespace pet::tool {
namespace {

using TypesJson = nlohmann::json;  // an ordered one looks for a key by comparing with all

TypesJson extentJson(const Dim& d) {
  auto k = d.asConstant();
  return k ? TypesJson(*k) : TypesJson(d.str());
}

TypesJson entryJson(const SizeEntry& entry) {
  if (const auto* d = std::get_if<Dim>(&entry)) return extentJson(*d);
  const auto* x = std::get_if<double>(&entry);
  return x ? TypesJson(*x) : TypesJson();
}

std::string_view kindName(InferredType::Kind kind) {
  switch (kind) {
    case InferredType::Kind::kTensor:
      return "tensor";
    case InferredType::Kind::kSequence:
      return "sequence";
    case InferredType::Kind::kOptional:
      return "optional";
    default:
      return "unknown";
  }
}

TypesJson typeJson(const InferredType& type) {
  TypesJson result = {{"kind", kindName(type.kind)}, {"element", str(type.element)}, {"code", type.element}};
  if (type.dims) {
    result["extents"] = TypesJson::array();
    for (const Dim& d : *type.dims)
      result["extents"].push_back(extentJson(d));
  }
  if (type.data) {
    result["entries"] = TypesJson::array();
    for (const SizeEntry& e : *type.data)
      result["entries"].push_back(entryJson(e));
  }
  return result;
}

}  // namespace

std::string typesText(const Graph& graph, bool freezeInputs) {
  const Inference inference = infer(graph, {.freezeInputs = freezeInputs});
  TypesJson values = TypesJson::object(), symbols = TypesJson::object(), equal = TypesJson::object(),
            problems = TypesJson::array();
  for (const auto& [key, place] : placesOf(graph, inference)) {
    for (const auto& [name, type] : place.inference.types)
      values[place.path + name] = typeJson(type);
  }
  for (const auto& [name, symbol] : inference.symbols)
    symbols[symbol] = name;
  for (const auto& [name, is] : inference.equal)
    equal[name] = extentJson(is);
  for (const InferenceProblem& p : inference.problems) {
    bool node = p.kind == InferenceProblem::Kind::kNode;
    problems.push_back({{"about", node ? "node" : "declaration"}, {"what", p.text}});
  }
  const TypesJson all = {{"values", values}, {"symbols", symbols}, {"equal", equal}, {"problems", problems}};
  return all.dump(1, ' ', false, TypesJson::error_handler_t::replace) + "\n";
}

}  // namespace pet::tool
