// Relations of the operators whose result is a sum, or the largest, over windows or whole dimensions.

#include <map>
#include <utility>

#include <fmt/format.h>

#include "rules/check/meaning/relation.h"

namespace pet::check {
namespace {

/// ONNX's names of a window's attributes along spatial dimension d.
struct Window {
  int64_t stride, dilation;
  Expr begin, end;

  Window(const Call& call, size_t d)
      : stride(call.integer("strides", d)),
        dilation(call.integer("dilations", d)),
        begin(call.list("pads")[d]),
        end(call.list("pads")[call.list("pads").size() / 2 + d]) {
    auto automatic = call.node.attributes.find("auto_pad");
    if (automatic != call.node.attributes.end() && std::get<std::string>(automatic->second) != "NOTSET")
      throw Opaque("pads that are not given");
  }

  /// The operand's position under tap r of the window at v.
  Expr reads(const Expr& v, const Expr& r) const { return v * stride + r * dilation - begin; }
};

size_t spatialRank(const Call& call) {
  return call.result().size() - 2;
}

std::string tapName(size_t d) {
  if (d > 2) throw Opaque("more than three spatial dimensions");
  return std::string(1, "rsq"[d]);
}

/// Where tap r reads along a dimension: in a product (… M W) the shift of w may carry by one.
std::vector<std::vector<Expr>> shifted(const Dim& dim,
                                       const std::vector<Expr>& v,
                                       const Window& window,
                                       const Expr& r) {
  if (dim.isAffine()) return {{window.reads(v[0], r)}};
  if (dim.atoms().size() > 2) throw Opaque("carry over more than two digits in " + dim.str());
  std::vector<std::vector<Expr>> cases;
  for (int64_t carry = -1; carry <= 1; ++carry)
    cases.push_back({v[0] + carry, window.reads(v[1], r) - dim.atoms()[1] * carry});
  return cases;
}

/// Divides by an extent: in the coefficient if it is a number.
void divide(Clause& clause, const Expr& extent) {
  // A number in all of the extent goes into the coefficient.
  const int64_t number = std::max<int64_t>(extent.content(), 1);
  const Expr symbolic = extent.dividedBy(number).value();
  clause.coefficient = clause.coefficient * Fraction{1, number};
  if (symbolic == Expr(1)) return;
  clause.constants.push_back({.kind = Factor::Kind::kConstant, .key = "1/", .parameters = {symbolic}});
}

/// operand 0 under the window of each spatial dimension; bounds only where a window can reach out.
Clause pool(const Call& call, const Position& at, Names& names) {
  Clause clause{.reads = {{0, {at[0], at[1]}}}};
  Position& read = clause.reads[0].at;
  std::vector<Expr> taps;
  for (size_t d = 0; d < spatialRank(call); ++d)
    taps.push_back(clause.draw("r", call.list("kernel_shape")[d], names));
  for (size_t d = 0; d < spatialRank(call); ++d) {
    Window window(call, d);
    const Dim& extent = call.operands[0][2 + d];
    line(extent);
    read.push_back({window.reads(at[2 + d][0], taps[d])});
    bool stays = window.begin == Expr(0) && window.end == Expr(0) && call.integer("ceil_mode") == 0;
    if (!stays) clause.inside(read.back(), extent);
  }
  return clause;
}

/// Σ over all positions of some dimensions.
Clause over(const Shape& x, const std::vector<bool>& gone, bool keeps, const Position& at, Names& names) {
  Clause clause{.reads = {{0, {}}}};
  for (size_t d = 0, v = 0; d < x.size(); ++d) {
    clause.reads[0].at.push_back(gone[d] ? clause.drawAll("k", x[d], names) : at[v]);
    if (!gone[d] || keeps) ++v;
  }
  return clause;
}

std::vector<bool> listedAxes(const Call& call) {
  const auto& axes = call.list("axes");
  std::vector<bool> gone(call.operands[0].size(), axes.empty());
  for (const Expr& a : axes)
    gone[static_cast<size_t>(Call::number(a))] = true;
  return gone;
}

std::vector<bool> spatialAxes(const Call& call) {
  std::vector<bool> gone(call.operands[0].size(), true);
  gone[0] = gone[1] = false;
  return gone;
}

std::vector<Clause> mean(const Call& call, const std::vector<bool>& gone, Clause sum) {
  for (size_t d = 0; d < gone.size(); ++d) {
    if (!gone[d]) continue;
    for (const Expr& atom : call.operands[0][d].atoms())
      divide(sum, atom);
  }
  return {std::move(sum)};
}

Dim withoutGroups(const Dim& channels, const Expr& groups, const std::vector<Dim>& candidates) {
  for (const Dim& d : candidates) {
    if (Dim::product({groups, d}) == channels) return d;
  }
  throw Opaque(fmt::format("{} channels in {} groups", channels.str(), groups.str()));
}

/// channels / groups: a number or a content may have moved to the front.
Dim perGroup(const Dim& channels, const Expr& groups) {
  if (groups == Expr(1)) return channels;
  std::vector<Dim> rest(channels.atoms().begin() + 1, channels.atoms().end());
  const Expr& first = channels.atoms()[0];
  std::vector<Dim> candidates;
  auto tryFirst = [&](const Expr& e) {
    std::vector<Dim> factors{e};
    factors.insert(factors.end(), rest.begin(), rest.end());
    candidates.push_back(Dim::product(factors));
  };
  if (auto number = groups.asConstant()) {
    if (auto e = *number > 0 ? first.dividedBy(*number) : std::nullopt) tryFirst(*e);
  } else if (int64_t content = groups.content(); content > 0 && first.content() % content == 0) {
    tryFirst(first.content() / content);
  }
  return withoutGroups(channels, groups, candidates);
}

}  // namespace

/// y[…, v, …] = Σ_k x[…, k, …], of the positions up to v, or from v on
std::vector<Clause> cumSumRelation(const Call& call, const Position& at, Names& names) {
  const Shape& x = call.operands[0];
  const auto axis = static_cast<size_t>(call.integer("axis"));
  Clause clause;
  const Expr k = clause.draw("k", line(x[axis]), names), v = at[axis][0];
  const Expr ahead = call.integer("reverse") != 0 ? k - v : v - k;
  clause.domain.push_back(Constraint::le(call.integer("exclusive") != 0 ? 1 : 0, ahead));
  Position source = at;
  source[axis] = {k};
  clause.reads = {{0, std::move(source)}};
  return {std::move(clause)};
}

/// y[…, k, …, p] = Σ_{n, q} x[…, n, …, q] · D[k, n, q, p], D known by the axis's extent and the direction
std::vector<Clause> dftRelation(const Call& call, const Position& at, Names& names) {
  const Shape& x = call.operands[0];
  const auto axis = static_cast<size_t>(call.integer("axis"));
  Clause clause;
  const Expr n = clause.draw("n", line(x[axis]), names), q = clause.draw("q", line(x.back()), names);
  Position source = at;
  source[axis] = {n};
  source.back() = {q};
  clause.reads = {{0, std::move(source)}};
  clause.constants.push_back({.kind = Factor::Kind::kConstant,
                              .key = "Complex",
                              .parameters = {line(x[axis]), call.node.scalar("inverse")},
                              .at = {at[axis][0], n, q, at.back()[0]}});
  return {std::move(clause)};
}

/// y[n, (g f), h…] = Σ_{c, r…} x[n, (g c), h·stride + r·dilation - begin …] · w[(g f), c, r…]
std::vector<Clause> convRelation(const Call& call, const Position& at, Names& names) {
  const Shape &x = call.operands[0], &w = call.operands[1];
  const Expr& group = call.node.scalar("group");
  Clause all;
  std::vector<Expr> c = all.drawAll("c", w[1], names), taps;
  for (size_t d = 0; d < spatialRank(call); ++d)
    taps.push_back(all.draw(tapName(d), line(w[2 + d]), names));
  Position weight{at[1], c};
  for (const Expr& r : taps)
    weight.push_back({r});

  std::vector<Clause> clauses;
  for (const Place& g : partsOf({group, perGroup(w[0], group)}, at[1])) {
    for (const Place& channel : wholeOf({group, w[1]}, {g.at[0], c})) {
      Clause one = all;
      one.add(g.guards);
      one.add(channel.guards);
      one.reads = {{0, {at[0], channel.at[0]}}, {1, weight}};
      std::vector<Clause> soFar{one};
      for (size_t d = 0; d < spatialRank(call); ++d) {
        std::vector<Clause> next;
        for (const Clause& before : soFar) {
          for (const auto& digits : shifted(x[2 + d], at[2 + d], Window(call, d), taps[d])) {
            next.push_back(before);
            next.back().reads[0].at.push_back(digits);
            next.back().inside(digits, x[2 + d]);
          }
        }
        soFar = std::move(next);
      }
      clauses.insert(clauses.end(), soFar.begin(), soFar.end());
    }
  }
  return clauses;
}

/// y[b, t, k, p] = Σ_n x[b, t·frame_step + n] · window[n] · F[k, n, p], F known by the window's extent
std::vector<Clause> stftRelation(const Call& call, const Position& at, Names& names) {
  const Expr& extent = line(call.operands[1][0]);
  line(call.operands[0][1]);
  Clause clause;
  const Expr n = clause.draw("n", extent, names);
  clause.reads = {{0, {at[0], {at[1][0] * call.integer("frame_step") + n}}}, {1, {{n}}}};
  clause.constants.push_back(
      {.kind = Factor::Kind::kConstant, .key = "Fourier", .parameters = {extent}, .at = {at[2][0], n, at[3][0]}});
  return {std::move(clause)};
}

/// y[n, (g f), h…] = Σ x[n, (g c), i…] · w[(g c), f, r…] over i·stride + r·dilation - begin = h.
std::vector<Clause> convTransposeRelation(const Call& call, const Position& at, Names& names) {
  const Shape &x = call.operands[0], &w = call.operands[1];
  const Expr& group = call.node.scalar("group");
  Dim channels = perGroup(x[1], group);
  Clause all;
  std::vector<Expr> c = all.drawAll("c", channels, names);
  Position source, taps;
  for (size_t d = 0; d < spatialRank(call); ++d) {
    Window window(call, d);
    Expr r = all.draw(tapName(d), line(w[2 + d]), names);
    Expr from = at[2 + d][0] + window.begin - r * window.dilation;
    line(x[2 + d]);
    if (window.stride > 1) {
      Expr i = all.draw("i", line(x[2 + d]), names);
      all.domain.push_back(Constraint::eq(i * window.stride, from));
      from = i;
    } else {
      all.inside({from}, x[2 + d]);
    }
    source.push_back({from});
    taps.push_back({r});
  }
  std::vector<Clause> clauses;
  for (const Place& g : partsOf({group, w[1]}, at[1])) {
    for (const Place& channel : wholeOf({group, channels}, {g.at[0], c})) {
      Clause clause = all;
      clause.add(g.guards);
      clause.add(channel.guards);
      clause.reads = {{0, {at[0], channel.at[0]}}, {1, {channel.at[0], g.at[1]}}};
      auto append = [&](size_t operand, const Position& more) {
        Position& read = clause.reads[operand].at;
        read.insert(read.end(), more.begin(), more.end());
      };
      append(0, source);
      append(1, taps);
      clauses.push_back(std::move(clause));
    }
  }
  return clauses;
}

/// y[n, f, h…] = Σ_r t[n, (f r…), h·stride + r·dilation - begin …]
std::vector<Clause> offsetReduceRelation(const Call& call, const Position& at, Names& names) {
  const Shape& t = call.operands[0];
  Clause all;
  Position source, parts{at[1]};
  std::vector<Dim> extents{call.result()[1]};
  std::vector<Expr> taps;
  for (size_t d = 0; d < spatialRank(call); ++d) {
    const Expr& kernel = call.list("kernel_shape")[d];
    taps.push_back(all.draw("r", kernel, names));
    extents.emplace_back(kernel);
    parts.push_back({taps.back()});
  }
  for (size_t d = 0; d < spatialRank(call); ++d) {
    line(t[2 + d]);
    source.push_back({Window(call, d).reads(at[2 + d][0], taps[d])});
    all.inside(source.back(), t[2 + d]);
  }
  std::vector<Clause> clauses;
  for (const Place& channel : wholeOf(extents, parts)) {
    Clause clause = all;
    clause.add(channel.guards);
    clause.reads = {{0, {at[0], channel.at[0]}}};
    clause.reads[0].at.insert(clause.reads[0].at.end(), source.begin(), source.end());
    clauses.push_back(std::move(clause));
  }
  return clauses;
}

/// y[n, c, h…] = Σ x[n, (c r…), (i…)] over i·stride + r·dilation - begin = h.
std::vector<Clause> col2ImRelation(const Call& call, const Position& at, Names& names) {
  const auto &image = call.list("image_shape"), &block = call.list("block_shape");
  size_t rank = image.size();
  auto number = [&](std::string_view list, size_t i) { return call.list(list).empty() ? 1 : call.integer(list, i); };
  auto pad = [&](size_t i) { return call.list("pads").empty() ? Expr(0) : call.list("pads")[i]; };
  Clause all;
  std::vector<Dim> rows{call.result()[1]}, columns;
  Position row{at[1]}, column;
  for (size_t d = 0; d < rank; ++d) {
    int64_t stride = number("strides", d), dilation = number("dilations", d);
    Expr count = floorDiv(image[d] + pad(d) + pad(rank + d) - (block[d] - 1) * dilation - 1, stride) + 1;
    Expr r = all.draw("r", block[d], names), from = at[2 + d][0] + pad(d) - r * dilation;
    if (stride > 1) {
      Expr i = all.draw("i", count, names);
      all.domain.push_back(Constraint::eq(i * stride, from));
      from = i;
    } else {
      all.inside({from}, count);
    }
    rows.emplace_back(block[d]);
    row.push_back({r});
    columns.emplace_back(count);
    column.push_back({from});
  }
  std::vector<Clause> clauses;
  for (const Place& p : crossed(wholeOf(rows, row), wholeOf(columns, column))) {
    Clause clause = all;
    clause.add(p.guards);
    clause.reads = {{0, {at[0], p.at[0], p.at[1]}}};
    clauses.push_back(std::move(clause));
  }
  return clauses;
}

/// y[…, m, n] = Σ_k a[…, m, k] · b[…, k, n]
std::vector<Clause> matMulRelation(const Call& call, const Position& at, Names& names) {
  const Shape &a = call.operands[0], &b = call.operands[1];
  if (a.size() < 2 || b.size() < 2) throw Opaque("MatMul of a vector");
  Clause clause;
  std::vector<Expr> k = clause.drawAll("k", a.back(), names);
  Position batch(at.begin(), at.end() - 2);
  Position left = broadcast({a.begin(), a.end() - 2}, batch), right = broadcast({b.begin(), b.end() - 2}, batch);
  left.insert(left.end(), {at[at.size() - 2], k});
  right.insert(right.end(), {k, at.back()});
  clause.reads = {{0, left}, {1, right}};
  return {clause};
}

/// y[result] = Σ Π operand[labels]: an index for each label that the result has not, where an operand has it first.
std::vector<Clause> einsumRelation(const Call& call, const Position& at, Names& names) {
  const std::string& equation = call.node.text("equation");
  const size_t arrow = equation.find("->");
  std::map<char, std::vector<Expr>> digits;
  for (size_t d = 0; d < at.size(); ++d)
    digits.emplace(equation[arrow + 2 + d], at[d]);
  Clause clause;
  size_t operand = 0;
  Position read;
  for (size_t i = 0; i <= arrow; ++i) {
    const char label = equation[i];
    if (label == ',' || i == arrow) {
      clause.reads.push_back({operand++, std::exchange(read, {})});
      continue;
    }
    const Dim& extent = call.operands[operand][read.size()];
    if (!digits.contains(label)) digits.emplace(label, clause.drawAll("k", extent, names));
    read.push_back(digits.at(label));
  }
  return {std::move(clause)};
}

/// y = alpha · A B + beta · c
std::vector<Clause> gemmRelation(const Call& call, const Position& at, Names& names) {
  auto alpha = fractionOf(call.node.number("alpha")), beta = fractionOf(call.node.number("beta"));
  if (!alpha || !beta) throw Opaque("Gemm whose alpha or beta is no small fraction");
  bool flipA = call.integer("transA") != 0, flipB = call.integer("transB") != 0;
  std::vector<Clause> clauses;
  if (alpha->over != 0) {
    Clause product{.coefficient = *alpha};
    std::vector<Expr> k = product.drawAll("k", call.operands[0][flipA ? 0 : 1], names);
    product.reads = {{0, {at[0], k}}, {1, {k, at[1]}}};
    if (flipA) std::swap(product.reads[0].at[0], product.reads[0].at[1]);
    if (flipB) std::swap(product.reads[1].at[0], product.reads[1].at[1]);
    clauses.push_back(std::move(product));
  }
  if (call.operands.size() > 2 && beta->over != 0)
    clauses.push_back({.coefficient = *beta, .reads = {{2, broadcast(call.operands[2], at)}}});
  return clauses;
}

std::vector<Clause> averagePoolRelation(const Call& call, const Position& at, Names& names) {
  bool countsPads = call.integer("count_include_pad") != 0, ceil = call.integer("ceil_mode") != 0;
  Clause clause = pool(call, at, names);
  for (size_t d = 0; d < spatialRank(call); ++d) {
    Window window(call, d);
    const Expr &kernel = call.list("kernel_shape")[d], &extent = line(call.operands[0][2 + d]);
    bool stays = window.begin == Expr(0) && window.end == Expr(0);
    if (!ceil && (stays || countsPads)) {
      divide(clause, kernel);
      continue;
    }
    Expr low = countsPads ? -window.begin : Expr(0), high = countsPads ? extent + window.end : extent;
    if (!countsPads) clause.addsUpToOne.emplace_back(clause.constants.size(), clause.reduction[d]);
    clause.constants.push_back({.kind = Factor::Kind::kConstant,
                                .key = "1/window",
                                .parameters = {kernel, window.stride, window.dilation, window.begin, low, high},
                                .at = {at[2 + d][0]}});
  }
  return {clause};
}

std::vector<Clause> maxPoolRelation(const Call& call, const Position& at, Names& names) {
  return {pool(call, at, names)};
}

std::vector<Clause> reduceSumRelation(const Call& call, const Position& at, Names& names) {
  return {over(call.operands[0], listedAxes(call), call.integer("keepdims") != 0, at, names)};
}

std::vector<Clause> reduceMeanRelation(const Call& call, const Position& at, Names& names) {
  return mean(call, listedAxes(call), reduceSumRelation(call, at, names)[0]);
}

std::vector<Clause> globalMaxRelation(const Call& call, const Position& at, Names& names) {
  return {over(call.operands[0], spatialAxes(call), true, at, names)};
}

std::vector<Clause> globalMeanRelation(const Call& call, const Position& at, Names& names) {
  return mean(call, spatialAxes(call), globalMaxRelation(call, at, names)[0]);
}

}  // namespace pet::check
