#include "session/plan.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "applier/view/evaluate_constants.h"
#include "ir/work.h"
#include "session/fold.h"

namespace pet::session {
namespace {

/// The model's name of what a program computes: what an operator is taken apart into bears its result's name and a
/// number.
std::string ownersName(const std::string& name) {
  const size_t colon = name.rfind(':');
  const bool isNumbered = colon != std::string::npos && colon > 0 && colon + 1 < name.size() &&
                          name.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  return isNumbered ? name.substr(0, colon) : name;
}

struct Read {
  Graph graph;
  Normalised normalised;
};

/// The graph without what is the same in every run, and the part of it that programs compute.
Read readGraph(const Graph& graph) {
  const InferOptions frozen{.freezeInputs = true};
  Read read{folded(graph, infer(graph, frozen)), {}};
  read.normalised = normalise(read.graph, {.freezeInputs = true});
  return read;
}

/// kUnsupported: the first of the nodes that nothing computes, and how many more there are.
Expected<void> checkNodes(const Graph& graph, const Partition& partition, const ByteGroups& bytes) {
  std::string first;
  size_t more = 0;
  for (const Stage& stage : partition.stages) {
    for (int i : stage.nodes) {
      const GraphNode& node = graph.nodes[static_cast<size_t>(i)];
      const std::string why = bytes.programOf(node) ? "" : NodeRunner::whyNot(node);
      if (why.empty()) continue;
      if (first.empty()) {
        first = why;
      } else {
        ++more;
      }
    }
  }
  if (first.empty()) return {};
  const std::string others = more == 0 ? "" : fmt::format(", and so are {} more nodes", more);
  return fail(ErrorKind::kUnsupported, first + others, "", "neither the engine nor the reference computes it");
}

/// What leaves regions, but for nodes that run one by one: outputs of the graph, and what regions read of each other.
std::set<Value> leavingValues(const Graph& graph, const View& view, const Partition& partition) {
  std::set<Value> leaving;
  for (const std::string& name : graph.outputs) {
    if (auto made = partition.values.find(name); made != partition.values.end()) leaving.insert(made->second);
  }
  std::map<int, size_t> stageOf;
  for (size_t s = 0; s < partition.stages.size(); ++s) {
    for (int n : partition.stages[s].region)
      stageOf[n] = s;
  }
  for (const auto& [n, s] : stageOf) {
    for (Value v : view.program.nodes()[static_cast<size_t>(n)].operands) {
      auto made = stageOf.find(v.node);
      if (made != stageOf.end() && made->second != s) leaving.insert(v);
    }
  }
  return leaving;
}

/// So little that an engine is not worth asking.
bool isLittle(const Program& program) {
  constexpr double kLittle = 4096;  // elements, and multiply-adds
  double elements = 0;
  for (const Node& node : program.nodes()) {
    for (const Shape& shape : node.shapes)
      elements += elementsOf(shape, {}).value_or(kLittle);
  }
  return elements < kLittle && workOf(program, {}).value_or(kLittle) < kLittle;
}

/// A little that is computed of what nodes made, for nodes: an engine would be sent it and asked for it, and may round
/// more than the nodes do (the angles of a position, whose sines are taken).
bool isBetweenNodes(const Region& region, const std::set<Value>& leaving) {
  return isLittle(region.view.program) &&
         std::none_of(region.outputs.begin(), region.outputs.end(), [&](Value v) { return leaving.contains(v); });
}

}  // namespace

int Plan::slot(const std::string& name) {
  auto [it, isNew] = slots_.try_emplace(name, static_cast<int>(first_.size()));
  if (isNew) first_.emplace_back();
  return it->second;
}

/// The graph's name of a value; of one that has none, a name that no graph has.
std::string Plan::nameOf(Value v) const {
  auto name = read_.view.names.find(v);
  return name == read_.view.names.end() ? fmt::format("\n{} {}", v.node, v.output) : name->second;
}

Expected<void> Plan::check(const Graph& graph) {
  const Read read = readGraph(graph);
  auto parts = partition(read.graph, read.normalised);
  return parts ? checkNodes(read.graph, *parts, {}) : tl::unexpected(parts.error());
}

Expected<std::unique_ptr<Plan>> Plan::make(const Graph& graph, const Engines& engines) {
  try {
    std::unique_ptr<Plan> plan(new Plan(engines));
    if (auto ok = plan->fill(graph); !ok) return tl::unexpected(ok.error());
    return plan;
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kModel, "not enough memory to prepare the model");
  } catch (const std::exception& e) {
    return fail(ErrorKind::kInternal, fmt::format("the model cannot be planned: {}", e.what()));
  }
}

