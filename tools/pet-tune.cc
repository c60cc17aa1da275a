// pet-tune: times the rules of a pack, each in its context, at a grid of shapes, on an engine.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "applier/choose.h"
#include "applier/emit.h"
#include "applier/instantiate.h"
#include "applier/onnx/model.h"
#include "applier/simplify.h"
#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "rules/pack/timings.h"
#include "runtime/draw.h"
#include "runtime/ort/client.h"
#include "runtime/ort/frame.h"
#include "runtime/ort/grid.h"
#include "runtime/rounding.h"
#include "tools/common/tool.h"

namespace {

using namespace pet;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kRunnerFailed = 6;
constexpr const char* kDevice = "ort-cpu";
constexpr int kOpset = 17;
constexpr int64_t kNeighbourChannels = 16;          ///< of the values beyond the neighbours
constexpr double kMaxDifference = 1e-3;             ///< relative to max|output|: beyond, it is no rounding
constexpr int kHopelessAfter = 6;                   ///< samples of a rule, none of which
constexpr double kHopelessRatio = 0.8;              ///< comes near to paying: the rest is left out
constexpr int64_t kMaxElements = int64_t{1} << 26;  ///< of one value

struct Options {
  std::string pack, output, device = kDevice, shapes, python, runner, keep;
  std::vector<std::string> rules{"*"}, models;
  double budget = 1200, secondsPerPoint = 1, timeout = 60, maxWork = 6e9;
  int runs = 12, threads = 1;
  bool warm = false, noBare = false, exhaustive = false;
};

/// One rule at one choice of shapes.
struct Job {
  const Pattern* pattern;
  const Rule* rule;
  std::string hash;
  Bindings shapes;   ///< the pattern's symbols
  Bindings symbols;  ///< the rule's
};

/// What came of a job.
struct Row {
  enum class Kind { kTimed, kKnown, kFailed, kHopeless, kNotTimed };
  Kind kind = Kind::kFailed;
  std::optional<TimingSample> sample = std::nullopt;
  std::optional<double> bare = std::nullopt;  ///< the ratio without neighbours
  std::string note = "";                      ///< why it failed
};

std::map<std::string, Expr> exprsOf(const Bindings& bindings) {
  std::map<std::string, Expr> result;
  for (const auto& [symbol, value] : bindings)
    result.emplace(symbol, Expr(value));
  return result;
}

std::string text(const Bindings& shapes) {
  std::string result;
  for (const auto& [symbol, value] : shapes)
    result += fmt::format("{}{}={}", result.empty() ? "" : " ", symbol, value);
  return result;
}

// --- What to time
// ------------------------------------------------------------------------------------------------------

/// Shapes at which a pattern occurs in models.
Expected<std::vector<Bindings>> shapesIn(const std::vector<std::string>& models, const Pattern& pattern) {
  std::vector<Bindings> found;
  for (const std::string& path : models) {
    auto model = load(path);
    if (!model) return tl::unexpected(model.error());
    Normalised normalised = normalise(model->graph);
    MatchIndex index(normalised.view);
    std::vector<Refusal> refusals;
    for (const Site& site : match(index, pattern, refusals)) {
      if (std::find(found.begin(), found.end(), site.symbols) == found.end()) found.push_back(site.symbols);
    }
  }
  return found;
}

/// Small enough to be timed: the work of both sides, and the largest value that either makes (weights, say).
bool isModest(const Program& program, double maxWork) {
  for (const Node& node : program.nodes()) {
    for (const Shape& s : node.shapes) {
      auto extents = evaluate(s, {});
      if (!extents || elementCount(*extents) > kMaxElements) return false;
    }
  }
  return static_cast<double>(multiplyAdds(program, {})) <= maxWork;
}

/// The rule at these shapes, if they are in its class and modest.
std::optional<Job> jobAt(
    const Pattern& pattern, const Rule& rule, const std::string& hash, const Bindings& shapes, const Options& o) {
  try {
    if (!pattern.shapes.contains(shapes)) return std::nullopt;
    auto symbols = bindRule(rule, shapes);
    if (!symbols) return std::nullopt;
    auto before = pattern.program.substitute(exprsOf(shapes));
    auto after = rule.replacement.substitute(exprsOf(*symbols));
    if (!before || !after || !isModest(*before, o.maxWork) || !isModest(*after, 4 * o.maxWork)) return std::nullopt;
    return Job{&pattern, &rule, hash, shapes, *symbols};
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

/// Every rule's first point, then every rule's second, …: a budget that runs out leaves something of each.
Expected<std::vector<Job>> plan(const RuleSet& rules, const Grid& grid, const Options& o) {
  std::vector<std::vector<Job>> byRule;
  for (const Rule& rule : rules.rules) {
    bool wanted =
        std::any_of(o.rules.begin(), o.rules.end(), [&](const auto& glob) { return matchesGlob(rule.name, glob); });
    if (!wanted) continue;
    const Pattern& pattern = *rules.findPattern(rule.pattern);
    auto points = shapesIn(o.models, pattern);
    if (!points) return tl::unexpected(points.error());
    if (o.models.empty() || !o.shapes.empty()) {
      for (Bindings& b : grid.points(pattern.name, pattern.shapes.symbols))
        points->push_back(std::move(b));
    }
    std::string hash = ruleHash(pattern, rule);
    byRule.emplace_back();
    for (const Bindings& shapes : *points) {
      if (auto job = jobAt(pattern, rule, hash, shapes, o)) byRule.back().push_back(std::move(*job));
    }
  }
  if (byRule.empty()) return fail(ErrorKind::kUsage, "no rule of that name", o.pack, "pet-rules ls shows the names");
  std::vector<Job> jobs;
  for (size_t k = 0; std::any_of(byRule.begin(), byRule.end(), [&](const auto& j) { return k < j.size(); }); ++k) {
    for (auto& of : byRule) {
      if (k < of.size()) jobs.push_back(std::move(of[k]));
    }
  }
  return jobs;
}

// --- The subgraph and its neighbours
// ------------------------------------------------------------------------------------

/// Thrown while a subgraph is built, and caught there.
struct NotBuilt {
  Error error;
};

/// The pattern at concrete shapes as an ONNX graph, between neighbours that leave their results in the engine's own
/// layout and take them from there:
///
///     x = Relu(Conv(x', 1x1)),   pattern,   out = Conv(Relu(y), 1x1)     and alike with MatMul,
///
/// x' and out with few channels, so that the neighbours cost little. Values of up to 4 channels are a model's input or
/// output in real life, and are here.
class Scene {
 public:
  static constexpr const char* kSite = "site";

  Scene(const Program& pattern, bool neighbours) : pattern_(pattern), neighbours_(neighbours) {}

  Expected<Model> build() {
    try {
      std::map<Value, Value> moved;
      for (int i = 0; i < static_cast<int>(pattern_.nodes().size()); ++i)
        addNode(i, moved);
      Value y = moved.at(pattern_.outputs()[0]);
      builder_.name(y, kSite);
      Value out = neighbours_ ? consumer(y) : y;
      std::string name = out == y ? kSite : "out";
      builder_.name(out, name);
      std::vector<FrameValue> outputs{{name, builder_.extents(out)}};
      View view = std::move(builder_).finish({out});
      auto frame = parseModel(frameModel(inputs_, outputs, kOpset), "subgraph");
      if (!frame) return tl::unexpected(frame.error());
      View placeholder;
      placeholder.provenance.push_back({.origin = 0});
      auto graph = emit(frame->graph, placeholder, view);
      if (!graph) return tl::unexpected(graph.error());
      return Model{std::move(*graph), frame->file};
    } catch (const NotBuilt& e) {
      return tl::unexpected(e.error);
    }
  }

 private:
  Value add(std::string_view op, std::vector<Value> operands, Attributes attributes = {}) {
    auto v = builder_.add(*findOp(op), std::move(operands), std::move(attributes), {}, {});
    if (!v) throw NotBuilt{v.error()};
    return *v;
  }

  void addNode(int index, std::map<Value, Value>& moved) {
    const Node& node = pattern_.nodes()[static_cast<size_t>(index)];
    Value v;
    if (node.op->name != "Input") {
      std::vector<Value> operands;
      for (Value o : node.operands)
        operands.push_back(moved.at(o));
      auto added = builder_.add(*node.op, std::move(operands), node.attributes, node.names, {});
      if (!added) throw NotBuilt{added.error()};
      v = *added;
    } else if (isConstant(pattern_, {index, 0})) {
      v = weight(node.names[0], concrete(node.shapes[0]));
    } else {
      v = producer(node.names[0], concrete(node.shapes[0]), isImage({index, 0}));
    }
    for (int o = 0; o < static_cast<int>(node.names.size()); ++o)
      moved[{index, o}] = {v.node, o};
  }

  /// Uniform, of variance about 1 / fan-in, so that values keep their size.
  Value weight(const std::string& name, const Extents& extents) {
    Tensor<float> t = drawReal(Draw(0, name), extents);
    int64_t outer = extents.empty() ? 1 : std::max<int64_t>(1, extents[0]);
    double scale = std::sqrt(3.0 * static_cast<double>(outer) / static_cast<double>(std::max<int64_t>(1, t.size())));
    for (float& x : t.data)
      x *= static_cast<float>(scale);
    return builder_.constant(name, Constant::of(t));
  }

  Value input(const std::string& name, const Extents& extents) {
    inputs_.push_back({name, extents});
    Value v = builder_.input(name, extents, ElementType::kFloat);
    builder_.name(v, name);
    return v;
  }

  /// An image has its channels in dimension 1, a matrix its features in the last one.
  bool isImage(Value v) const {
    size_t rank = pattern_.shape(v).size();
    auto multiplies = [&](const Node& n) {
      return n.op->name == "MatMul" && std::find(n.operands.begin(), n.operands.end(), v) != n.operands.end();
    };
    bool matrix = pattern_.node(v).op->name == "MatMul" ||
                  std::any_of(pattern_.nodes().begin(), pattern_.nodes().end(), multiplies);
    return rank >= 4 || (rank == 3 && !matrix);
  }

  /// x · w over the channels: a pointwise Conv of an image, a MatMul of a matrix.
  Value mix(Value x, const std::string& name, int64_t channels, bool image) {
    Extents extents = builder_.extents(x);
    if (!image) return add("MatMul", {x, weight(name, {extents.back(), channels})});
    Extents kernel(extents.size(), 1);
    kernel[0] = channels;
    kernel[1] = extents[1];
    return add("Conv", {x, weight(name, kernel)});
  }

  Value producer(const std::string& name, Extents extents, bool image) {
    size_t dim = image ? 1 : extents.size() - 1;
    if (!neighbours_ || extents.size() < 2 || extents[dim] <= 4) return input(name, extents);
    int64_t channels = std::exchange(extents[dim], std::min(extents[dim], kNeighbourChannels));
    return add("Relu", {mix(input(name, extents), name + "/producer", channels, image)});
  }

  Value consumer(Value y) {
    bool image = isImage(pattern_.outputs()[0]);
    Extents extents = builder_.extents(y);
    Value relu = add("Relu", {y});
    if (extents.size() < 2) return relu;
    int64_t channels = image ? extents[1] : extents.back();
    return channels <= 4 ? relu : mix(relu, "consumer", std::min(channels, kNeighbourChannels), image);
  }

  const Program& pattern_;
  bool neighbours_;
  ViewBuilder builder_;
  std::vector<FrameValue> inputs_;
};

/// The model with the rule applied at the site, by the steps of pet-apply.
Expected<Model> rewrite(const Model& model, const Job& job) {
  Normalised normalised = normalise(model.graph);
  const View& view = normalised.view;
  std::vector<Refusal> refusals;
  for (const Site& site : match(MatchIndex(view), *job.pattern, refusals)) {
    auto name = view.names.find(site.outputs[0]);
    if (name == view.names.end() || name->second != Scene::kSite) continue;
    auto made = instantiate(site, *job.rule, job.symbols, Scene::kSite);
    if (!made) return tl::unexpected(made.error());
    if (auto why = whyNotEmitted(made->replacement, model.graph.opset)) return fail(ErrorKind::kUnsupported, *why);
    auto graph = emit(model.graph, view, simplify(splice(view, {*made})));
    if (!graph) return tl::unexpected(graph.error());
    return Model{std::move(*graph), model.file};
  }
  return fail(ErrorKind::kUnsupported, "the pattern does not match: " + (refusals.empty() ? "" : refusals[0].reason));
}

Expected<std::string> store(const Model& model, const fs::path& path) {
  auto bytes = serialize(model);
  if (!bytes) return tl::unexpected(bytes.error());
  if (auto ok = writeModel(*bytes, path.string()); !ok) return tl::unexpected(ok.error());
  return path.string();
}

/// Files of pattern and replacement.
Expected<std::vector<std::string>> modelsOf(const Job& job, bool neighbours, const fs::path& stem) {
  auto pattern = job.pattern->program.substitute(exprsOf(job.shapes));
  if (!pattern) return tl::unexpected(pattern.error());
  auto before = Scene(*pattern, neighbours).build();
  if (!before) return tl::unexpected(before.error());
  auto after = rewrite(*before, job);
  if (!after) return tl::unexpected(after.error());
  auto first = store(*before, stem.string() + ".pattern.onnx"),
       second = store(*after, stem.string() + ".replacement.onnx");
  if (!first) return tl::unexpected(first.error());
  if (!second) return tl::unexpected(second.error());
  return std::vector{*first, *second};
}

// --- Timing
// ------------------------------------------------------------------------------------------------------------

/// A folder that goes with its owner, unless it was given.
class Folder {
 public:
  explicit Folder(std::string given) : path_(std::move(given)), mine_(path_.empty()) {
    if (mine_) path_ = (fs::temp_directory_path() / fmt::format("pet-tune-{}", ::getpid())).string();
    std::error_code ignored;  // what cannot be made cannot be written to, which is reported
    fs::create_directories(path_, ignored);
  }
  ~Folder() {
    std::error_code ignored;
    if (mine_) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path() const { return path_; }

 private:
  std::string path_;
  bool mine_;
};

class Tuner {
 public:
  Tuner(const Options& o, const RunnerHello& engine, RunnerKeeper& runner, std::string date)
      : o_(o), engine_(engine), runner_(runner), date_(std::move(date)), folder_(o.keep) {}

  /// What a sample of this job says besides its times.
  TimingSample blank(const Job& job) const {
    return {
        job.hash, job.rule->name, o_.device, job.shapes, engine_.engine, engine_.version, engine_.isa, o_.threads, 0, 0,
        0,        date_};
  }

  /// A job that cannot be timed is a row that says why; an error is one that would befall every job.
  Expected<Row> measure(const Job& job) {
    auto models = modelsOf(job, true, nextStem());
    if (!models) return unbuilt(models.error());
    auto answer = time(*models, !o_.warm);
    if (!answer) return Row{.note = answer.error().message};
    if (answer->maxAbsDiff[1] > kMaxDifference * answer->maxAbs) {
      differs_ = true;
      return Row{.note = fmt::format("outputs differ by {:.2g} of {:.2g}", answer->maxAbsDiff[1], answer->maxAbs)};
    }
    TimingSample sample = blank(job);
    sample.pattern = answer->median[0];
    sample.replacement = answer->median[1];
    sample.spread = spread(*answer);
    Row row{Row::Kind::kTimed, sample};
    if (o_.noBare) return row;
    auto alone = modelsOf(job, false, nextStem());
    if (!alone) return unbuilt(alone.error());
    if (auto bare = time(*alone, false)) row.bare = bare->median[0] / bare->median[1];
    return row;
  }

  /// The pattern against itself: what a ratio is worth here.
  Expected<std::string> control(const Job& job) {
    auto models = modelsOf(job, true, nextStem());
    if (!models) return unbuilt(models.error()).map([](const Row& row) { return row.note; });
    auto answer = time({(*models)[0], (*models)[0]}, !o_.warm);
    if (!answer) return answer.error().message;
    return fmt::format("{:.3f} (spread {:.2f})", answer->median[0] / answer->median[1], spread(*answer));
  }

  bool foundDifference() const { return differs_; }

 private:
  fs::path nextStem() { return folder_.path() / std::to_string(++count_); }

  static Expected<Row> unbuilt(const Error& error) {
    if (error.kind != ErrorKind::kUnsupported) return tl::unexpected(error);
    return Row{.note = error.message()};
  }

  RunnerExpected<TimeAnswer> time(const std::vector<std::string>& models, bool cold) {
    auto answer = runner_.time(
        {.models = models, .runs = o_.runs, .threads = o_.threads, .budgetSeconds = o_.secondsPerPoint, .cold = cold});
    std::error_code ignored;
    for (const std::string& path : models) {
      if (o_.keep.empty()) fs::remove(path, ignored);
    }
    return answer;
  }

  static double spread(const TimeAnswer& a) {
    double widest = 0;
    for (size_t i = 0; i < a.median.size(); ++i)
      widest = std::max(widest, (a.p90[i] - a.p10[i]) / a.median[i]);
    return widest;
  }

  const Options& o_;
  const RunnerHello& engine_;
  RunnerKeeper& runner_;
  std::string date_;
  Folder folder_;
  int count_ = 0;
  bool differs_ = false;
};

// --- What is said
// --------------------------------------------------------------------------------------------------------

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> width(rows.front().size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      width[i] = std::max(width[i], row[i].size());
  }
  std::string result;
  for (const auto& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i)
      result += fmt::format("{:<{}}  ", row[i], width[i]);
    result += row.back() + "\n";
  }
  return result;
}

/// One line for each sample and each failure, by rule.
std::string report(const std::vector<Job>& jobs, const std::vector<Row>& rows) {
  std::vector<size_t> order;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].sample || rows[i].kind == Row::Kind::kFailed) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return jobs[a].rule->name < jobs[b].rule->name; });
  std::vector<std::vector<std::string>> lines{{"RULE", "RATIO", "ALONE", "SPREAD", "PATTERN", "SHAPES", "NOTE"}};
  for (size_t i : order) {
    const Row& r = rows[i];
    auto field = [&](auto value) { return r.sample ? fmt::format("{:.2f}", value(*r.sample)) : "-"; };
    lines.push_back({jobs[i].rule->name, field([](const auto& s) { return s.ratio(); }),
                     r.bare ? fmt::format("{:.2f}", *r.bare) : "-", field([](const auto& s) { return s.spread; }),
                     r.sample ? fmt::format("{:.2f} ms", 1e3 * r.sample->pattern) : "-", text(jobs[i].shapes),
                     r.kind == Row::Kind::kKnown ? "known" : r.note});
  }
  return table(lines);
}

