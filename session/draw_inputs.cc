#include "session/draw_inputs.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/draw.h"

namespace pet::session {
namespace {

constexpr float kLeastPositive = 1.0F / 64;

Expected<Extents> extentsFor(const Port& port, const DrawOptions& options) {
  if (auto given = options.shapes.find(port.name); given != options.shapes.end()) return given->second;
  if (!port.hasRank) return fail(ErrorKind::kUsage, fmt::format("input {}: its rank is open", port.name));
  Extents extents;
  for (size_t d = 0; d < port.extents.size(); ++d) {
    auto named = options.dims.find(port.names[d]);
    if (!port.extents[d] && (port.names[d].empty() || named == options.dims.end()))
      return fail(ErrorKind::kUsage,
                  fmt::format("input {}: dimension {} is dynamic, and no extent is given for it", port.text(),
                              port.names[d].empty() ? std::to_string(d) : "'" + port.names[d] + "'"));
    extents.push_back(port.extents[d] ? *port.extents[d] : named->second);
  }
  return extents;
}

Constant drawn(const Port& port, const Extents& extents, const DrawOptions& options) {
  const Draw draw(options.seed, port.name);
  if (isComputed(port.element)) {
    Tensor<float> values = drawReal(draw, extents);
    for (float& x : values.data)
      x = options.positive ? kLeastPositive + (1 - kLeastPositive) * std::abs(x) : x;
    return Constant::rounded(port.element, values);
  }
  Tensor<int64_t> values = drawNonZero(draw, extents, 1);
  for (int64_t& x : values.data)
    x = (x + 1) / 2;
  return Constant::whole(port.element, values);
}

/// A name that nothing in the model has would be overlooked.
Expected<void> checkNames(const ModelSession& session, const DrawOptions& options) {
  const auto& ports = session.inputs();
  for (const auto& [name, extents] : options.shapes) {
    if (std::none_of(ports.begin(), ports.end(), [&, &n = name](const Port& p) { return p.name == n; }))
      return fail(ErrorKind::kUsage, fmt::format("it has no input '{}'", name), session.name());
  }
  for (const auto& [name, extent] : options.dims) {
    auto has = [&, &n = name](const Port& p) { return std::find(p.names.begin(), p.names.end(), n) != p.names.end(); };
    if (std::none_of(ports.begin(), ports.end(), has))
      return fail(ErrorKind::kUsage, fmt::format("no input has an extent of the name '{}'", name), session.name());
  }
  return {};
}

}  // namespace

Expected<Feeds> drawInputs(const ModelSession& session, const DrawOptions& options) {
  if (auto ok = checkNames(session, options); !ok) return tl::unexpected(ok.error());
  Feeds feeds;
  for (const Port& port : session.inputs()) {
    auto extents = extentsFor(port, options);
    if (!extents) return tl::unexpected(extents.error());
    feeds.emplace(port.name, drawn(port, *extents, options));
  }
  return feeds;
}

}  // namespace pet::session
