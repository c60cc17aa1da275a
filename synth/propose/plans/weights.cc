#include "synth/propose/plans/weights.h"

#include <algorithm>

#include <fmt/format.h>

namespace pet {
namespace {

bool contains(const std::vector<Digit>& digits, const std::string& name) {
  return std::any_of(digits.begin(), digits.end(), [&](const Digit& d) { return d.name == name; });
}

/// 0: digits of cut axes, outside; 1: the pattern's own channels; 2: taps of an offset form, innermost.
int rank(const MainOperator& op, const Parts& parts, const std::string& name) {
  if (contains(parts.tapsOut, name)) return 2;
  if (name.size() > 1 && (name[0] == 'p' || name[0] == 'o')) return 0;
  const Axis* whole = op.find(name);  // a window axis that became channels altogether
  return whole && whole->kind == Axis::Kind::kWindow ? 0 : 1;
}

template <class Named>
void order(const MainOperator& op, const Parts& parts, std::vector<Named>& channels) {
  std::stable_sort(channels.begin(), channels.end(),
                   [&](const Named& a, const Named& b) { return rank(op, parts, a.name) < rank(op, parts, b.name); });
}

}  // namespace

std::vector<Digit> channelsOf(const MainOperator& op, const Parts& parts, bool output) {
  std::vector<Digit> result, channels;
  for (const AxisParts& p : parts.axes) {
    if (p.group) result.push_back(*p.group);
    const auto& own = output ? p.outChannels : p.inChannels;
    channels.insert(channels.end(), own.begin(), own.end());
  }
  if (output) channels.insert(channels.end(), parts.tapsOut.begin(), parts.tapsOut.end());
  order(op, parts, channels);
  result.insert(result.end(), channels.begin(), channels.end());
  if (result.empty()) result.push_back({"", 1});
  return result;
}

std::vector<Digit> channelsAfterOffsets(const MainOperator& op, const Parts& parts) {
  auto channels = channelsOf(op, parts, true);
  std::erase_if(channels, [&](const Digit& d) { return contains(parts.tapsOut, d.name); });
  if (channels.empty()) channels.push_back({"", 1});
  return channels;
}

IndexMapSpec weightMap(const MainOperator& op, const Parts& parts, Target target) {
  IndexMapSpec map;
  std::vector<LayoutAxis> group, out, in;
  for (const Dim& d : op.program.shape(op.w))
    map.source.emplace_back(d.atoms().size(), Expr(0));
  for (size_t i = 0; i < parts.axes.size(); ++i) {
    const AxisParts& p = parts.axes[i];
    if (p.group) group.push_back({p.group->name, p.group->extent});
    out.insert(out.end(), p.weightOut.begin(), p.weightOut.end());
    in.insert(in.end(), p.weightIn.begin(), p.weightIn.end());
    const DigitPlace& at = op.axes[i].weight;
    if (at.dim >= 0) map.source[static_cast<size_t>(at.dim)][static_cast<size_t>(at.atom)] = p.source;
    map.guards.insert(map.guards.end(), p.guards.begin(), p.guards.end());
  }
  order(op, parts, out);
  order(op, parts, in);
  if (out.empty()) out.push_back({"_o", Dim(1)});
  if (in.empty()) in.push_back({"_i", Dim(1)});
  auto& first = target == Target::kConvTranspose || target == Target::kMatMulRight ? in : out;
  auto& second = &first == &in ? out : in;
  if (target != Target::kMatMulRight) first.insert(first.begin(), group.begin(), group.end());
  map.dims = {first, second};
  if (multiplies(target)) return map;
  for (size_t s = 0; s < parts.slots.size(); ++s) {
    const Slot& slot = parts.slots[s];
    bool taps = slides(target) && slot.taps != Expr(1);
    map.dims.push_back({{taps ? slot.tapName : fmt::format("_{}", s), taps ? Dim(slot.taps) : Dim(1)}});
  }
  return map;
}

}  // namespace pet