std::string counts(const std::vector<Row>& rows) {
  auto count = [&](Row::Kind kind) {
    return std::count_if(rows.begin(), rows.end(), [&](const Row& r) { return r.kind == kind; });
  };
  return fmt::format("{} points: {} timed, {} known, {} failed, {} left out as their rule loses, {} not timed\n",
                     rows.size(), count(Row::Kind::kTimed), count(Row::Kind::kKnown), count(Row::Kind::kFailed),
                     count(Row::Kind::kHopeless), count(Row::Kind::kNotTimed));
}

std::string summary(const Timings& timings) {
  std::vector<std::vector<std::string>> lines{{"RULE", "SAMPLES", "LEAST", "MEDIAN", "GREATEST"}};
  for (const TimingSummary& s : timings.summaries()) {
    lines.push_back({s.name, std::to_string(s.samples), fmt::format("{:.2f}", s.least), fmt::format("{:.2f}", s.median),
                     fmt::format("{:.2f}", s.greatest)});
  }
  return table(lines);
}

// --- The pipeline
// --------------------------------------------------------------------------------------------------------

/// The folder of the running binary.
fs::path binFolder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

/// A file of the runner's: in the source tree that the binary was built in, or installed beside it.
std::string runnerFile(const std::string& name) {
  std::error_code ignored;
  const char* share = std::getenv("PET_SHARE");
  for (fs::path folder :
       {fs::path(share ? share : "") / "ort", binFolder() / "../share/pet/ort", binFolder() / "../../runtime/ort"}) {
    if (fs::exists(folder / name, ignored)) return (folder / name).lexically_normal().string();
  }
  return name;
}

