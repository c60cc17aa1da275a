// Every row's access relation against its kernel, with symbolic shapes and with the same shapes put in.

#include "ir/text.h"
#include "tests/unit/access_check.h"

namespace pet {
namespace {

using testing_support::accessMatchesKernels;

struct Case {
  std::string_view program;
  std::vector<Bindings> shapes;
};

const Case kCases[] = {
    // Conv
    {"x: [N, C, H, W]  w: const [F, C, R, S]  y = Conv(x, w) pads=[P, Q, P, Q]",
     {{{"N", 2}, {"C", 3}, {"H", 4}, {"W", 5}, {"F", 2}, {"R", 3}, {"S", 2}, {"P", 1}, {"Q", 1}},
      {{"N", 1}, {"C", 1}, {"H", 3}, {"W", 3}, {"F", 1}, {"R", 3}, {"S", 3}, {"P", 0}, {"Q", 2}},
      {{"N", 1}, {"C", 2}, {"H", 1}, {"W", 4}, {"F", 2}, {"R", 1}, {"S", 4}, {"P", 2}, {"Q", 0}}}},
    {"x: [N, C, W]  w: const [F, C, S]  y = Conv(x, w) pads=[P, Q] strides=[2] dilations=[3]",
     {{{"N", 2}, {"C", 2}, {"W", 11}, {"F", 3}, {"S", 3}, {"P", 2}, {"Q", 1}},
      {{"N", 1}, {"C", 1}, {"W", 7}, {"F", 1}, {"S", 2}, {"P", 0}, {"Q", 5}}}},
    {"x: [N, (G C), H, W]  w: const [(G F), C, 3, 2]  y = Conv(x, w) group=G pads=[1, 0, 2, 1] strides=[2, 1] "
     "dilations=[1, 2]",
     {{{"N", 2}, {"G", 3}, {"C", 2}, {"F", 2}, {"H", 5}, {"W", 4}},
      {{"N", 1}, {"G", 1}, {"C", 1}, {"F", 3}, {"H", 4}, {"W", 3}}}},
    {"x: [N, 4C, H, W]  w: const [4F, C, 1, 3]  y = Conv(x, w) group=4 pads=[0, 1, 0, 1]",
     {{{"N", 1}, {"C", 2}, {"F", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [N, C, H, W]  w: const [3C, 1, R, 1]  y = Conv(x, w) group=C",
     {{{"N", 2}, {"C", 4}, {"H", 4}, {"W", 2}, {"R", 2}}}},
    {"x: [N, C, D, H, W]  w: const [F, C, 2, 2, 2]  y = Conv(x, w) strides=[1, 2, 1] pads=[1, 0, 0, 0, 1, 1]",
     {{{"N", 1}, {"C", 2}, {"D", 3}, {"H", 4}, {"W", 2}, {"F", 2}}}},
    {"x: [N, C, H, (M W)]  w: const [F, C, 1, 3]  y = Conv(x, w) pads=[0, 1, 0, 1]",
     {{{"N", 1}, {"C", 2}, {"H", 2}, {"M", 3}, {"W", 2}, {"F", 2}},
      {{"N", 1}, {"C", 1}, {"H", 1}, {"M", 1}, {"W", 4}, {"F", 1}}}},
    {"x: [N, C, H, 2W]  w: const [F, C, 1, 3]  y = Conv(x, w) pads=[0, 1, 0, 1] strides=[1, 2]",
     {{{"N", 1}, {"C", 2}, {"H", 2}, {"W", 3}, {"F", 2}}}},
    // ConvTranspose
    {"x: [N, C, H, W]  w: const [C, F, R, S]  y = ConvTranspose(x, w) pads=[P, 0, 0, 1]",
     {{{"N", 2}, {"C", 2}, {"H", 3}, {"W", 2}, {"F", 3}, {"R", 2}, {"S", 3}, {"P", 1}}}},
    {"x: [N, C, W]  w: const [C, F, S]  y = ConvTranspose(x, w) strides=[3] dilations=[2] pads=[1, 2] "
     "output_padding=[2]",
     {{{"N", 1}, {"C", 2}, {"W", 4}, {"F", 2}, {"S", 3}}, {{"N", 2}, {"C", 1}, {"W", 1}, {"F", 1}, {"S", 4}}}},
    {"x: [N, (G C), H, W]  w: const [(G C), F, 2, 3]  y = ConvTranspose(x, w) group=G strides=[2, 2] "
     "output_padding=[1, 0]",
     {{{"N", 2}, {"G", 2}, {"C", 3}, {"H", 2}, {"W", 2}, {"F", 2}}}},
    // MatMul, OffsetReduce
    {"a: [M, K]  b: [K, N]  y = MatMul(a, b)", {{{"M", 3}, {"K", 4}, {"N", 2}}, {{"M", 1}, {"K", 1}, {"N", 5}}}},
    {"a: [B, H, M, K]  b: [H, K, N]  y = MatMul(a, b)", {{{"B", 2}, {"H", 3}, {"M", 2}, {"K", 2}, {"N", 3}}}},
    {"a: [1, M, K]  b: [B, K, N]  y = MatMul(a, b)", {{{"B", 3}, {"M", 2}, {"K", 2}, {"N", 3}}}},
    {"a: [B, M, (C R)]  b: [(C R), N]  y = MatMul(a, b)", {{{"B", 2}, {"M", 2}, {"C", 2}, {"R", 3}, {"N", 3}}}},
    {"t: [N, (F R S), H, W]  y = OffsetReduce(t) kernel_shape=[R, S] pads=[P, 1, 0, 1]",
     {{{"N", 2}, {"F", 2}, {"R", 2}, {"S", 3}, {"H", 4}, {"W", 3}, {"P", 1}}}},
    {"t: [N, 6F, W]  y = OffsetReduce(t) kernel_shape=[3] strides=[2] dilations=[2] pads=[1, 2]",
     {{{"N", 1}, {"F", 2}, {"W", 6}}}},
    // Layout, IndexMap
    {"x: [2N, C, H, W]  y = Layout(x) (n 2) c h w -> n c h (2 w)",
     {{{"N", 2}, {"C", 2}, {"H", 2}, {"W", 3}}, {{"N", 1}, {"C", 1}, {"H", 1}, {"W", 1}}}},
    {"x: [N, C, H, W]  y = Layout(x) n c h w -> c 1 (n h w)", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [(N H W), C]  y = Layout(x) (n h w) c -> n c h w", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [6W, 4]  y = Layout(x) (p:2 w 3) (q:2 r:2) -> (q w p) (r 3)", {{{"W", 2}}, {{"W", 1}}}},
    {"x: [6W, 12]  y = Layout(x) (p:3 w 2) (q:2 r:2 s:3) -> (r p q w s) 2", {{{"W", 2}}}},
    {"x: [N, W, 2]  y = Layout(x) n w p -> (n w p)\nz = Layout(y) (n:N w:W p:2) -> p n w",
     {{{"N", 2}, {"W", 3}}, {{"N", 3}, {"W", 1}}}},
    {"x: [N, 6H, W, 4]  y = Layout(x) n (p:2 h q:3) w r -> (n p h r w q) 1\nz = Layout(y) (n:N p:2 h:H r:4 w:W q:3) 1 "
     "-> r q (p n) w h",
     {{{"N", 2}, {"H", 2}, {"W", 3}}, {{"N", 1}, {"H", 3}, {"W", 2}}}},
    {"x: [N, 4H, (6W K)]  y = Layout(x) n h (w k) -> (n w h k)\nz = Layout(y) (a:N b:6W c:4H d:K) -> c (a d) b",
     {{{"N", 2}, {"H", 2}, {"W", 1}, {"K", 2}}}},
    {"w: [F, C, R, S]  y = IndexMap(w) [f:F, c:C, r:R, s:S] -> [f, c, R - 1 - r, S - 1 - s]",
     {{{"F", 2}, {"C", 2}, {"R", 3}, {"S", 2}}}},
    {"w: [F, C, R]  y = IndexMap(w) [f:F, (c:C p:2), k:{R + 1}] -> [f, c, 2k + p - 1] where k <= R - 1",
     {{{"F", 2}, {"C", 2}, {"R", 3}}, {{"F", 1}, {"C", 1}, {"R", 1}}}},
    {"w: [(F G), C]  y = IndexMap(w) [(p:2 f:F), g:3G, c:C] -> [f : g - p, floor((c + p)/2)]",
     {{{"F", 2}, {"G", 2}, {"C", 3}}}},
    // Pad, Slice, Concat, Split, Transpose
    {"x: [N, H, W]  y = Pad(x) pads=[0, P, 1, 0, Q, 2]", {{{"N", 2}, {"H", 3}, {"W", 2}, {"P", 2}, {"Q", 0}}}},
    {"x: [N, H, (A B)]  y = Pad(x) pads=[1, -1, 0, 0, -1, 0]", {{{"N", 2}, {"H", 3}, {"A", 2}, {"B", 2}}}},
    {"x: [H, W]  y = Pad(x) pads=[1, 2, 2, P] mode=reflect", {{{"H", 3}, {"W", 4}, {"P", 3}}}},
    {"x: [H, W]  y = Pad(x) pads=[1, 2, 2, P] mode=edge",
     {{{"H", 3}, {"W", 4}, {"P", 3}}, {{"H", 1}, {"W", 1}, {"P", 0}}}},
    {"x: [N, H, W]  y = Slice(x) axes=[2, 0] starts=[A, 1] ends=[W, N] steps=[3, 1]",
     {{{"N", 3}, {"H", 2}, {"W", 8}, {"A", 1}}, {{"N", 2}, {"H", 1}, {"W", 8}, {"A", 8}}}},
    {"x: [N, A, W]  z: [N, B, W]  y = Concat(x, z, x) axis=1", {{{"N", 2}, {"A", 2}, {"B", 3}, {"W", 2}}}},
    {"x: [N, A + B, W]  y, z = Split(x) axis=1 split=[A, B]", {{{"N", 2}, {"A", 2}, {"B", 3}, {"W", 2}}}},
    {"x: [N, (A B), W]  y = Transpose(x) perm=[2, 0, 1]", {{{"N", 2}, {"A", 2}, {"B", 3}, {"W", 2}}}},
    // Reshape and the like
    {"x: [N, C, H, W]  y = Reshape(x) shape=[0, -1]", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 2}}}},
    {"x: [N, C, H, W]  y = Reshape(x) shape=[N, C, -1]", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 2}}}},
    {"x: [N, (C H W)]  y = Reshape(x) shape=[0, C, -1, W]", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [B, S, 12, 4]  y = Reshape(x) shape=[B, S, 48]", {{{"B", 2}, {"S", 2}}}},
    {"x: [B, S, 12]  y = Reshape(x) shape=[B, S, 3, -1]", {{{"B", 2}, {"S", 2}}}},
    {"x: [B, 4, 6, 1]  y = Reshape(x) shape=[1, B, 3, 8]", {{{"B", 2}}}},
    {"x: [N, 2, W]  y = Reshape(x) shape=[N, 2W]", {{{"N", 3}, {"W", 2}}}},
    {"x: [2N, W]  y = Reshape(x) shape=[2, N, W]", {{{"N", 3}, {"W", 2}}}},
    {"x: [N, 6W]  y = Reshape(x) shape=[N, 2, W, 3]", {{{"N", 3}, {"W", 2}}}},
    {"x: [N, 2, W, H]  y = Reshape(x) shape=[-1, H]", {{{"N", 3}, {"W", 2}, {"H", 2}}}},
    {"x: [N, W, 4]  y = Reshape(x) shape=[-1, 2]", {{{"N", 3}, {"W", 2}}}},
    {"x: [N, C, H, W]  y = Flatten(x)", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 2}}}},
    {"x: [N, C, H, 2]  y = Flatten(x) axis=2", {{{"N", 2}, {"C", 3}, {"H", 2}}}},
    {"x: [N, C]  y = Flatten(x) axis=0\nz = Flatten(y) axis=2", {{{"N", 2}, {"C", 3}}}},
    {"x: [1, N, 1, C]  y = Squeeze(x) axes=[2, 0]\nz = Unsqueeze(y) axes=[0, 1, 4]", {{{"N", 2}, {"C", 3}}}},
    {"x: [N, C, 2H, 2W]  y = SpaceToDepth(x) blocksize=2", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [N, 9C, H, W]  y = DepthToSpace(x) blocksize=3", {{{"N", 2}, {"C", 2}, {"H", 2}, {"W", 1}}}},
    {"x: [N, 4C, H, W]  y = DepthToSpace(x) blocksize=2 mode=CRD", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [N, 1, (A B)]  y = Expand(x) shape=[3, 1, C, 1]", {{{"N", 2}, {"A", 2}, {"B", 2}, {"C", 3}}}},
    {"x: [N, W]  y = Tile(x) repeats=[2, K]", {{{"N", 2}, {"W", 3}, {"K", 2}}, {{"N", 1}, {"W", 2}, {"K", 1}}}},
    // Arithmetic
    {"x: [N, C, H]  b: [C, 1]  y = Add(x, b)\nz = Sub(b, y)\nu = Mul(z, z)\nv = Neg(u)\nw = Identity(v)",
     {{{"N", 2}, {"C", 3}, {"H", 2}}}},
    {"x: [H, 2]  c = Constant() value=-3 shape=[H, 2]\nd = Constant() value=0.375\ne = Constant() value=0 shape=[H]\ny "
     "= Eye() extent=H",
     {{{"H", 3}}}},
    // Pools, reductions, Gemm, Resize
    {"x: [N, C, H, W]  y = AveragePool(x) kernel_shape=[3, 2] pads=[1, 0, 1, 1] strides=[2, 1] count_include_pad=1",
     {{{"N", 2}, {"C", 2}, {"H", 5}, {"W", 3}}, {{"N", 1}, {"C", 1}, {"H", 2}, {"W", 2}}}},
    {"x: [N, C, W]  y = AveragePool(x) kernel_shape=[2] dilations=[3]", {{{"N", 2}, {"C", 2}, {"W", 5}}}},
    {"x: [(N A), C, 3, 5]  y = GlobalAveragePool(x)", {{{"N", 2}, {"A", 2}, {"C", 2}}}},
    {"x: [N, (A B), C]  y = ReduceSum(x) axes=[1]\nz = ReduceSum(x) axes=[2, 0] keepdims=0\nu = ReduceSum(x) "
     "keepdims=0",
     {{{"N", 2}, {"A", 2}, {"B", 3}, {"C", 2}}}},
    {"x: [N, 3, 2]  y = ReduceMean(x) axes=[1, 2] keepdims=0", {{{"N", 2}}}},
    {"a: [M, K]  b: [K, N]  c: [N]  y = Gemm(a, b, c) alpha=0.5 beta=-2", {{{"M", 3}, {"K", 4}, {"N", 2}}}},
    {"a: [K, M]  b: [N, K]  c: [M, 1]  y = Gemm(a, b, c) transA=1 transB=1\nz = Gemm(a, b, c) transA=1 transB=1 "
     "alpha=0",
     {{{"M", 3}, {"K", 4}, {"N", 2}}}},
    {"x: [N, C, H, W]  y = Resize(x) scales=[1, 1, 1, 1, 2, 1, 3, 1]", {{{"N", 1}, {"C", 2}, {"H", 3}, {"W", 2}}}},
    {"x: [N, (A B), W]  y = Resize(x) scales=[1, 1, 1, 1, 2, 5] coordinate_transformation_mode=asymmetric "
     "nearest_mode=ceil",
     {{{"N", 1}, {"A", 2}, {"B", 2}, {"W", 11}}, {{"N", 1}, {"A", 1}, {"B", 1}, {"W", 3}}}},
    {"x: [N, 3W]  y = Resize(x) sizes=[N, 4W] nearest_mode=round_prefer_ceil",
     {{{"N", 2}, {"W", 1}}, {{"N", 1}, {"W", 5}}}},
    {"x: [N, W]  y = Resize(x) scales=[1, 1, 5, 3] nearest_mode=floor", {{{"N", 2}, {"W", 4}}, {{"N", 1}, {"W", 1}}}},
    {"x: [N, 4]  y = Resize(x) sizes=[N, 7] coordinate_transformation_mode=align_corners", {{{"N", 2}}}},
    {"x: [N, 4]  y = Resize(x) sizes=[N, 3] coordinate_transformation_mode=pytorch_half_pixel", {{{"N", 2}}}},
};

Program parsed(std::string_view text) {
  auto program = parseProgram(text, "case");
  EXPECT_TRUE(program) << (program ? "" : program.error().message()) << "\n" << text;
  return program ? *program : Program();
}

TEST(OpsAccess, SymbolicAndConcrete) {
  for (const Case& c : kCases) {
    Program program = parsed(c.program);
    for (const Bindings& shape : c.shapes) {
      EXPECT_TRUE(accessMatchesKernels(program, shape)) << c.program;
      std::map<std::string, Expr> by(shape.begin(), shape.end());
      auto concrete = program.substitute(by);
      ASSERT_TRUE(concrete) << c.program << "\n" << concrete.error().message();
      EXPECT_TRUE(accessMatchesKernels(*concrete, {})) << c.program << " put in";
    }
  }
}

TEST(OpsAccess, EveryRowWithAccessOccurs) {
  std::set<std::string_view> seen;
  for (const Case& c : kCases) {
    Program program = parsed(c.program);
    for (const Node& n : program.nodes())
      seen.insert(n.op->name);
  }
  for (const OpRow* row : operatorTable())
    EXPECT_TRUE(!row->access || seen.contains(row->name)) << row->name;
}

TEST(OpsAccess, UnknownIsSaid) {
  for (std::string_view text : {
           "x: [N]  y = Pad(x) pads=[1, 1] value=2",
           "c = Constant() value=0.1",
           "x: [N, C, W]  y = AveragePool(x) kernel_shape=[2] pads=[1, 1]",
           "x: [N, C, W]  y = AveragePool(x) kernel_shape=[K]",
           "x: [N, C, W]  y = AveragePool(x) kernel_shape=[2] ceil_mode=1",
           "x: [N, C, W]  y = GlobalAveragePool(x)",
           "x: [N, W]  y = ReduceMean(x) axes=[1]",
           "x: [N, W]  y = Resize(x) sizes=[N, V]",
           "x: [N, W]  y = Resize(x) scales=[1, 1, 2, 1] mode=linear",
           "x: [N, W]  y = Resize(x) sizes=[N, 2W] coordinate_transformation_mode=align_corners",
           "a: [N, W]  b: [W, N]  y = Gemm(a, b) alpha=0.3",
           "x: [N, C, 3, (A B K)]  w: [C, C, 1, 3]  y = Conv(x, w) pads=[0, 1, 0, 1]",
       }) {
    Program program = parsed(text);
    const Node& node = program.nodes().back();
    std::vector<Shape> shapes;
    for (Value v : node.operands)
      shapes.push_back(program.shape(v));
    Index at;
    for (const Dim& d : node.shapes[0])
      at.emplace_back(d.atoms().size(), Expr::variable("v"));
    NameSource names;
    auto access = node.op->access({node.attributes, shapes, node.shapes}, 0, at, names);
    ASSERT_FALSE(access) << text;
    EXPECT_EQ(access.error().kind, ErrorKind::kUnsupported) << text;
  }
}

// The check itself: a relation that is wrong in one place is found.
TEST(OpsAccess, WrongRelationsAreFound) {
  using Access = Expected<std::vector<AccessPiece>> (*)(const OpView&, int, const Index&, NameSource&);
  auto piece = [](Expr at, std::vector<Constraint> domain, int64_t coefficient = 1) {
    return std::vector<AccessPiece>{
        {.coefficient = {coefficient, 1}, .domain = std::move(domain), .reads = {{0, {{at}}}}}};
  };
  static const auto make = piece;
  const Access wrong[] = {
      [](const OpView&, int, const Index& at, NameSource&) -> Expected<std::vector<AccessPiece>> {
        return make(at[0][0], {}, 2);
      },
      [](const OpView&, int, const Index& at, NameSource&) -> Expected<std::vector<AccessPiece>> {
        return make(at[0][0], {Constraint::le(at[0][0], 2)});
      },
      [](const OpView&, int, const Index& at, NameSource&) -> Expected<std::vector<AccessPiece>> {
        return make(at[0][0] + 1, {});
      },
      [](const OpView& v, int, const Index& at, NameSource&) -> Expected<std::vector<AccessPiece>> {
        return make(v.operands[0][0].affine() - 1 - at[0][0], {});
      },
      [](const OpView&, int, const Index& at, NameSource&) -> Expected<std::vector<AccessPiece>> {
        return std::vector<AccessPiece>{{.reduction = {"k"}, .reads = {{0, {{at[0][0]}}}}}};
      },
  };
  for (Access access : wrong) {
    OpRow row = *findOp("Identity");
    row.access = access;
    ProgramBuilder builder;
    Value x = builder.input("x", {Expr::variable("N")});
    auto y = builder.add(row, {x});
    EXPECT_FALSE(accessMatchesKernels(std::move(builder).finish({*y}), {{"N", 4}}));
  }
}

}  // namespace
}  // namespace pet
