#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/plain_conv.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// Columns of the result that become channels: with 5 rows and one filter, 3 make 15 channels of 16; with 3 rows, 5.
constexpr std::array<int64_t, 4> kColumns{1, 2, 3, 5};
constexpr int64_t kSlabs = 8;

/// p[n, (j f r), h, b] = Σ w[f, c, r, t - j] x[n, c, h - P, columns·b + t - Q]
/// y[n, f, h, columns·b + j] = Σ_r p[n, (j f r), h + r, b]
class RowsAsChannels {
 public:
  RowsAsChannels(ProgramWriter& writer, const PlainConv& conv, int64_t columns)
      : writer_(writer),
        rows_(conv.spatial[0]),
        cols_(conv.spatial[1]),
        columns_(columns),
        blocks_(ceilDiv(cols_.out, columns)),
        image_{"n", conv.images},
        filter_{"f", conv.filters},
        column_{"j", columns} {
    auto variable = [](const char* name) { return Expr::variable(name); };
    IndexMapSpec map;
    map.dims = {
        {column_, filter_, {"r", rows_.taps}}, {{"c", conv.channels}}, {{"k", 1}}, {{"t", cols_.taps + (columns - 1)}}};
    map.source = {{variable("f")}, {variable("c")}, {variable("r")}, {variable("t") - variable("j")}};
    weights_ = writer_.add("IndexMap", {writer_.find(conv.w)}, {{"map", std::move(map)}}, "rows");
  }

  /// Of some rows of x; `begin` and `end` rows of zeros before and behind.
  Value products(Value x, const Expr& begin, const Expr& end, std::string name = "") {
    const Expr right = blocks_ * columns_ - cols_.out + cols_.end;
    return writer_.add(
        "Conv", {x, weights_},
        {{"strides", std::vector<Expr>{1, columns_}}, {"pads", std::vector<Expr>{begin, cols_.begin, end, right}}},
        std::move(name));
  }

  Value result(Value products) {
    Value sums = writer_.add(
        "OffsetReduce", {products},
        {{"kernel_shape", std::vector<Expr>{rows_.taps, 1}}, {"dilations", std::vector<Expr>{rows_.dilation, 1}}},
        "sums");
    const LayoutAxis row{"h", rows_.out}, block{"b", blocks_};
    Value y = writer_.layout(sums, {{image_}, {column_, filter_}, {row}, {block}},
                             {{image_}, {filter_}, {row}, {block, column_}});
    return columns_ == 1 ? y : writer_.crop(y, 3, {cols_.out});
  }

 private:
  ProgramWriter& writer_;
  const ConvAxis &rows_, &cols_;
  const int64_t columns_;
  const Expr blocks_;
  const LayoutAxis image_, filter_, column_;
  Value weights_;
};

std::optional<PlainConv> convOfRows(const Program& p, Value v) {
  auto conv = plainConv(p, p.node(v));
  bool fits = conv && !conv->frames && conv->spatial.size() == 2 && conv->spatial[1].dilation == 1;
  return fits ? conv : std::nullopt;
}

/// Convs of which all but the first and the last compute each row of an image from the same row, and what is
/// element-wise between them.
struct ChainOfConvs {
  PlainConv first, last;
  Value begin;               ///< the first one's result
  std::vector<Value> inner;  ///< in order, each a function of the one before
};

/// A function of one value that keeps its rows apart.
bool keepsRows(const Program& p, const Node& n) {
  auto constantFrom = [&](size_t i) {
    return std::all_of(n.operands.begin() + static_cast<std::ptrdiff_t>(i), n.operands.end(),
                       [&](Value v) { return isConstant(p, v); });
  };
  if (n.is(ops::kConv)) {
    auto conv = plainConv(p, n);
    if (!conv || conv->frames || conv->spatial.size() != 2) return false;
    const ConvAxis& rows = conv->spatial[0];
    return rows.taps == Expr(1) && rows.begin == Expr(0) && rows.end == Expr(0);
  }
  if (n.is(ops::kAdd)) return constantFrom(1) && p.shape(n.operands[1]).size() == 3;  // [channels, 1, 1]
  return n.op->facts.elementwise && n.operands.size() == 1;
}

