#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "ir/winograd.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/plain_conv.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// Results per tile, and taps.
constexpr std::array<std::pair<int, int>, 4> kTilesAndTaps{{{2, 3}, {4, 3}, {2, 5}, {4, 5}}};

/// A Conv's first axis, which is tiled, and those behind it, which its Convs keep.
struct TiledConv {
  PlainConv conv;
  ConvAxis tiled;
  std::vector<ConvAxis> kept;
};

std::optional<TiledConv> tiledConv(const Program& program) {
  auto conv = plainConv(program);
  if (!conv) return std::nullopt;
  std::vector<ConvAxis> axes = conv->spatial;
  if (conv->frames) axes.insert(axes.begin(), *conv->frames);
  if (axes.size() < 2) return std::nullopt;  // all of it would be Winograd's own products
  return TiledConv{std::move(*conv), axes[0], {axes.begin() + 1, axes.end()}};
}

// --- Sums of values times numbers ---

int64_t commonDenominator(const RationalMatrix& m, int row) {
  int64_t common = 1;
  for (int k = 0; k < m.columns; ++k)
    common = std::lcm(common, m.at(row, k).denominator);
  return common;
}

/// The input's rows as whole numbers; the kernel's have their denominators.
void makeWhole(Winograd& f) {
  for (int q = 0; q < f.input.rows; ++q) {
    const int64_t common = commonDenominator(f.input, q);
    for (int k = 0; k < f.input.columns; ++k)
      f.input.at(q, k) = f.input.at(q, k) * Rational{common, 1};
    for (int r = 0; r < f.kernel.columns; ++r)
      f.kernel.at(q, r) = f.kernel.at(q, r) * Rational{1, common};
  }
}

using Groups = std::vector<AxisGroup>;
using Coefficients = std::vector<Rational>;

bool isNothing(const Rational& a) {
  return a.numerator == 0;
}
Rational minus(const Rational& a) {
  return a * Rational{-1, 1};
}

Coefficients rowOf(const RationalMatrix& m, int row) {
  Coefficients numbers;
  for (int k = 0; k < m.columns; ++k)
    numbers.push_back(m.at(row, k));
  return numbers;
}

Coefficients columnOf(const RationalMatrix& m, int column) {
  Coefficients numbers;
  for (int k = 0; k < m.rows; ++k)
    numbers.push_back(m.at(k, column));
  return numbers;
}

/// Those entries of `a` that are `sign` times those of `b`; nullopt unless the others are the opposite.
std::optional<Coefficients> sharedHalf(const Coefficients& a, const Coefficients& b, int64_t sign) {
  Coefficients result(a.size(), Rational{0, 1});
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k] * Rational{sign, 1}) {
      result[k] = a[k];
    } else if (!(a[k] == b[k] * Rational{-sign, 1})) {
      return std::nullopt;
    }
  }
  return result;
}

/// Of the points p and -p two rows (or columns) are a + b and a - b.
struct Halves {
  Coefficients even, odd;
};
std::optional<Halves> halvesOf(const Coefficients& a, const Coefficients& b) {
  auto even = sharedHalf(a, b, 1);
  if (!even) return std::nullopt;
  Coefficients odd = a;
  for (size_t k = 0; k < a.size(); ++k) {
    if (!isNothing((*even)[k])) odd[k] = Rational{0, 1};
  }
  auto allZero = [](const Coefficients& n) { return std::all_of(n.begin(), n.end(), isNothing); };
  if (allZero(*even) || allZero(odd)) return std::nullopt;
  return Halves{std::move(*even), std::move(odd)};
}

/// For each of `lines` the line that it shares halves with, behind it; itself, where there is none; -1 for that line.
std::vector<int> partners(const std::vector<Coefficients>& lines) {
  std::vector<int> result(lines.size());
  std::iota(result.begin(), result.end(), 0);
  for (size_t a = 0; a < lines.size(); ++a) {
    if (result[a] != static_cast<int>(a)) continue;
    for (size_t b = a + 1; b < lines.size(); ++b) {
      if (result[b] != static_cast<int>(b) || !halvesOf(lines[a], lines[b])) continue;
      result[a] = static_cast<int>(b);
      result[b] = -1;
      break;
    }
  }
  return result;
}