Expected<void> Plan::fill(const Graph& graph) {
  bytes_ = byteGroups(graph, engines_.bytes);
  Read read = readGraph(bytes_.graph);
  bytes_.graph = Graph();
  graph_ = std::move(read.graph);
  read_ = std::move(read.normalised);
  auto parts = partition(graph_, read_);
  if (!parts) return tl::unexpected(parts.error());
  partition_ = std::move(*parts);
  if (auto ok = checkNodes(graph_, partition_, bytes_); !ok) return ok;
  addConstants();
  for (const auto& [name, value] : partition_.values)
    slots_.emplace(name, slot(nameOf(value)));  // a value may have several names
  const std::set<Value> leaving = leavingValues(graph_, read_.view, partition_);
  std::set<Value> wanted = leaving;
  for (const auto& [name, value] : partition_.values)
    wanted.insert(value);
  const std::vector<bool> constant = constantNodes(read_.view.program);
  for (const Stage& stage : partition_.stages) {
    if (!stage.region.empty()) {
      const Region region = regionOf(read_.view, constant, stage.region, wanted);
      const ProgramEngine& engine = isBetweenNodes(region, leaving) ? reference_ : engines_.programs;
      if (auto ok = addRegion(region, engine); !ok) return ok;
    }
    for (int i : stage.nodes)
      addNode(i);
  }
  findLastReads();
  return {};
}

void Plan::addConstants() {
  for (const Initializer& i : graph_.initializers)
    first_[static_cast<size_t>(slot(i.name))] = i.value;
  ConstantEvaluator evaluator(read_.view);
  for (const auto& [name, value] : partition_.constants) {
    if (auto c = evaluator.value(value)) first_[static_cast<size_t>(slot(name))] = std::move(*c);
  }
  for (const std::string& name : graph_.inputs)
    slot(name);
}

Expected<void> Plan::addRegion(const Region& region, const ProgramEngine& engine) {
  const Program& program = region.view.program;
  auto prepared = engine(program, [&](std::string_view name) -> TensorRef<float> {
    auto value = program.find(name);
    auto c = value ? region.view.constants.find(value->node) : region.view.constants.end();
    return c == region.view.constants.end() ? nullptr
                                            : std::make_shared<const Tensor<float>>(c->second.values<float>());
  });
  if (!prepared) return tl::unexpected(prepared.error());
  RegionStep step{std::move(*prepared), {}, {}, {}, {}};
  for (Value v : region.inputs)
    step.inputs.push_back(slot(nameOf(v)));
  for (Value v : region.outputs) {
    step.outputs.push_back(slot(nameOf(v)));
    step.extents.push_back(concrete(read_.view.program.shape(v)));
    step.elements.push_back(read_.view.elements[static_cast<size_t>(v.node)]);
  }
  steps_.push_back({static_cast<int>(regions_.size()), -1, {}});
  regions_.push_back(std::move(step));
  return {};
}

/// Everything that it reads is the same in each run.
bool Plan::readsConstants(const GraphNode& node) {
  const auto names = readsOf(node);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    const bool isGiven = std::find(graph_.inputs.begin(), graph_.inputs.end(), name) != graph_.inputs.end();
    return !isGiven && first_[static_cast<size_t>(slot(name))].bytes;
  });
}

