#include "ir/winograd.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "synth/propose/program_writer.h"
#include "synth/propose/templates/plain_conv.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// Results per tile, and taps. Larger tiles save more and round worse.
constexpr std::array<std::pair<int, int>, 4> kSizes{{{2, 3}, {4, 3}, {6, 3}, {4, 5}}};

// --- The constants ---

/// The matrix for two axes at once: M[r1, c1] · M[r2, c2] at (r1 r2), (c1 c2).
RationalMatrix squared(const RationalMatrix& m) {
  RationalMatrix result(m.rows * m.rows, m.columns * m.columns);
  for (int r = 0; r < result.rows; ++r) {
    for (int c = 0; c < result.columns; ++c)
      result.at(r, c) = m.at(r / m.rows, c / m.columns) * m.at(r % m.rows, c % m.columns);
  }
  return result;
}

// --- The program ---

/// Phases stand behind the first symbol of each product of extents, so that a position has few cases (a product's
/// numbers belong to its first symbol).
class WinogradWriter {
 public:
  WinogradWriter(const Program& pattern, const PlainConv& conv, int m, int r, const Winograd& f);
  Expected<Program> write() &&;

 private:
  size_t axes() const { return conv_.spatial.size(); }
  /// So many zeros behind an axis that it is whole tiles, of every phase.
  Expr endPad(size_t i) const {
    const ConvAxis& a = conv_.spatial[i];
    return (tiles_[i].extent.affine() * m_ + (r_ - 1)) * a.dilation - a.in - a.begin;
  }
  Value table(const RationalMatrix& matrix, std::vector<Expr> shape, const char* name);
  Value kernels();
  Value tiles();
  Value framesAsChannels(Value x);
  Value results(Value products);

  const PlainConv& conv_;
  const int64_t m_, r_, points_;
  const Winograd& f_;
  ProgramWriter form_;
  const AxisGroup images_, channels_, filters_, point_;
  AxisGroup frames_, tiles_, phases_;  ///< frames: of the result
};

WinogradWriter::WinogradWriter(const Program& pattern, const PlainConv& conv, int m, int r, const Winograd& f)
    : conv_(conv),
      m_(m),
      r_(r),
      points_(conv.spatial.size() == 2 ? f.input.rows * f.input.rows : f.input.rows),
      f_(f),
      form_(pattern),
      images_{{"n", conv.images}},
      channels_{{"c", conv.channels}},
      filters_{{"f", conv.filters}},
      point_{{"u", points_}} {
  if (conv.frames) frames_.push_back({"d", conv.frames->out});
  bool dilated = std::any_of(conv.spatial.begin(), conv.spatial.end(), [](const auto& a) { return a.dilation > 1; });
  for (size_t i = 0; i < axes(); ++i) {
    const ConvAxis& a = conv.spatial[i];
    tiles_.push_back({i == 0 ? "a" : "b", ceilDiv(a.out, m_ * a.dilation)});
    if (dilated) phases_.push_back({i == 0 ? "p" : "q", a.dilation});
  }
}

Value WinogradWriter::table(const RationalMatrix& matrix, std::vector<Expr> shape, const char* name) {
  Attributes attributes = tableOf(axes() == 2 ? squared(matrix) : matrix);
  attributes["shape"] = std::move(shape);
  return form_.add("Table", {}, std::move(attributes), name);
}

// u[q, f, (t c)] = Σ_r kernel[q, r] w[f, c, t, r]
Value WinogradWriter::kernels() {
  std::vector<Expr> shape{points_, 1};
  shape.insert(shape.end(), axes(), r_);
  Value kernel = table(f_.kernel, std::move(shape), "kernel");
  AxisGroup taps;
  if (conv_.frames) taps.push_back({"t", conv_.frames->taps});
  std::vector<AxisGroup> from{filters_, channels_}, to{filters_ + taps + channels_, {}},
      one{filters_ + taps + channels_, point_};
  if (conv_.frames) from.push_back(taps);
  for (size_t i = 0; i < axes(); ++i) {
    AxisGroup tap{{i == 0 ? "r" : "s", r_}};
    from.push_back(tap);
    to.push_back(tap);
    one.emplace_back();
  }
  Value transformed = form_.add("Conv", {form_.layout(form_.find(conv_.w), from, to), kernel});
  return form_.layout(transformed, one, {point_, filters_, taps + channels_}, "kernels");
}