/// The Python that has the engine: the one asked for, else that of the source tree's environment, else the system's.
std::string pythonOf(const Options& o) {
  std::error_code ignored;
  fs::path environment = binFolder() / "../../.venv/bin/python";
  if (!o.python.empty()) return o.python;
  return fs::exists(environment, ignored) ? environment.lexically_normal().string() : "python3";
}

Expected<Timings> resume(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? readTimings(path) : Timings();
}

/// The sample that an earlier run left for the same setting.
std::optional<TimingSample> earlier(const Timings& timings, const TimingSample& wanted) {
  for (const TimingSample& s : timings.samples(wanted.rule, wanted.device)) {
    bool same = s.shapes == wanted.shapes && s.engine == wanted.engine && s.version == wanted.version &&
                s.isa == wanted.isa && s.threads == wanted.threads;
    if (same) return s;
  }
  return std::nullopt;
}

/// The rule lost clearly at all of its first points, which are the most telling ones.
bool isHopeless(const Timings& timings, const TimingSample& wanted) {
  auto known = timings.samples(wanted.rule, wanted.device);
  std::erase_if(known, [&](const TimingSample& s) {
    return s.engine != wanted.engine || s.version != wanted.version || s.isa != wanted.isa;
  });
  return known.size() >= kHopelessAfter &&
         std::all_of(known.begin(), known.end(), [](const TimingSample& s) { return s.ratio() < kHopelessRatio; });
}

