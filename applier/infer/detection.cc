// Boxes and losses.

#include "applier/infer/rules.h"

namespace pet {
namespace {

// As many boxes as are left; each with batch, class and position.
void inferNonMaxSuppression(NodeInference& n) {
  n.requireRank(0, 3);
  n.requireRank(1, 3);
  n.setShape(0, {n.open(), Dim(3)});
}

// x[n, c, h, w], regions[r, 4] -> y[r, c, height, width]
void inferRoiAlign(NodeInference& n) {
  Dim channels = n.hasShape(0) ? n.shapeOfRank(0, 4)[1] : n.open();
  Dim regions = n.hasShape(1) ? n.shapeOfRank(1, 2)[0] : n.open();
  if (n.hasShape(2)) regions = n.sizes().sharper(regions, n.shapeOfRank(2, 1)[0]);
  n.setShape(0, {regions, channels, Dim(n.integer("output_height", 1)), Dim(n.integer("output_width", 1))});
}

// One loss, or with reduction none one for each target.
void inferLoss(NodeInference& n) {
  if (n.wants(1) && n.hasShape(0)) n.setShape(1, n.shape(0));
  std::string reduction = n.text("reduction", "mean");
  if (reduction != "none" && reduction != "mean" && reduction != "sum") NodeInference::nothing();
  n.setShape(0, reduction == "none" ? n.shape(1) : Shape{});
}

constexpr InferRule kDetectionRules[] = {
    {"NegativeLogLikelihoodLoss", inferLoss},
    {"NonMaxSuppression", inferNonMaxSuppression},
    {"RoiAlign", inferRoiAlign},
    {"SoftmaxCrossEntropyLoss", inferLoss},
};

}  // namespace

std::span<const InferRule> detectionRules() {
  return kDetectionRules;
}

}  // namespace pet
