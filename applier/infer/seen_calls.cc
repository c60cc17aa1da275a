#include "applier/infer/seen_calls.h"

#include <set>

#include "applier/onnx/inline.h"

namespace pet {
namespace {

/// Of which functions all calls were seen.
class SeenCalls {
 public:
  explicit SeenCalls(Inference& inference) : inference_(inference) {}

  void visit(const Graph& graph, bool isSeen) {
    if (!visited_.emplace(&graph, isSeen).second) return;
    for (const GraphNode& n : graph.nodes) {
      for (const auto& function : n.hiddenCalls)
        distrust(*function);
      if (n.callee) visitCall(*n.callee, isSeen);
      forEachSubgraph(n, [&](const auto&, const Subgraph& inner) {
        visit(*inner, isSeen && inference_.inside.contains(inner.get()));
      });
    }
  }

 private:
  void visitCall(const Function& function, bool isSeen) {
    auto use = inference_.functions.find(&function);
    if (!isSeen || use == inference_.functions.end() || !use->second.agree) return distrust(function);
    visit(*use->second.body, true);
  }

  /// What is called within is called with what is not known, too.
  void distrust(const Function& function) {
    inference_.functions[&function].agree = false;
    visit(function.body, false);
  }

  Inference& inference_;
  std::set<std::pair<const Graph*, bool>> visited_;
};

}  // namespace

void distrustUnseenCalls(const Graph& graph, bool isComplete, Inference& inference) {
  SeenCalls(inference).visit(graph, isComplete);
}

}  // namespace pet
