// The functions that a file defines, in the order of their calls.

#include <algorithm>

#include <fmt/format.h>

#include "applier/onnx/file.h"

namespace pet {
namespace {

std::shared_ptr<Function> frameOf(const std::shared_ptr<const ModelFile>& file, const onnx::FunctionProto& f) {
  auto function = std::make_shared<Function>();
  function->name = f.name();
  function->domain = domainOf(f.domain());
  function->overload = f.overload();
  function->original = std::shared_ptr<const onnx::FunctionProto>(file, &f);
  for (const auto& import : f.opset_import())
    function->opsets[domainOf(import.domain())] = import.version();
  return function;
}

/// One that calls itself, by way of others perhaps: each that waits calls one that waits; follow these long enough.
size_t onCallCycle(const std::vector<std::set<size_t>>& calls, const std::vector<size_t>& waiting) {
  size_t at = 0;
  while (waiting[at] == 0)
    ++at;
  for (size_t step = 0; step < calls.size(); ++step)
    at = *std::find_if(calls[at].begin(), calls[at].end(), [&](size_t callee) { return waiting[callee] > 0; });
  return at;
}

}  // namespace

void collectCalls(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, std::set<std::string>& into) {
  for (const auto& n : nodes) {
    into.insert(functionKey(domainOf(n.domain()), n.op_type(), n.overload()));
    for (const auto& a : n.attribute()) {
      if (a.has_g()) collectCalls(a.g().node(), into);
      for (const auto& g : a.graphs())
        collectCalls(g.node(), into);
    }
  }
}

Expected<std::vector<std::shared_ptr<Function>>> listFunctions(const std::shared_ptr<const ModelFile>& file,
                                                               const std::string& where) {
  std::vector<std::shared_ptr<Function>> all, sorted;
  std::map<std::string, size_t, std::less<>> positions;
  for (const auto& f : file->proto.functions()) {
    auto function = frameOf(file, f);
    if (!positions.emplace(function->key(), all.size()).second)
      return fail(ErrorKind::kModel, fmt::format("function '{}' is defined twice", function->key()), where);
    all.push_back(std::move(function));
  }
  std::vector<std::set<size_t>> calls(all.size()), callers(all.size());
  std::vector<size_t> waiting(all.size()), ready;
  for (size_t i = 0; i < all.size(); ++i) {
    std::set<std::string> keys;
    collectCalls(all[i]->original->node(), keys);
    for (const std::string& key : keys) {
      if (auto it = positions.find(key); it != positions.end()) calls[i].insert(it->second);
    }
    waiting[i] = calls[i].size();
    if (waiting[i] == 0) ready.push_back(i);
    for (size_t callee : calls[i])
      callers[callee].insert(i);
  }
  while (!ready.empty()) {
    size_t i = ready.back();
    ready.pop_back();
    for (size_t callee : calls[i])
      all[i]->depth = std::max(all[i]->depth, all[callee]->depth + 1);
    sorted.push_back(all[i]);
    for (size_t caller : callers[i]) {
      if (--waiting[caller] == 0) ready.push_back(caller);
    }
  }
  if (sorted.size() == all.size()) return sorted;
  return fail(ErrorKind::kModel, fmt::format("function '{}' calls itself", all[onCallCycle(calls, waiting)]->key()),
              where, "ONNX has no recursion; export the model again");
}

}  // namespace pet