/// What constants make becomes a constant, also behind what folded() leaves to programs. False: it fails, or makes
/// much.
bool Plan::computeNow(const NodeStep& step) {
  try {
    auto results = runAlone(step, first_);
    for (const Constant& c : results) {
      if (c.bytes && elementCount(c.extents) > kMostFolded) return false;
    }
    keepResults(*step.node, std::move(results), first_);
    return true;
  } catch (const FailedNode&) {
    return false;  // it says so when the model runs
  }
}

void Plan::addNode(int node) {
  const GraphNode& n = graph_.nodes[static_cast<size_t>(node)];
  for (const std::string& name : n.outputs)
    slot(name);
  if (!bytes_.programOf(n) && readsConstants(n) && computeNow({&n, "", nullptr})) return;
  steps_.push_back({-1, static_cast<int>(nodes_.size()), {}});
  nodes_.push_back({&n, read_.opaque[static_cast<size_t>(node)], bytes_.programOf(n)});
}

void Plan::findLastReads() {
  std::vector<int> last(first_.size(), -1);
  for (size_t s = 0; s < steps_.size(); ++s) {
    const int now = static_cast<int>(s);
    if (steps_[s].region >= 0) {
      const RegionStep& step = regions_[static_cast<size_t>(steps_[s].region)];
      for (int i : step.inputs)
        last[static_cast<size_t>(i)] = now;
      for (int o : step.outputs)
        last[static_cast<size_t>(o)] = now;
      continue;
    }
    const GraphNode& node = *nodes_[static_cast<size_t>(steps_[s].node)].node;
    for (const std::string& name : readsOf(node))
      last[static_cast<size_t>(slot(name))] = now;
    for (const std::string& name : node.outputs)
      last[static_cast<size_t>(slot(name))] = now;
  }
  for (const std::string& name : graph_.outputs)
    last[static_cast<size_t>(slot(name))] = -1;
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i] >= 0) steps_[static_cast<size_t>(last[i])].last.push_back(static_cast<int>(i));
  }
}

void Plan::runRegion(const RegionStep& step, std::vector<Constant>& values, std::vector<StepTime>* times) {
  std::vector<Constant> in;
  std::vector<const float*> from;
  std::vector<float*> to;
  for (int i : step.inputs) {
    in.push_back(widened(values[static_cast<size_t>(i)]));
    from.push_back(dataOf<float>(in.back()).data());
  }
  std::vector<Constant> made;
  for (const Extents& extents : step.extents) {
    Made<float> result = session::make<float>(ElementType::kFloat, extents);
    to.push_back(result.data);
    made.push_back(std::move(result.constant));
  }
  if (times) {
    auto more = step.program->profile(from, to);
    if (!more) throw FailedNode{more.error()};
    for (StepTime& time : *more) {
      time.node = ownersName(time.node);
      times->push_back(std::move(time));
    }
  } else if (auto ok = step.program->run(from, to); !ok) {
    throw FailedNode{ok.error()};
  }
  for (size_t o = 0; o < made.size(); ++o)
    values[static_cast<size_t>(step.outputs[o])] = narrowedTo(step.elements[o], made[o]);
}

std::vector<Constant> Plan::runBytes(const NodeStep& step, const std::vector<Constant>& values) const {
  std::vector<const Constant*> operands;
  for (const std::string& name : step.node->inputs)
    operands.push_back(&values[static_cast<size_t>(slots_.at(name))]);
  try {
    return step.bytes->run(operands);
  } catch (const BadNode& bad) {
    throw FailedNode{{ErrorKind::kModel, bad.what, describe(*step.node), ""}};
  }
}

