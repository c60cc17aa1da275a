#include "rules/values.h"

#include <fmt/format.h>

#include "ir/layout_algebra.h"
#include "ir/text.h"

namespace pet {
namespace {

/// Every value of the operands stands once in the result.
bool isRearrangement(const Node& node) {
  return layoutOf(node) || node.is(ops::kTranspose) || node.is(ops::kReshape) || node.is(ops::kUnsqueeze) ||
         node.is(ops::kSqueeze) || node.is(ops::kIdentity) || node.is(ops::kConcat);
}

bool isTensorOfModel(const Node& node) {
  return node.is(ops::kIndexMap) || node.is(ops::kPow);
}

}  // namespace

std::vector<std::string> valuesAsked(const Pattern& pattern) {
  const Program& program = pattern.program;
  const std::vector<bool> constant = constantNodes(program);
  const auto& nodes = program.nodes();
  std::vector<std::string> made, asked;
  bool isMore = false;  // than a rearrangement
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].is(ops::kInput)) continue;
    if (constant[i]) {
      isMore = isMore || !isRearrangement(nodes[i]);
      made.push_back(printStatement(program, nodes[i]));
    } else if (isTensorOfModel(nodes[i])) {
      asked.push_back(printStatement(program, nodes[i]));
    }
  }
  if (isMore) asked.insert(asked.begin(), made.begin(), made.end());
  for (const double number : asked.empty() ? std::vector<double>() : pattern.anyNumbers)
    asked.push_back(fmt::format("any {} > 0", number));
  return asked;
}

}  // namespace pet
