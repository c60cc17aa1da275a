#include <algorithm>
#include <sstream>

#include "ir/ops/op.h"
#include "synth/analysis/axes.h"
#include "synth/analysis/typical_shape.h"
#include "synth/propose/skeletons/arrange.h"

namespace pet {
namespace {

/// Extents of the usual shape, at which a window's steps are compared with what it steps over.
constexpr int64_t kTypicalExtent = 64;
constexpr int64_t kLargestStride = 32;

void multiply(const Node& n, const char* name, std::set<int64_t>& into) {
  auto it = n.attributes.find(name);
  if (it == n.attributes.end()) return;
  std::set<int64_t> products = into;
  for (const Expr& along : std::get<std::vector<Expr>>(it->second)) {
    auto by = along.asConstant();
    for (int64_t v : into) {
      if (by && v * *by <= kLargestStride) products.insert(v * *by);
    }
  }
  into = std::move(products);
}

/// Each group has one channel, and several filters maybe: what follows may have as many groups as filters.
bool isDepthwise(const Program& p, const Node& n) {
  return n.is(ops::kConv) && n.scalar("group") != Expr(1) && p.shape(n.operands[1])[1] == Dim(1) &&
         n.shapes[0][1].isAffine();
}

/// The one input is an image, of which elements are repeated: each channel's by itself.
bool repeatsPixels(const Program& p, const Node& n) {
  if (!n.is(ops::kExpand) || p.inputs().size() != 1) return false;
  const Shape& x = p.shape(p.inputs()[0]);
  return isImage(x) && x[1].isAffine();
}

/// Constants times an image, each channel by one number: what a Conv of each channel by itself does as well.
bool scalesChannels(const Program& p, const Node& n) {
  if (!n.is(ops::kMul) || n.shapes[0].size() < 4 || !n.shapes[0][1].isAffine()) return false;
  return std::any_of(n.operands.begin(), n.operands.end(), [&](Value v) {
    const Shape& s = p.shape(v);
    const bool isPerChannel = s.size() + 1 == n.shapes[0].size() &&
                              std::all_of(s.begin() + 1, s.end(), [](const Dim& d) { return d == Dim(1); });
    return isConstant(p, v) && (s.empty() || isPerChannel);
  });
}

}  // namespace

PatternFacts::PatternFacts(const Pattern& pattern) : program(pattern.program), shapes(pattern.shapes) {
  if (auto shape = typicalShape(poly::Context(pattern.shapes), program, kTypicalExtent)) typical = *shape;
  std::set<Value> read(program.outputs().begin(), program.outputs().end());
  for (const Node& n : program.nodes()) {
    read.insert(n.operands.begin(), n.operands.end());
    multiply(n, "strides", strides);
    if (n.is(ops::kSlice)) multiply(n, "steps", strides);
    multiply(n, "dilations", dilations);
    const bool repeats = repeatsPixels(program, n);
    upsamples = upsamples || n.is(ops::kConvTranspose) || n.is(ops::kResize) || repeats;
    mirrors = mirrors || (n.is(ops::kPad) && n.text("mode") != "constant");
    if (auto group = n.attributes.find("group"); group != n.attributes.end())
      groups.insert(std::get<Expr>(group->second));
    if (isDepthwise(program, n) || scalesChannels(program, n)) groups.insert(n.shapes[0][1].affine());
    if (repeats) groups.insert(program.shape(program.inputs()[0])[1].affine());
    if (n.is(ops::kEye)) groups.insert(n.shapes[0][0].affine());  // weights from each channel to itself alone
  }
  for (Value v : program.inputs()) {
    if (!isConstant(program, v) && read.contains(v)) activations.push_back(v);
  }
  if (activations.size() > 1) groups.insert(static_cast<int64_t>(activations.size()));
  const auto& operands = root().operands;
  single = analyse(program) && !operands.empty() && program.node(operands[0]).is(ops::kInput);
}

bool isImage(const Shape& s) {
  return s.size() >= 3;
}

size_t channelAxis(const Shape& s) {
  return isImage(s) ? 1 : s.size() - 1;
}

bool alike(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d) {
    if (d != channelAxis(a) && a[d] != b[d]) return false;
  }
  return true;
}

std::optional<Dim> joinedChannels(const std::vector<Shape>& shapes) {
  Expr sum = 0;
  for (const Shape& s : shapes) {
    const Dim& d = s[channelAxis(s)];
    if (!alike(s, shapes[0]) || !d.isAffine()) return std::nullopt;
    sum += d.affine();
  }
  return Dim(sum);
}

bool isWeightless(const Program& program, const Node& n) {
  return n.operands.size() == 1 && n.names.size() == 1 && n.op->meaning == Meaning::kSum && n.op->access &&
         !n.op->facts.elementwise && !isConstant(program, n.operands[0]);
}

Expected<std::vector<Value>> only(const Expected<Value>& v) {
  if (!v) return tl::unexpected(v.error());
  return std::vector<Value>{*v};
}

// --- Layouts ---

namespace {

/// "(n d) c" as [[n, d], [c]].
std::vector<std::vector<std::string>> groupsOf(std::string_view side) {
  std::vector<std::vector<std::string>> groups;
  std::string name;
  bool inside = false;
  auto end = [&] {
    if (name.empty()) return;
    if (!inside) groups.emplace_back();
    groups.back().push_back(std::exchange(name, ""));
  };
  for (char c : side) {
    if (c != ' ' && c != '(' && c != ')') {
      name += c;
      continue;
    }
    end();
    if (c == '(') groups.emplace_back();
    if (c != ' ') inside = c == '(';
  }
  end();
  return groups;
}

}  // namespace

Expected<Value> layout(ProgramBuilder& b, Value x, std::string_view text, const std::map<std::string, Dim>& extents) {
  size_t arrow = text.find(" -> ");
  LayoutSpec spec;
  std::map<std::string, int> axes;
  auto axis = [&](const std::string& name, const Dim& extent) {
    auto [it, fresh] = axes.emplace(name, static_cast<int>(spec.axes.size()));
    if (fresh) spec.axes.push_back({name == "1" ? "_" : name, extent});
    return it->second;
  };
  const auto left = groupsOf(text.substr(0, arrow)), right = groupsOf(text.substr(arrow + 4));
  for (size_t d = 0; d < left.size(); ++d) {
    spec.left.emplace_back();
    for (const std::string& name : left[d]) {
      auto given = extents.find(name);
      spec.left.back().push_back(axis(name, given == extents.end() ? b.shape(x)[d] : given->second));
    }
  }
  for (const auto& group : right) {
    spec.right.emplace_back();
    for (const std::string& name : group)
      spec.right.back().push_back(axis(name, Dim(1)));
  }
  return b.add("Layout", {x}, {{"layout", std::move(spec)}});
}

}  // namespace pet