tl::unexpected<Error> runnerFailed(const std::string& message, bool& failed) {
  failed = true;
  return fail(ErrorKind::kInternal, message, "", "check --python and --runner; samples so far are kept");
}

Expected<Grid> readGrid(const Options& o) {
  if (o.shapes.empty() && !o.models.empty()) return Grid();
  std::string path = o.shapes.empty() ? runnerFile("grid.json") : o.shapes;
  auto words = readFile(path, ErrorKind::kUsage);
  if (!words) return tl::unexpected(words.error());
  return Grid::parse(*words, path);
}

/// Times what the timings do not hold yet, until the budget is spent or the runner is beyond help; every sample is
/// stored at once. One row per job.
Expected<std::vector<Row>> timeAll(
    const std::vector<Job>& jobs, Tuner& tuner, const RunnerKeeper& runner, Timings& timings, const Options& o) {
  tool::Progress progress("timing", jobs.size());
  auto end = Clock::now() + std::chrono::duration<double>(o.budget > 0 ? o.budget : 1e9);
  bool controlled = false;
  std::vector<Row> rows;
  for (const Job& job : jobs) {
    progress.step(job.rule->name);
    TimingSample wanted = tuner.blank(job);
    if (auto known = earlier(timings, wanted)) {
      rows.push_back({Row::Kind::kKnown, known});
      continue;
    }
    if (!o.exhaustive && isHopeless(timings, wanted)) {
      rows.push_back({Row::Kind::kHopeless});
      continue;
    }
    if (Clock::now() >= end || runner.hasGivenUp()) {
      rows.push_back({Row::Kind::kNotTimed});
      continue;
    }
    if (!std::exchange(controlled, true)) {
      auto control = tuner.control(job);
      if (!control) return tl::unexpected(control.error());
      progress.clear();
      if (auto ok = tool::print("A/A control: " + *control + "\n"); !ok) return tl::unexpected(ok.error());
    }
    auto row = tuner.measure(job);
    if (!row) return tl::unexpected(row.error());
    rows.push_back(std::move(*row));
    if (!rows.back().sample) continue;
    timings.add(*rows.back().sample);
    if (auto ok = writeTimings(timings, o.output); !ok) return tl::unexpected(ok.error());
  }
  return rows;
}

