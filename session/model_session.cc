#include "session/model_session.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "applier/onnx/inline.h"
#include "session/expand.h"
#include "session/fold.h"

namespace pet::session {
namespace {

Port portOf(const Graph& graph, const std::string& name) {
  Port port{name, ElementType::kUnknown, {}, {}, false};
  auto it = graph.types.find(name);
  if (it == graph.types.end()) return port;
  port.element = it->second.element;
  port.hasRank = it->second.dims.has_value();
  for (size_t d = 0; port.hasRank && d < it->second.dims->size(); ++d) {
    port.extents.push_back((*it->second.dims)[d]);
    port.names.emplace_back(it->second.nameOf(d));
  }
  return port;
}

bool isStatic(const Port& port) {
  return port.hasRank &&
         std::all_of(port.extents.begin(), port.extents.end(), [](const auto& e) { return e.has_value(); });
}

std::string texts(const std::vector<Port>& ports) {
  std::vector<std::string> words;
  for (const Port& port : ports)
    words.push_back(port.text());
  return fmt::format("{}", fmt::join(words, "; "));
}

std::map<std::string, Extents> extentsOf(const Feeds& feeds) {
  std::map<std::string, Extents> extents;
  for (const auto& [name, value] : feeds)
    extents[name] = value.extents;
  return extents;
}

}  // namespace

std::string_view numpyName(ElementType element) {
  if (element == ElementType::kFloat) return "float32";
  return element == ElementType::kDouble ? "float64" : str(element);
}

std::string Port::text() const {
  if (!hasRank) return fmt::format("{}: {}", name, numpyName(element));
  std::vector<std::string> words;
  for (size_t d = 0; d < extents.size(); ++d)
    words.push_back(extents[d] ? std::to_string(*extents[d]) : names[d].empty() ? "?" : names[d]);
  return fmt::format("{}: {}[{}]", name, numpyName(element), fmt::join(words, ", "));
}

ModelSession::ModelSession(Graph graph, std::string name, Engines engines, const SessionOptions& options)
    : graph_(std::move(graph)), name_(std::move(name)), engines_(std::move(engines)), options_(options) {}

Expected<std::unique_ptr<ModelSession>> ModelSession::open(const std::string& path,
                                                           Engines engines,
                                                           const SessionOptions& options) {
  auto model = load(path);
  if (!model) return tl::unexpected(model.error());
  return of(*model, path, std::move(engines), options);
}

Expected<std::unique_ptr<ModelSession>> ModelSession::of(const Model& model,
                                                         const std::string& name,
                                                         Engines engines,
                                                         const SessionOptions& options) {
  Graph graph = expanded(inlineCalls(model, [](const GraphNode&) { return true; }).model.graph);
  std::unique_ptr<ModelSession> session(new ModelSession(std::move(graph), name, std::move(engines), options));
  if (auto ok = session->readPorts(); !ok) return tl::unexpected(session->named(ok.error()));
  std::map<std::string, Extents> extents;
  for (const Port& port : session->inputs_) {
    for (const auto& e : port.extents)
      extents[port.name].push_back(e.value_or(-1));
    extents[port.name];
  }
  const bool known = std::all_of(session->inputs_.begin(), session->inputs_.end(), isStatic);
  auto ok = known ? session->prepare(extents) : Plan::check(session->graph_);
  if (!ok) return tl::unexpected(session->named(ok.error()));
  return session;
}

Expected<void> ModelSession::readPorts() {
  for (const std::string& name : graph_.inputs) {
    inputs_.push_back(portOf(graph_, name));
    if (!isMoved(inputs_.back().element))
      return fail(ErrorKind::kModel, fmt::format("input {}: it is no tensor of numbers", name));
  }
  for (const std::string& name : graph_.outputs)
    outputs_.push_back(portOf(graph_, name));
  return {};
}

Expected<void> ModelSession::checkFeeds(const Feeds& feeds) const {
  const std::string wanted = "its inputs are " + texts(inputs_);
  for (const auto& [name, value] : feeds) {
    auto it = std::find_if(inputs_.begin(), inputs_.end(), [&, &n = name](const Port& p) { return p.name == n; });
    if (it == inputs_.end()) return fail(ErrorKind::kUsage, fmt::format("it has no input '{}'", name), name_, wanted);
    if (it->element != value.element)
      return fail(ErrorKind::kUsage,
                  fmt::format("input '{}' is of {}, not of {}", name, numpyName(it->element), numpyName(value.element)),
                  name_);
    if (!value.bytes ||
        value.bytes->size() != static_cast<size_t>(elementCount(value.extents)) * elementSize(value.element))
      return fail(ErrorKind::kUsage, fmt::format("input '{}': not as many bytes as {} has", name, str(value.extents)),
                  name_);
  }
  for (const Port& port : inputs_) {
    if (!feeds.contains(port.name))
      return fail(ErrorKind::kUsage, fmt::format("no value for the input '{}'", port.name), name_, wanted);
  }
  return {};
}

Expected<void> ModelSession::checkExtents(const std::map<std::string, Extents>& extents) const {
  std::map<std::string, int64_t> known;
  for (const Port& port : inputs_) {
    auto it = extents.find(port.name);
    if (it == extents.end())
      return fail(ErrorKind::kUsage, fmt::format("no extents of the input '{}'", port.name), name_);
    const Extents& given = it->second;
    auto wrong = [&](const std::string& why) {
      return fail(ErrorKind::kUsage, fmt::format("input '{}' has extents {}: {}", port.name, str(given), why), name_,
                  "the model declares " + port.text());
    };
    if (port.hasRank && given.size() != port.extents.size()) return wrong("another rank");
    for (size_t d = 0; port.hasRank && d < given.size(); ++d) {
      if (given[d] < 0) return wrong(fmt::format("dimension {} is open", d));
      if (port.extents[d] && *port.extents[d] != given[d]) return wrong(fmt::format("dimension {} differs", d));
      if (port.extents[d] || port.names[d].empty()) continue;
      const int64_t first = known.emplace(port.names[d], given[d]).first->second;
      if (first != given[d]) return wrong(fmt::format("{} is {} elsewhere", port.names[d], first));
    }
  }
  return {};
}

Expected<Plan*> ModelSession::planFor(const std::map<std::string, Extents>& extents) {
  auto it = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.extents == extents; });
  if (it != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, it);
    return kept_.front().plan.get();
  }
  while (!kept_.empty() && kept_.size() >= options_.plans)
    kept_.pop_back();
  auto plan = Plan::make(bound(graph_, extents), engines_);
  if (!plan) return tl::unexpected(plan.error());
  kept_.push_front({extents, std::move(*plan)});
  return kept_.front().plan.get();
}

