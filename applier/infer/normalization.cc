// Normalisations and what else leaves the extents of its first operand as they are.

#include <fmt/format.h>

#include "applier/infer/rules.h"

namespace pet {
namespace {

/// A vector with one entry for each channel.
void requirePerChannel(NodeInference& n, size_t i) {
  if (!n.has(i) || !n.hasShape(i)) return;
  n.requireRank(i, 1);
  if (n.hasShape(0) && n.rank(0) >= 2)
    n.requireEqual(n.shape(i)[0], n.shape(0)[1],
                   fmt::format("{} is not as long as there are channels", operandName(i)));
}

// Besides y: what training keeps, one value for each channel.
void inferBatchNormalization(NodeInference& n) {
  for (size_t i = 1; i < 5; ++i) {
    if (n.opset() >= 9) requirePerChannel(n, i);  // before, with spatial=0, statistics are kept for each element
  }
  for (size_t i = 1; i < n.resultCount(); ++i) {
    if (n.hasShape(3)) n.setShape(i, n.shape(3));
  }
  inferLikeFirst(n);
}

void inferInstanceNormalization(NodeInference& n) {
  requirePerChannel(n, 1);
  requirePerChannel(n, 2);
  inferLikeFirst(n);
}

void inferGroupNormalization(NodeInference& n) {
  int64_t groups = n.integer("num_groups", 1);
  if (groups < 1) NodeInference::invalid(fmt::format("{} groups", groups));
  auto channels = n.hasShape(0) && n.rank(0) >= 2 ? n.shape(0)[1].asConstant() : std::nullopt;
  if (channels && *channels % groups != 0)
    NodeInference::invalid(fmt::format("{} groups do not divide {} channels", groups, *channels));
  inferLikeFirst(n);
}

// Besides y: mean and inverse deviation, with extent 1 from the axis on.
void inferLayerNormalization(NodeInference& n) {
  Shape statistics = n.shape(0);
  size_t axis = n.axisOf("axis", -1, statistics.size());
  for (size_t i = axis; i < statistics.size(); ++i)
    statistics[i] = 1;
  auto type = static_cast<ElementType>(n.integer("stash_type", static_cast<int64_t>(ElementType::kFloat)));
  for (size_t i = 1; i < n.resultCount(); ++i) {
    n.setElement(i, type);
    n.setShape(i, statistics);
  }
  inferLikeFirst(n);
}

void inferRmsNormalization(NodeInference& n) {
  n.axisOf("axis", -1, n.rank(0));
  inferLikeFirst(n);
}

// The axis is 1 in opsets before 13.
void inferSoftmax(NodeInference& n) {
  if (n.rank(0) > 0) {
    int64_t axis = n.integer("axis", n.opset() >= 13 ? -1 : 1);
    if (n.opset() >= 13 || axis != static_cast<int64_t>(n.rank(0))) n.axis(axis, n.rank(0));
  }
  inferLikeFirst(n);
}

void inferLpNormalization(NodeInference& n) {
  n.axisOf("axis", -1, n.rank(0));
  inferLikeFirst(n);
}

constexpr InferRule kNormalizationRules[] = {
    {"BatchNormalization", inferBatchNormalization},
    {"GroupNormalization", inferGroupNormalization},
    {"Hardmax", inferSoftmax},
    {"InstanceNormalization", inferInstanceNormalization},
    {"LRN", inferLikeFirst},
    {"LayerNormalization", inferLayerNormalization},
    {"LogSoftmax", inferSoftmax},
    {"LpNormalization", inferLpNormalization},
    {"MeanVarianceNormalization", inferLikeFirst},
    {"RMSNormalization", inferRmsNormalization},
    {"Softmax", inferSoftmax},
};

}  // namespace

std::span<const InferRule> normalizationRules() {
  return kNormalizationRules;
}

}  // namespace pet