// --- The program ---

class OneAxisWriter {
 public:
  OneAxisWriter(const Program& pattern, const TiledConv& tiled, int m, int r, const Winograd& f)
      : tiled_(tiled),
        m_(m),
        r_(r),
        f_(f),
        form_(pattern),
        image_{{"n", tiled.conv.images}},
        channel_{{"c", tiled.conv.channels}},
        filter_{{"f", tiled.conv.filters}},
        tile_{{"a", ceilDiv(tiled.tiled.out, m * tiled.tiled.dilation)}} {
    if (tiled.tiled.dilation > 1) phase_.push_back({"p", tiled.tiled.dilation});
    for (size_t i = 0; i < tiled.kept.size(); ++i) {
      in_.push_back({{i + 1 == tiled.kept.size() ? "w" : "h", tiled.kept[i].in}});
      out_.push_back({{i + 1 == tiled.kept.size() ? "w" : "h", tiled.kept[i].out}});
      taps_.push_back({{i + 1 == tiled.kept.size() ? "s" : "r", tiled.kept[i].taps}});
    }
  }
  Expected<Program> write() &&;

 private:
  /// Frames lie in the batch, so that the Convs are those of images.
  bool areFrames() const { return tiled_.conv.frames.has_value(); }
  Value scaled(const Rational& by, Value x);
  Value sum(const Coefficients& numbers, const std::vector<Value>& values);
  std::vector<Value> kernels();
  std::vector<Value> positions();
  std::vector<Value> inputs();
  Value conv(Value x, Value kernel);
  std::vector<Value> outputs(const std::vector<Value>& products);
  Value joined(const std::vector<Value>& phases);

  const TiledConv& tiled_;
  const int64_t m_, r_;
  const Winograd& f_;
  ProgramWriter form_;
  const AxisGroup image_, channel_, filter_, tile_;
  AxisGroup phase_;
  Groups in_, out_, taps_;  ///< of the axes behind the first
};