std::optional<ChainOfConvs> chainOfConvs(const Program& p) {
  auto last = convOfRows(p, p.outputs()[0]);
  if (!last) return std::nullopt;
  std::vector<Value> inner;
  Value v = p.node(p.outputs()[0]).operands[0];
  while (!p.node(v).operands.empty() && keepsRows(p, p.node(v))) {
    inner.insert(inner.begin(), v);
    v = p.node(v).operands[0];
  }
  auto first = convOfRows(p, v);
  bool readsInput = first && p.node(p.node(v).operands[0]).is(ops::kInput);
  if (!readsInput || inner.empty()) return std::nullopt;
  return ChainOfConvs{*first, *last, v, std::move(inner)};
}

std::optional<Template> wholeTemplate(const Pattern& pattern, const PlainConv& conv, int64_t columns) {
  ProgramWriter writer(pattern.program);
  RowsAsChannels rows(writer, conv, columns);
  Value products = rows.products(writer.find(conv.x), conv.spatial[0].begin, conv.spatial[0].end, "products");
  auto program = std::move(writer).finish(rows.result(products));
  if (!program) return std::nullopt;
  return Template{
      fmt::format("rows-as-channels-{}", columns), "offset-reduce", {}, classOf(pattern, {}, *program), *program};
}

/// As many rows of the first Conv's result as slabs have together. Nullopt: its input's rows are no symbol.
std::optional<std::pair<std::string, Expr>> wholeSlabs(const ChainOfConvs& chain) {
  const ConvAxis& a = chain.first.spatial[0];
  auto symbol = a.in.asVariable();
  if (!symbol) return std::nullopt;
  return std::pair{*symbol, Expr::variable(fmt::format("{}{}", *symbol, kSlabs)) * kSlabs + (a.in - a.out)};
}

/// The chain in slabs of rows, which the first Conv reads with those around them; the rows of the last Conv's kernel as
/// channels, so that it keeps rows apart as well.
Expected<Program> slabs(const Program& p, const ChainOfConvs& chain, int64_t columns) {
  const ConvAxis& above = chain.first.spatial[0];
  const ConvAxis& below = chain.last.spatial[0];
  const Expr height = *above.out.dividedBy(kSlabs), halo = above.in + above.begin + above.end - above.out;
  ProgramWriter writer(p);
  RowsAsChannels rows(writer, chain.last, columns);
  std::vector<Value> slabs;
  for (int64_t k = 0; k < kSlabs; ++k) {
    bool top = k == 0, bottom = k == kSlabs - 1;
    Value x = writer.slice(writer.find(chain.first.x), 2, top ? Expr(0) : height * k - above.begin,
                           bottom ? above.in : height * (k + 1) + halo - above.begin);
    Attributes attributes = p.node(chain.begin).attributes;
    auto& pads = std::get<std::vector<Expr>>(attributes["pads"]);
    if (!top) pads[0] = 0;
    if (!bottom) pads[2] = 0;
    Value v = writer.add("Conv", {x, writer.find(chain.first.w)}, std::move(attributes));
    for (Value inner : chain.inner) {
      const Node& n = p.node(inner);
      std::vector<Value> operands{v};
      for (size_t i = 1; i < n.operands.size(); ++i)
        operands.push_back(writer.find(p.name(n.operands[i])));
      v = writer.add(n.op->name, std::move(operands), n.attributes);
    }
    slabs.push_back(rows.products(v, top ? below.begin : 0, bottom ? below.end : 0));
  }
  return std::move(writer).finish(rows.result(writer.concat(std::move(slabs), 2)));
}

std::optional<Template> slabTemplate(const Pattern& pattern, int64_t columns) {
  auto general = chainOfConvs(pattern.program);
  auto where = general ? wholeSlabs(*general) : std::nullopt;
  if (!where) return std::nullopt;
  auto source = pattern.program.substitute({*where});
  auto chain = source ? chainOfConvs(*source) : std::nullopt;
  if (!chain) return std::nullopt;
  auto program = slabs(*source, *chain, columns);
  if (!program) return std::nullopt;
  return Template{fmt::format("slabs-{}-rows-as-channels-{}", kSlabs, columns),
                  "slabs+offset-reduce",
                  {*where},
                  classOf(pattern, {*where}, *program),
                  *program};
}

}  // namespace

std::vector<Template> kernelRowTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  auto conv = p.nodes().size() == 3 ? convOfRows(p, p.outputs()[0]) : std::nullopt;
  std::vector<Template> templates;
  for (int64_t columns : kColumns) {
    if (conv) {
      if (auto made = wholeTemplate(pattern, *conv, columns)) templates.push_back(std::move(*made));
    }
    if (auto made = slabTemplate(pattern, columns)) templates.push_back(std::move(*made));
  }
  return templates;
}

}  // namespace pet