// v[q, (t c), (n d … tile)] = Σ_k input[q, k] x[n, c, d + t, m·tile + k]
Value WinogradWriter::tiles() {
  std::vector<Expr> shape{points_, 1};
  shape.insert(shape.end(), axes(), m_ + r_ - 1);
  Value input = table(f_.input, std::move(shape), "input");
  Value x = form_.find(conv_.x);
  std::vector<Expr> pads(2 * axes(), 0);
  std::vector<DimPad> padded;
  for (size_t i = 0; i < axes(); ++i) {
    padded.push_back({form_.shape(x).size() - axes() + i, conv_.spatial[i].begin, endPad(i)});
    if (!phases_.empty()) continue;
    pads[i] = conv_.spatial[i].begin;
    pads[axes() + i] = endPad(i);
  }
  if (!phases_.empty()) x = form_.pad(x, padded);
  AxisGroup frames;
  if (conv_.frames) frames.push_back({"d", conv_.frames->in});
  const AxisGroup images = images_ + phases_ + channels_ + frames;
  std::vector<AxisGroup> from{images_, channels_}, to{images, {}}, cut{images, point_};
  if (conv_.frames) from.push_back(frames);
  for (size_t i = 0; i < axes(); ++i) {
    const ConvAxis& a = conv_.spatial[i];
    AxisGroup row{{i == 0 ? "h" : "w", phases_.empty() ? a.in : tiles_[i].extent.affine() * m_ + (r_ - 1)}};
    from.push_back(phases_.empty() ? row : row + AxisGroup{phases_[i]});
    to.push_back(row);
    cut.push_back({tiles_[i]});
  }
  Value t = form_.add("Conv", {form_.layout(x, from, to), input},
                      {{"strides", std::vector<Expr>(axes(), m_)}, {"pads", std::move(pads)}}, "tiles");
  if (!conv_.frames) return form_.layout(t, cut, {point_, channels_, images_ + phases_ + tiles_});
  return framesAsChannels(form_.layout(t, cut, {point_, channels_, images_ + phases_, frames, tiles_}));
}

/// Channels of as many frames as the kernel has.
Value WinogradWriter::framesAsChannels(Value x) {
  const ConvAxis& f = *conv_.frames;
  Value held = form_.pad(x, {{3, f.begin, f.end}});
  std::vector<Value> parts;
  for (int64_t t = 0; t < *f.taps.asConstant(); ++t)
    parts.push_back(form_.slice(held, 3, t * f.dilation, f.out + t * f.dilation));
  AxisGroup neighbours{{"c", conv_.channels * *f.taps.asConstant()}};
  return form_.layout(form_.concat(std::move(parts), 1), {point_, neighbours, images_ + phases_, frames_, tiles_},
                      {point_, neighbours, images_ + phases_ + frames_ + tiles_});
}

// y[n, f, d, m·tile + o] = Σ_q output[o, q] products[q, f, (n d … tile)]
Value WinogradWriter::results(Value products) {
  std::vector<Expr> shape(axes(), m_);
  shape.emplace_back(points_);
  Value output = table(f_.output, std::move(shape), "output");
  AxisGroup offsets;
  std::vector<AxisGroup> rows;
  for (size_t i = 0; i < axes(); ++i) {
    offsets.push_back({i == 0 ? "i" : "j", m_});
    rows.push_back({offsets[i]});
  }
  rows.push_back(point_);
  const AxisGroup flat = filters_ + phases_ + images_ + frames_ + tiles_;
  Value matrix = form_.layout(output, rows, {offsets, point_});
  Value columns = form_.layout(products, {point_, filters_, images_ + phases_ + frames_ + tiles_}, {point_, flat});
  std::vector<AxisGroup> to{images_, filters_};
  if (conv_.frames) to.push_back(frames_);
  for (size_t i = 0; i < axes(); ++i)
    to.push_back(AxisGroup{tiles_[i], offsets[i]} + (phases_.empty() ? AxisGroup{} : AxisGroup{phases_[i]}));
  Value y = form_.layout(form_.add("MatMul", {matrix, columns}, {}, "results"), {offsets, flat}, to);
  std::vector<Expr> extents;
  for (const ConvAxis& a : conv_.spatial)
    extents.push_back(a.out);
  return form_.crop(y, to.size() - axes(), extents);
}

Expected<Program> WinogradWriter::write() && {
  Value u = kernels(), v = tiles();
  Value y = results(form_.add("MatMul", {u, v}, {}, "products"));
  return std::move(form_).finish(y);
}

std::string familyOf(const PlainConv& conv) {
  bool dilated = std::any_of(conv.spatial.begin(), conv.spatial.end(), [](const auto& a) { return a.dilation > 1; });
  return dilated ? "phases+winograd" : conv.frames ? "frames+winograd" : "winograd";
}

std::optional<Template> winogradTemplate(const Pattern& pattern, int m, int r) {
  auto general = plainConv(pattern.program);
  auto where = general ? withTaps(general->spatial, r) : std::nullopt;
  if (!where) return std::nullopt;
  auto source = pattern.program.substitute({where->begin(), where->end()});
  auto conv = source ? plainConv(*source) : std::nullopt;
  auto f = winograd(m, r);
  if (!conv || !f) return std::nullopt;
  auto program = WinogradWriter(*source, *conv, m, r, *f).write();
  if (!program) return std::nullopt;
  ShapeClass shapes = classOf(pattern, *where, *program);
  return Template{fmt::format("winograd-{}-{}", m, r), familyOf(*conv), *where, std::move(shapes), std::move(*program)};
}

}  // namespace

std::vector<Template> winogradTemplates(const Pattern& pattern) {
  std::vector<Template> templates;
  for (auto [m, r] : kSizes) {
    if (auto made = winogradTemplate(pattern, m, r)) templates.push_back(std::move(*made));
  }
  return templates;
}

}  // namespace pet