Groups operator+(Groups a, const Groups& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Value OneAxisWriter::scaled(const Rational& by, Value x) {
  if (by == Rational{1, 1}) return x;
  const double number = static_cast<double>(by.numerator) / static_cast<double>(by.denominator);
  return form_.add(ops::kMul.text, {x, form_.constant(number)});
}

/// Those that are subtracted come last, so that no term is negated where one is added.
Value OneAxisWriter::sum(const Coefficients& numbers, const std::vector<Value>& values) {
  std::optional<Value> total;
  for (size_t k = 0; k < numbers.size(); ++k) {
    if (numbers[k].numerator <= 0) continue;
    const Value term = scaled(numbers[k], values[k]);
    total = total ? form_.add(ops::kAdd.text, {*total, term}) : term;
  }
  for (size_t k = 0; k < numbers.size(); ++k) {
    if (numbers[k].numerator >= 0) continue;
    total = total ? form_.add(ops::kSub.text, {*total, scaled(minus(numbers[k]), values[k])})
                  : scaled(numbers[k], values[k]);
  }
  return *total;
}

// u_q[f, c, …] = Σ_r kernel[q, r] w[f, c, r, …]: a fraction times a sum with whole coefficients
std::vector<Value> OneAxisWriter::kernels() {
  const Value w = form_.find(tiled_.conv.w);
  std::vector<Value> rows;
  for (int64_t t = 0; t < r_; ++t) {
    const Value row = form_.slice(w, 2, t, t + 1);
    rows.push_back(form_.layout(row, Groups{filter_, channel_, {}} + taps_, Groups{filter_, channel_} + taps_));
  }
  std::vector<Value> result;
  for (int q = 0; q < f_.kernel.rows; ++q) {
    const int64_t common = commonDenominator(f_.kernel, q);
    Coefficients whole = rowOf(f_.kernel, q);
    for (Rational& c : whole)
      c = c * Rational{common, 1};
    Value kernel = sum(whole, rows);
    if (common > 1) {
      const Value fraction =
          form_.add("Table", {},
                    {{"shape", std::vector<Expr>{1}}, {"values", std::vector<Expr>{1}}, {"denominator", Expr(common)}});
      kernel = form_.add(ops::kMul.text, {kernel, fraction});
    }
    result.push_back(
        areFrames() ? kernel
                    : form_.layout(kernel, Groups{filter_, channel_} + taps_, Groups{filter_, channel_, {}} + taps_));
  }
  return result;
}

// x_k[…, a, …] = x[…, (m a + k) δ + p - begin, …], for the δ phases p of a Conv with dilation δ
std::vector<Value> OneAxisWriter::positions() {
  const ConvAxis& axis = tiled_.tiled;
  const Expr rows = tile_[0].extent.affine() * m_ + (r_ - 1);
  const AxisGroup row{{"t", rows}};
  Value x = form_.pad(form_.find(tiled_.conv.x), {{2, axis.begin, rows * axis.dilation - axis.in - axis.begin}});
  size_t dim = 2;
  Groups images{image_ + phase_};
  if (areFrames()) {
    dim = 1;
    images = {image_, row, phase_};
    if (phase_.empty()) images.pop_back();
    x = form_.layout(x, Groups{image_, channel_, row + phase_} + in_, images + Groups{channel_} + in_);
    images[dim] = tile_;
  } else if (!phase_.empty()) {
    x = form_.layout(x, Groups{image_, channel_, row + phase_} + in_, Groups{image_ + phase_, channel_, row} + in_);
  }
  std::vector<Value> result;
  for (int64_t k = 0; k < m_ + r_ - 1; ++k) {
    const Value part = form_.add(ops::kSlice.text, {x},
                                 {{"axes", std::vector<Expr>{static_cast<int64_t>(dim)}},
                                  {"starts", std::vector<Expr>{k}},
                                  {"ends", std::vector<Expr>{(tile_[0].extent.affine() - 1) * m_ + (k + 1)}},
                                  {"steps", std::vector<Expr>{m_}}});
    result.push_back(areFrames() ? form_.layout(part, images + Groups{channel_} + in_,
                                                Groups{image_ + tile_ + phase_, channel_} + in_)
                                 : part);
  }
  return result;
}

// v_q = Σ_k input[q, k] x_k
std::vector<Value> OneAxisWriter::inputs() {
  const std::vector<Value> x = positions();
  std::vector<Coefficients> rows;
  for (int q = 0; q < f_.input.rows; ++q)
    rows.push_back(rowOf(f_.input, q));
  const std::vector<int> partner = partners(rows);
  std::vector<Value> result(rows.size());
  for (size_t q = 0; q < rows.size(); ++q) {
    if (partner[q] < 0) continue;
    if (partner[q] == static_cast<int>(q)) {
      result[q] = sum(rows[q], x);
      continue;
    }
    const auto other = static_cast<size_t>(partner[q]);
    const Halves halves = *halvesOf(rows[q], rows[other]);
    const Value even = sum(halves.even, x), odd = sum(halves.odd, x);
    result[q] = form_.add(ops::kAdd.text, {even, odd});
    result[other] = form_.add(ops::kSub.text, {even, odd});
  }
  return result;
}

Value OneAxisWriter::conv(Value x, Value kernel) {
  std::vector<Expr> begins, ends, dilations;
  if (!areFrames()) {
    begins = ends = {0};
    dilations = {1};
  }
  for (const ConvAxis& a : tiled_.kept) {
    begins.push_back(a.begin);
    ends.push_back(a.end);
    dilations.push_back(a.dilation);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  return form_.add(ops::kConv.text, {x, kernel}, {{"pads", std::move(begins)}, {"dilations", std::move(dilations)}});
}

// y_i = Σ_q output[i, q] products_q
std::vector<Value> OneAxisWriter::outputs(const std::vector<Value>& products) {
  std::vector<Coefficients> columns;
  for (int q = 0; q < f_.output.columns; ++q)
    columns.push_back(columnOf(f_.output, q));
  const std::vector<int> partner = partners(columns);
  std::vector<Coefficients> terms;
  std::vector<Value> values;
  for (size_t q = 0; q < columns.size(); ++q) {
    if (partner[q] < 0) continue;
    if (partner[q] == static_cast<int>(q)) {
      terms.push_back(columns[q]);
      values.push_back(products[q]);
      continue;
    }
    const auto other = static_cast<size_t>(partner[q]);
    Halves halves = *halvesOf(columns[q], columns[other]);
    terms.push_back(std::move(halves.even));
    values.push_back(form_.add(ops::kAdd.text, {products[q], products[other]}));
    terms.push_back(std::move(halves.odd));
    values.push_back(form_.add(ops::kSub.text, {products[q], products[other]}));
  }
  std::vector<Value> result;
  for (size_t i = 0; i < static_cast<size_t>(m_); ++i) {
    Coefficients row;
    for (const Coefficients& column : terms)
      row.push_back(column[i]);
    result.push_back(sum(row, values));
  }
  return result;
}

// y[n, f, (m a + i) δ + p, …] = y_i[…]
Value OneAxisWriter::joined(const std::vector<Value>& phases) {
  const AxisGroup which{{"i", m_}};
  const Groups from =
      areFrames() ? Groups{image_ + tile_ + phase_, filter_} + out_ : Groups{image_ + phase_, filter_, tile_} + out_;
  auto split = [&](const AxisGroup& i) {
    return areFrames() ? Groups{image_ + tile_, i, phase_, filter_} + out_
                       : Groups{image_ + phase_, filter_, tile_, i} + out_;
  };
  std::vector<Value> parts;
  for (Value y : phases)
    parts.push_back(form_.layout(y, from, split({})));
  const Value all = form_.concat(std::move(parts), areFrames() ? 1 : 3);
  const Value y = form_.layout(all, split(which), Groups{image_, filter_, tile_ + which + phase_} + out_);
  return form_.crop(y, 2, {tiled_.tiled.out});
}

Expected<Program> OneAxisWriter::write() && {
  const std::vector<Value> w = kernels(), x = inputs();
  std::vector<Value> products;
  for (size_t q = 0; q < x.size(); ++q)
    products.push_back(conv(x[q], w[q]));
  const Value y = joined(outputs(products));
  return std::move(form_).finish(y);
}

std::optional<Template> oneAxisTemplate(const Pattern& pattern, int m, int r) {
  const auto general = tiledConv(pattern.program);
  if (!general) return std::nullopt;
  const auto where = withTaps({general->tiled}, r);
  if (!where) return std::nullopt;
  const auto source = pattern.program.substitute({where->begin(), where->end()});
  const auto conv = source ? tiledConv(*source) : std::nullopt;
  auto f = winograd(m, r);
  if (!conv || !f) return std::nullopt;
  makeWhole(*f);
  auto program = OneAxisWriter(*source, *conv, m, r, *f).write();
  if (!program) return std::nullopt;
  const char axis = conv->kept.size() == 1 ? 'h' : 'd';
  ShapeClass shapes = classOf(pattern, *where, *program);
  return Template{fmt::format("winograd-{}-{}-{}", axis, m, r), "winograd-of-one-axis", *where, std::move(shapes),
                  std::move(*program)};
}

}  // namespace

std::vector<Template> winogradOfOneAxisTemplates(const Pattern& pattern) {
  std::vector<Template> templates;
  for (auto [m, r] : kTilesAndTaps) {
    if (auto t = oneAxisTemplate(pattern, m, r)) templates.push_back(std::move(*t));
  }
  return templates;
}

}  // namespace pet
