// Graphs that compute with integers of 8 bits: which parts are programs of bytes, and that these compute what the graph
// says with numbers. All scales are powers of two, so that both are exact.

#include <random>

#include <gmock/gmock.h>

#include "tests/unit/plain_bytes.h"
#include "tests/unit/session_support.h"

namespace pet::session_bytes_test {
namespace {

using namespace testing_support;

struct BytesCase {
  std::string graph;
  std::string steps;  ///< the operators of the programs of bytes
  std::vector<std::string> outputs = {"y"};
  int64_t opset = 17;
};

/// Scales s (1/2), t (1/8), r (1/64); zero points z (uint8: 3), n (int8: -5); one for each of four channels: k, zeros:
/// o. Weights w [4,4,3,3], v [4,1,3,3], p [4,4,1,1], m [4,6]; biases b [4] of integers, f [4] of numbers.
Graph graphWithConstants(const BytesCase& c) {
  std::mt19937 random(3);
  Graph graph = sessionGraph(
      "s=f(0.5) t=f(0.125) r=f(0.015625) k=f{0.5,0.25,0.125,1} f=f{1,-2,3,0.5} low=f(0) high=f(6) axes=i{2,3} "
      "flat=i{1,-1} " +
          c.graph,
      c.opset, c.outputs);
  auto add = [&](const std::string& name, ElementType element, const Extents& extents, int least, int most) {
    Tensor<int64_t> values(extents);
    for (int64_t& v : values.data)
      v = static_cast<int64_t>(random() % static_cast<unsigned>(most - least + 1)) + least;
    graph.initializers.push_back({name, Constant::whole(element, values)});
  };
  add("z", ElementType::kUint8, {}, 3, 3);
  add("n", ElementType::kInt8, {}, -5, -5);
  add("o", ElementType::kInt8, {4}, 0, 0);
  add("w", ElementType::kInt8, {4, 4, 3, 3}, -3, 3);
  add("v", ElementType::kInt8, {4, 1, 3, 3}, -9, 9);
  add("p", ElementType::kInt8, {4, 4, 1, 1}, -9, 9);
  add("m", ElementType::kInt8, {4, 6}, -9, 9);
  add("b", ElementType::kInt32, {4}, -20, 20);
  return graph;
}

Constant drawn(const Extents& extents) {
  std::mt19937 random(5);
  Tensor<float> values(extents);
  for (float& v : values.data)
    v = static_cast<float>(static_cast<int>(random() % 400) - 200) / 16;
  return Constant::of(values);
}

const BytesCase kCases[] = {
    // A convolution between integers, of one scale or one for each channel, with a bias and a function
    {"x:f[2,4,5,6] q=QuantizeLinear(x,s,z) d=DequantizeLinear(q,s,z) e=DequantizeLinear(w,t) c=Conv(d,e) "
     "u=QuantizeLinear(c,s,z) "
     "y=DequantizeLinear(u,s,z)",
     "QuantizeLinear Conv DequantizeLinear"},
    {"x:f[1,4,5,6] q=QuantizeLinear(x,s,n) d=DequantizeLinear(q,s,n) e=DequantizeLinear(w,k,o) axis=0 "
     "g=DequantizeLinear(b,t) "
     "c=Conv(d,e,g) pads=[1,1,1,1] strides=[2,2] a=Relu(c) u=QuantizeLinear(a,s,n) y=DequantizeLinear(u,s,n)",
     "QuantizeLinear Conv DequantizeLinear"},
    {"x:f[1,4,5,6] q=QuantizeLinear(x,t,n) d=DequantizeLinear(q,t,n) e=DequantizeLinear(v,k,o) axis=0 "
     "c=Conv(d,e,f) pads=[1,1,1,1] group=4 a=Clip(c,low,high) u=QuantizeLinear(a,t,n) y=DequantizeLinear(u,t,n)",
     "QuantizeLinear Conv DequantizeLinear"},
    // A block: two branches that are added up, pools, a product
    {"x:f[2,4,6,6] q=QuantizeLinear(x,s,z) d=DequantizeLinear(q,s,z) e=DequantizeLinear(p,t) c=Conv(d,e) "
     "u=QuantizeLinear(c,t,z) "
     "h=DequantizeLinear(u,t,z) a=Add(h,d) i=Relu(a) j=QuantizeLinear(i,s,z) l=DequantizeLinear(j,s,z) "
     "aa=MaxPool(l) kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2] ab=QuantizeLinear(aa,s,z) "
     "ac=DequantizeLinear(ab,s,z) "
     "ad=GlobalAveragePool(ac) ae=QuantizeLinear(ad,t,n) af=DequantizeLinear(ae,t,n) ag=Flatten(af) "
     "ah=QuantizeLinear(ag,t,n) "
     "ai=DequantizeLinear(ah,t,n) aj=DequantizeLinear(m,r) ak=Gemm(ai,aj) al=QuantizeLinear(ak,t,n) "
     "y=DequantizeLinear(al,t,n)",
     "QuantizeLinear Conv Add MaxPool GlobalAveragePool Flatten Gemm DequantizeLinear"},
    // A pool of another scale; a mean by its axes; a Reshape of many positions; a table
    {"x:f[2,4,6,6] q=QuantizeLinear(x,s,z) d=DequantizeLinear(q,s,z) e=DequantizeLinear(p,t) c=Conv(d,e) "
     "u=QuantizeLinear(c,s,z) "
     "h=DequantizeLinear(u,s,z) a=MaxPool(h) kernel_shape=[2,2] i=QuantizeLinear(a,t,n) j=DequantizeLinear(i,t,n) "
     "l=Sigmoid(j) aa=QuantizeLinear(l,r,n) ab=DequantizeLinear(aa,r,n) y=Reshape(ab,flat)",
     "QuantizeLinear Conv MaxPool Sigmoid DequantizeLinear"},
    {"x:f[2,4,6,6] q=QuantizeLinear(x,s,z) d=DequantizeLinear(q,s,z) e=DequantizeLinear(p,t) c=Conv(d,e) "
     "u=QuantizeLinear(c,s,z) "
     "h=DequantizeLinear(u,s,z) a=ReduceMean(h,axes) keepdims=0 i=QuantizeLinear(a,t,n) j=DequantizeLinear(i,t,n) "
     "l=DequantizeLinear(m,r) aa=MatMul(j,l) ab=QuantizeLinear(aa,t,z) y=DequantizeLinear(ab,t,z)",
     "QuantizeLinear Conv ReduceMean MatMul DequantizeLinear",
     {"y"},
     18},
    {"x:f[1,4,2,3] q=QuantizeLinear(x,s,z) d=DequantizeLinear(q,s,z) e=DequantizeLinear(p,t) c=Conv(d,e) "
     "u=QuantizeLinear(c,s,z) "
     "h=DequantizeLinear(u,s,z) a=Flatten(h) i=QuantizeLinear(a,t,n) y=DequantizeLinear(i,t,n)",
     "QuantizeLinear Conv Flatten DequantizeLinear"},
    // Integers are outputs; what comes in is integers
    {"x:f[1,4,2,3] q=QuantizeLinear(x,s,n) d=DequantizeLinear(q,s,n) e=DequantizeLinear(p,t) c=Conv(d,e) "
     "y=QuantizeLinear(c,s,n)",
     "QuantizeLinear Bytes Conv Bytes",
     {"y", "q"}},
    // Numbers between two programs, which the first one's integers go around
    {"x:f[1,4,2,3] q=QuantizeLinear(x,s,z) d=DequantizeLinear(q,s,z) e=DequantizeLinear(p,t) c=Conv(d,e) "
     "u=QuantizeLinear(c,s,z) "
     "h=DequantizeLinear(u,s,z) a=Softmax(h) i=QuantizeLinear(a,t,z) j=DequantizeLinear(i,t,z) l=Conv(j,e) "
     "aa=QuantizeLinear(l,s,z) "
     "ab=DequantizeLinear(aa,s,z) ac=Add(ab,h) ad=QuantizeLinear(ac,s,n) y=DequantizeLinear(ad,s,n)",
     "QuantizeLinear Conv Bytes DequantizeLinear QuantizeLinear Conv Bytes Add DequantizeLinear"},
    // The numbers before they are rounded are read, too: the convolution stays one of numbers
    {"x:f[1,4,2,3] q=QuantizeLinear(x,s,z) d=DequantizeLinear(q,s,z) e=DequantizeLinear(p,t) c=Conv(d,e) "
     "u=QuantizeLinear(c,s,z) "
     "y=DequantizeLinear(u,s,z)",
     "",
     {"y", "c"}},
    // Nothing is computed with integers
    {"x:f[4] q=QuantizeLinear(x,s,z) y=DequantizeLinear(q,s,z)", ""},
};

/// The operators of the programs of bytes.
std::string stepsOf(const session::ModelSession& session) {
  std::vector<std::string> words;
  for (const EngineNote& note : session.notes()) {
    if (note.how.starts_with("bytes")) words.push_back(note.op);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

TEST(SessionBytes, ComputeWhatNumbersWould) {
  for (const BytesCase& c : kCases) {
    const Graph graph = graphWithConstants(c);
    auto numbers = sessionOf(graph), bytes = sessionOf(graph, 4, plainBytes());
    ASSERT_TRUE(numbers.has_value()) << c.graph << numbers.error().message();
    ASSERT_TRUE(bytes.has_value()) << c.graph << bytes.error().message();
    EXPECT_EQ(stepsOf(**bytes), c.steps) << c.graph;
    EXPECT_EQ(stepsOf(**numbers), "");
    const session::Feeds feeds{{"x", drawn(*graph.types.at("x").extents())}};
    auto wanted = (*numbers)->run(feeds), found = (*bytes)->run(feeds);
    ASSERT_TRUE(wanted.has_value()) << c.graph << wanted.error().message();
    ASSERT_TRUE(found.has_value()) << c.graph << found.error().message();
    for (size_t i = 0; i < wanted->size(); ++i)
      EXPECT_EQ(textOf((*found)[i]), textOf((*wanted)[i])) << c.graph;
  }
}

}  // namespace
}  // namespace pet::session_bytes_test
