#include "rules/values.h"

#include <algorithm>

#include "ir/layout_algebra.h"
#include "ir/text.h"

namespace pet {
namespace {

bool isTensorOfModel(const Node& node) {
  return node.is(ops::kIndexMap) || node.is(ops::kPow);
}

}  // namespace

std::vector<std::string> valuesAsked(const Program& pattern) {
  const std::vector<bool> constant = constantNodes(pattern);
  const auto& nodes = pattern.nodes();
  std::vector<std::string> made, asked;
  bool isMore = false;  // than a rearrangement
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].is(ops::kInput)) continue;
    if (constant[i]) {
      isMore = isMore || !layoutOf(nodes[i]);
      made.push_back(printStatement(pattern, nodes[i]));
    } else if (isTensorOfModel(nodes[i])) {
      asked.push_back(printStatement(pattern, nodes[i]));
    }
  }
  if (isMore) asked.insert(asked.begin(), made.begin(), made.end());
  return asked;
}

}  // namespace pet
