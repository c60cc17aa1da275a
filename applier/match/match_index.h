#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "applier/match/precedence.h"
#include "applier/view/model_sizes.h"
#include "applier/view/view.h"
#include "rules/rule_source.h"

namespace pet {

/// The nodes of a graph's view by operator, and who reads what; made once for all patterns.
class MatchIndex {
 public:
  /// `sizes`: what is known of the view's symbols. View and sizes outlive it.
  MatchIndex(const Graph& graph, const View& view, const ModelSizes& sizes);
  const View& view() const { return view_; }
  const ModelSizes& sizes() const { return sizes_; }
  /// Of all nodes, and those that are read away.
  OperatorNames operators() const;
  const std::vector<int>& nodesOf(const OpRow* op) const;
  const std::vector<int>& readersOf(Value value) const;
  const Precedence& precedence() const { return precedence_; }
  bool isConstant(Value value) const { return uses_.constant[static_cast<size_t>(value.node)]; }
  /// Graph outputs are all that is made of the value, or its node's other ones, by functions of it alone, (Log)Softmax
  /// and regroupings.
  bool isLast(Value value) const { return last_[static_cast<size_t>(value.node)]; }
  /// No engine has it in a layout of its own: it is no result of a Conv or a pool of images, nor made of one by
  /// functions, sums, products, Concat or Resize.
  bool isPlain(Value value) const { return !blocked_[static_cast<size_t>(value.node)]; }
  const Uses& uses() const { return uses_; }
  /// The view with nodes behind its own: each operator that is read away, as the model has it.
  const Program& written() const { return written_; }
  /// Of the nodes behind the view's in written(), those of this operator.
  const std::vector<int>& writtenNodesOf(const OpRow* op) const;
  /// The node of the view with the result of one of written().
  int inView(int node) const;
  /// What one of the nodes behind the view's is in the view.
  const ReadAway& readAway(int node) const { return *readAway_.at(node); }
  /// Of how many operators the model makes what a node of the view is.
  int piecesOf(int node) const {
    auto it = view_.pieces.find(node);
    return it == view_.pieces.end() ? 1 : it->second;
  }
  /// The value comes from integers: it is the result of a DequantizeLinear.
  bool isDequantized(Value value) const;
  /// It would be a constant, but for initializers that a caller may replace.
  bool isReplaceable(Value value) const { return replaceable_[static_cast<size_t>(value.node)]; }

 private:
  void enterReadAway();
  /// Nothing outside reads more of it than the result.
  bool isWhole(const ReadAway& read) const;

  const View& view_;
  const ModelSizes& sizes_;
  std::map<const OpRow*, std::vector<int>> byOp_;
  Uses uses_;
  std::set<std::string, std::less<>> dequantized_;  ///< ONNX values
  Program written_;
  std::map<int, const ReadAway*> readAway_;  ///< by node of written_
  std::map<const OpRow*, std::vector<int>> writtenByOp_;
  std::vector<bool> replaceable_, last_, blocked_;  ///< per node
  Precedence precedence_;
};

/// What people call a site: the ONNX node of its anchor, or what that node computes.
std::string siteName(const Graph& graph, const View& view, int anchor);

}  // namespace pet
