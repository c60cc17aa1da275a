#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/propose/skeletons/arrange.h"

namespace pet {
namespace {

using Values = std::vector<Value>;

/// A transposed Conv over N C H W, without groups.
struct Transposed {
  std::string input;
  Shape x;
  Dim taps;  ///< (F R S)
  std::map<std::string, Dim> axes;
  Attributes columns;  ///< of Col2Im
};

std::optional<Transposed> transposed(const PatternFacts& facts) {
  const Node& n = facts.root();
  if (!facts.single || !n.is(ops::kConvTranspose) || n.shapes[0].size() != 4 || n.scalar("group") != Expr(1))
    return std::nullopt;
  const Shape &x = facts.program.shape(n.operands[0]), &w = facts.program.shape(n.operands[1]), &y = facts.output();
  Attributes columns{{"image_shape", std::vector<Expr>{y[2].affine(), y[3].affine()}},
                     {"block_shape", std::vector<Expr>{w[2].affine(), w[3].affine()}}};
  for (const char* name : {"strides", "dilations", "pads"})
    columns[name] = n.attributes.find(name)->second;
  // An image without the output's padding: what is cut off at its end is not computed.
  auto& pads = std::get<std::vector<Expr>>(columns["pads"]);
  for (size_t d = 0; d < 2; ++d)
    pads[2 + d] = pads[2 + d] - n.list("output_padding")[d];
  return Transposed{facts.program.name(n.operands[0]),
                    x,
                    Dim::product({w[1], w[2], w[3]}),
                    {{"n", x[0]}, {"f", w[1]}, {"r", w[2]}, {"s", w[3]}, {"h", x[2]}, {"w", x[3]}},
                    columns};
}

}  // namespace

std::vector<Arrangement> columnsOf(const PatternFacts& facts) {
  auto t = transposed(facts);
  if (!t) return {};
  Dim positions = Dim::product({t->x[2], t->x[3]}), all = Dim::product({t->x[0], t->x[2], t->x[3]});
  auto each = [t](ProgramBuilder& b) { return layout(b, *b.peek().find(t->input), "n c h w -> n c (h w)"); };
  auto toImages = [t](ProgramBuilder& b, const Values& v) { return only(b.add("Col2Im", {v[0]}, t->columns)); };
  auto together = [t](ProgramBuilder& b) { return layout(b, *b.peek().find(t->input), "n c h w -> c (n h w)"); };
  auto apart = [t](ProgramBuilder& b, const Values& v) -> Expected<Values> {
    auto y = layout(b, v[0], "(f r s) (n h w) -> n (f r s) (h w)", t->axes);
    if (!y) return tl::unexpected(y.error());
    return only(b.add("Col2Im", {*y}, t->columns));
  };
  return {{"",
           {{t->input, {t->x[0], t->x[1], positions}, each}},
           {"col2im", {{t->x[0], t->taps, positions}}, toImages},
           "columns"},
          {"",
           {{fmt::format("batch({})", t->input), {t->x[1], all}, together}},
           {"col2im", {{t->taps, all}}, apart},
           "columns"}};
}

}  // namespace pet