Expected<void> ModelSession::prepare(const std::map<std::string, Extents>& extents) {
  if (auto ok = checkExtents(extents); !ok) return ok;
  const std::lock_guard lock(mutex_);
  auto plan = planFor(extents);
  return plan ? Expected<void>() : tl::unexpected(plan.error());
}

/// An error of a plan, as one of the model's.
Error ModelSession::named(Error error) const {
  if (error.kind == ErrorKind::kUnsupported) error.kind = ErrorKind::kModel;
  error.where = error.where.empty() ? name_ : name_ + ": " + error.where;
  return error;
}

Expected<std::vector<Constant>> ModelSession::run(const Feeds& feeds) {
  if (auto ok = checkFeeds(feeds); !ok) return tl::unexpected(ok.error());
  const std::map<std::string, Extents> extents = extentsOf(feeds);
  if (auto ok = checkExtents(extents); !ok) return tl::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  auto plan = planFor(extents);
  auto results = plan ? (*plan)->run(feeds) : Expected<std::vector<Constant>>(tl::unexpected(plan.error()));
  return results ? results : tl::unexpected(named(results.error()));
}

Expected<std::optional<double>> ModelSession::again(const Feeds& feeds) {
  const std::lock_guard lock(mutex_);
  auto plan = planFor(extentsOf(feeds));
  auto done = plan ? (*plan)->again(feeds) : Expected<std::optional<double>>(tl::unexpected(plan.error()));
  return done ? done : tl::unexpected(named(done.error()));
}

Expected<std::vector<StepTime>> ModelSession::profile(const Feeds& feeds) {
  const std::lock_guard lock(mutex_);
  auto plan = planFor(extentsOf(feeds));
  auto times = plan ? (*plan)->profile(feeds) : Expected<std::vector<StepTime>>(tl::unexpected(plan.error()));
  return times ? times : tl::unexpected(named(times.error()));
}

std::vector<EngineNote> ModelSession::notes() const {
  const std::lock_guard lock(mutex_);
  return kept_.empty() ? std::vector<EngineNote>() : kept_.front().plan->notes();
}

int64_t ModelSession::arenaBytes() const {
  const std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  for (const Kept& k : kept_)
    bytes += k.plan->arenaBytes();
  return bytes;
}

size_t ModelSession::plans() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

}  // namespace pet::session