/// `failed`: the runner did.
Expected<void> run(const Options& o, bool& failed) {
  if (o.device != kDevice) {
    return fail(ErrorKind::kUsage, "unknown device", o.device, fmt::format("known: {}", kDevice));
  }
  auto rules = readPack(o.pack);
  if (!rules) return tl::unexpected(rules.error());
  auto grid = readGrid(o);
  if (!grid) return tl::unexpected(grid.error());
  auto timings = resume(o.output);
  if (!timings) return tl::unexpected(timings.error());
  auto jobs = plan(*rules, *grid, o);
  if (!jobs) return tl::unexpected(jobs.error());

  RunnerKeeper runner({pythonOf(o), o.runner.empty() ? runnerFile("runner.py") : o.runner}, o.timeout);
  auto engine = runner.hello();
  if (!engine) return runnerFailed(engine.error().message, failed);
  auto said = tool::print(fmt::format("{} {} on {} ({}), {} thread(s); {} points\n", engine->engine, engine->version,
                                      engine->cpu, engine->isa, o.threads, jobs->size()));
  if (!said) return said;
  Tuner tuner(o, *engine, runner, fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))));
  auto rows = timeAll(*jobs, tuner, runner, *timings, o);
  if (!rows) return tl::unexpected(rows.error());

  said = tool::print("\n" + report(*jobs, *rows) + "\n" + summary(*timings) + "\n" + counts(*rows));
  if (!said) return said;
  if (runner.isFailing()) return runnerFailed(runner.lastFailure(), failed);
  if (!tuner.foundDifference()) return {};
  return fail(ErrorKind::kCheck, "a replacement computes something else than its pattern", o.pack, "see the table");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times the rules of a pack on an engine, each in its context, and stores what they gain.", "pet-tune");
  app.footer(
      "A run that was stopped goes on where it was: samples that the file has are not taken again.\n"
      "Exit codes: 0 ok, 1 internal error, 2 usage, 3 bad model, 4 bad pack or timings, 5 a replacement is wrong, 6 "
      "the runner\n"
      "failed.");
  Options o;
  app.add_option("PACK", o.pack, "a pack of rules, from pet-synth")->required();
  app.add_option("-o,--output", o.output, "the file of timings: made, or added to (text if it ends in .jsonl)")
      ->required();
  app.add_option("--device", o.device, "the engine to time on")->capture_default_str();
  app.add_option("--rules", o.rules, "only these rules (names or globs, separated by commas)")->delimiter(',');
  app.add_option("--budget", o.budget, "seconds after which nothing more is timed; 0: no limit")->capture_default_str();
  app.add_option("--shapes", o.shapes, "a grid of shapes, instead of the one that comes with the tool");
  app.add_option("--shapes-from", o.models, "time at the shapes of these models' sites; with --shapes, also at those");
  app.add_option("--runs", o.runs, "timed runs of each side, at most")
      ->capture_default_str()
      ->check(CLI::Range(3, 10000));
  app.add_option("--seconds", o.secondsPerPoint, "for the runs of one point")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", o.threads, "of the engine")->capture_default_str()->check(CLI::Range(1, 1024));
  app.add_option("--max-work", o.maxWork, "leave out points whose pattern has more multiply-adds")
      ->capture_default_str();
  app.add_flag(
      "--exhaustive", o.exhaustive,
      fmt::format("also time rules on that stayed below {} at their first {} points", kHopelessRatio, kHopelessAfter));
  app.add_flag("--warm", o.warm, "leave the caches as they are between runs");
  app.add_flag("--no-bare", o.noBare, "do not time the rule without neighbours as well");
  app.add_option("--python", o.python, "the Python interpreter that has the engine");
  app.add_option("--runner", o.runner, "the script that times, instead of the one that comes with the tool");
  app.add_option("--timeout", o.timeout, "seconds to wait for an answer, besides the time it takes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--keep", o.keep, "leave the subgraphs that were timed in this folder");
  bool failed = false;
  int code = tool::run(app, argc, argv, [&] { return run(o, failed); });
  return failed ? kRunnerFailed : code;
}
