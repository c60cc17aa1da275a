// RNN, GRU and LSTM.

#include <fmt/format.h>

#include "applier/infer/rules.h"

namespace pet {
namespace {

/// The extent of the hidden state: the attribute, or that of the recurrence r[directions, gates · hidden, hidden].
Dim hiddenOf(NodeInference& n) {
  if (n.hasAttribute("hidden_size")) {
    int64_t hidden = n.integer("hidden_size", 0);
    if (hidden < 1) NodeInference::invalid(fmt::format("hidden_size is {}", hidden));
    if (n.hasShape(2)) n.requireEqual(n.shapeOfRank(2, 3)[2], Dim(hidden), "hidden_size and the recurrence differ");
    return hidden;
  }
  return n.hasShape(2) ? n.shapeOfRank(2, 3)[2] : n.open();
}

// x[sequence, batch, features] -> y[sequence, directions, batch, hidden], the last states [directions, batch, hidden].
// With layout 1 the batch comes first: y[batch, sequence, directions, hidden], states [batch, directions, hidden].
void inferRecurrent(NodeInference& n) {
  std::string direction = n.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    NodeInference::invalid(fmt::format("direction '{}'", direction));
  const Dim directions = direction == "bidirectional" ? 2 : 1;
  const bool batchFirst = n.flag("layout", false);
  Dim hidden = hiddenOf(n), sequence = n.open(), batch = n.open();
  if (n.hasShape(0)) {
    const Shape& x = n.shapeOfRank(0, 3);
    sequence = x[batchFirst ? 1 : 0];
    batch = x[batchFirst ? 0 : 1];
  }
  n.setShape(0, batchFirst ? Shape{batch, sequence, directions, hidden} : Shape{sequence, directions, batch, hidden});
  for (size_t i = 1; i < n.resultCount(); ++i)
    n.setShape(i, batchFirst ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden});
}

constexpr InferRule kRecurrentRules[] = {
    {"GRU", inferRecurrent},
    {"LSTM", inferRecurrent},
    {"RNN", inferRecurrent},
};

}  // namespace

std::span<const InferRule> recurrentRules() {
  return kRecurrentRules;
}

}  // namespace pet
