#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "applier/infer/infer.h"
#include "applier/view/sample_sizes.h"
#include "applier/view/view.h"

namespace pet {

struct NormaliseOptions {
  bool freezeInputs = false;             ///< initializers that a caller may override are constants all the same
  ExpectedSizes expected = {};           ///< of the extents that the model leaves open
  std::vector<Constraint> assumed = {};  ///< what the user promises of them
  /// Symbols that are promised to be multiples: in the view, seq is 16seq_per_16.
  std::map<std::string, int64_t, std::less<>> multiples = {};
  /// The results of IsNaN that are never true; nullopt: those that are found (finite.h).
  std::optional<std::set<std::string, std::less<>>> neverTrue = std::nullopt;
};

inline constexpr std::string_view kFolded = "a constant";

struct Normalised {
  View view;
  ModelSizes sizes;  ///< of the view's symbols; without samples where no sizes were found that fit
  /// Per ONNX node: why it passes through untouched; empty where it is in the view, kFolded where it is a constant.
  std::vector<std::string> opaque;
  std::set<std::string, std::less<>> neverTrue = {};  ///< results of IsNaN by which nothing is chosen
};

/// The graph as a program (docs/applier.md, View): attribute-or-input forms by opset resolved, auto_pad resolved,
/// biases as broadcast additions, constants folded. Nodes that pet does not know or whose extents are not known pass
/// through.
Normalised normalise(const Graph& graph, const NormaliseOptions& options = {});
/// The same where the types are known: of subgraphs, say (open_graph.h).
Normalised normalise(const Graph& graph, const NormaliseOptions& options, Inference inference);

/// A whole model as one program: its inputs and outputs are the graph's, its constant inputs have the values in
/// `constants`.
struct WholeProgram {
  Program program;
  std::map<std::string, Constant, std::less<>> constants;
};
/// kUnsupported, with the node and the reason, where a node is not known.
Expected<WholeProgram> toProgram(const Graph& graph);

}  // namespace pet
