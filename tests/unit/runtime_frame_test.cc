#include <gtest/gtest.h>

#include "applier/onnx/model.h"
#include "runtime/ort/frame.h"

namespace pet::runtime_frame_test {
namespace {

TEST(Frame, IsAModelWithOneNode) {
  auto model = parseModel(frameModel({{"x", {1, 300, 7}}, {"z", {}}}, {{"y", {1, 1000000}}}, 17), "frame");
  ASSERT_TRUE(model) << model.error().message();
  const Graph& g = model->graph;
  EXPECT_EQ(g.opset, 17);
  EXPECT_EQ(g.inputs, (std::vector<std::string>{"x", "z"}));
  EXPECT_EQ(g.outputs, std::vector<std::string>{"y"});
  EXPECT_EQ(g.types.at("x").extents(), (Extents{1, 300, 7}));
  EXPECT_EQ(g.types.at("x").element, ElementType::kFloat);
  EXPECT_EQ(g.types.at("y").extents(), (Extents{1, 1000000}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].type, kFrameOperator);
  EXPECT_EQ(g.nodes[0].inputs, g.inputs);
  EXPECT_EQ(g.nodes[0].outputs, g.outputs);
}

}  // namespace
}  // namespace pet::runtime_frame_test