std::vector<Constant> Plan::runAlone(const NodeStep& step, const std::vector<Constant>& values) {
  return runner_.run(*step.node, graph_.opset, [&](const std::string& name) -> Found {
    auto it = slots_.find(name);
    if (it == slots_.end()) return {};
    const auto i = static_cast<size_t>(it->second);
    return {values[i].bytes ? &values[i] : nullptr, bool(first_[i].bytes)};
  });
}

void Plan::keepResults(const GraphNode& node, std::vector<Constant> results, std::vector<Constant>& values) const {
  for (size_t i = 0; i < node.outputs.size() && i < results.size(); ++i) {
    if (!node.outputs[i].empty()) values[static_cast<size_t>(slots_.at(node.outputs[i]))] = std::move(results[i]);
  }
}

void Plan::runNode(const NodeStep& step, std::vector<Constant>& values) {
  keepResults(*step.node, step.bytes ? runBytes(step, values) : runAlone(step, values), values);
}

void Plan::runStep(const Step& step, std::vector<Constant>& values, std::vector<StepTime>* times) {
  if (step.region >= 0) return runRegion(regions_[static_cast<size_t>(step.region)], values, times);
  const NodeStep& node = nodes_[static_cast<size_t>(step.node)];
  if (!times) return runNode(node, values);
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  runNode(node, values);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  times->push_back({pet::nameOf(*node.node), node.node->type, "by itself", seconds, 0});
}

Expected<std::vector<Constant>> Plan::run(const Feeds& feeds) {
  return run(feeds, nullptr);
}

Expected<std::vector<StepTime>> Plan::profile(const Feeds& feeds) {
  std::vector<StepTime> times;
  return run(feeds, &times).map([&](const auto&) { return std::move(times); });
}

Expected<std::vector<Constant>> Plan::run(const Feeds& feeds, std::vector<StepTime>* times) {
  std::vector<Constant> values = first_;
  for (const auto& [name, value] : feeds)
    values[static_cast<size_t>(slots_.at(name))] = value;
  try {
    for (const Step& step : steps_) {
      runStep(step, values, times);
      for (int i : step.last)
        values[static_cast<size_t>(i)] = Constant();
    }
  } catch (const FailedNode& failed) {
    return tl::unexpected(failed.error);
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kModel, "not enough memory to run the model");
  } catch (const std::exception& e) {
    return fail(ErrorKind::kModel, fmt::format("it cannot be run: {}", e.what()));
  }
  std::vector<Constant> outputs;
  for (const std::string& name : graph_.outputs)
    outputs.push_back(values[static_cast<size_t>(slots_.at(name))]);
  return outputs;
}

Expected<std::optional<double>> Plan::again(const Feeds& feeds) {
  if (steps_.size() == 1 && steps_[0].region >= 0) {
    auto done = regions_[static_cast<size_t>(steps_[0].region)].program->again();
    if (!done || *done) return done;
  }
  return run(feeds).map([](const auto&) { return std::optional<double>(); });
}

std::vector<EngineNote> Plan::notes() const {
  std::vector<EngineNote> notes;
  for (const Step& step : steps_) {
    if (step.region >= 0) {
      auto more = regions_[static_cast<size_t>(step.region)].program->notes();
      notes.insert(notes.end(), more.begin(), more.end());
      continue;
    }
    const NodeStep& node = nodes_[static_cast<size_t>(step.node)];
    if (node.bytes) {
      auto more = node.bytes->notes();
      notes.insert(notes.end(), more.begin(), more.end());
      continue;
    }
    notes.push_back({pet::nameOf(*node.node), node.node->type, node.why.empty() ? "by itself" : node.why, true});
  }
  return notes;
}

int64_t Plan::arenaBytes() const {
  int64_t bytes = 0;
  for (const RegionStep& step : regions_)
    bytes += step.program->arenaFloats() * static_cast<int64_t>(sizeof(float));
  for (const auto& program : bytes_.programs)
    bytes += program->arenaBytes();
  return bytes;
}

size_t Plan::regions() const {
  return regions_.size();
}

}  // namespace pet::session
