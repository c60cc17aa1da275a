#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "applier/onnx/model.h"
#include "session/plan.h"

namespace pet::session {

struct SessionOptions {
  /// Of how many extents of its inputs a session keeps what it prepared, weights included: the last ones used. >= 1.
  size_t plans = 4;
};

/// numpy's name of an element type: "float32".
std::string_view numpyName(ElementType element);

/// An input or an output of a model, as its file declares it.
struct Port {
  std::string name;
  ElementType element = ElementType::kUnknown;
  std::vector<std::optional<int64_t>> extents;  ///< nullopt: open
  std::vector<std::string> names;  ///< of the open ones, "" where the file gives none; as many as `extents`
  bool hasRank = true;

  /// "x: float32[batch, 3, 224, 224]"
  std::string text() const;
};

/// A model of a file that is ready to run. Extents that the file leaves open are planned for as they come, and the
/// plans kept (SessionOptions::plans). Several sessions may run at the same time; calls of run() on one take turns.
///
/// Memory: the file is mapped. Each plan holds its weights in the form that the engine wants, which is about the
/// model's size, and all intermediate values of its programs (arenaBytes()).
class ModelSession {
 public:
  /// kModel: as load() says; inputs that are no tensors; a node that nothing here computes, with its name. If all
  /// inputs' extents are known, the engine's errors, too.
  static Expected<std::unique_ptr<ModelSession>> open(const std::string& path,
                                                      Engines engines,
                                                      const SessionOptions& options = {});
  /// Of a model that was read; `name` stands in errors for the path.
  static Expected<std::unique_ptr<ModelSession>> of(const Model& model,
                                                    const std::string& name,
                                                    Engines engines,
                                                    const SessionOptions& options = {});

  const std::string& name() const { return name_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

  /// In the order of outputs(). kUsage: an input that is missing or that the model has not, of another type, or of
  /// extents that it does not take. kModel: the model cannot be run on these.
  Expected<std::vector<Constant>> run(const Feeds& feeds);
  /// For timing: the last run() once more, with the same feeds, which may leave the outputs on the engine's device
  /// (Plan::again()).
  Expected<std::optional<double>> again(const Feeds& feeds);
  /// A run, and what each of its steps takes (Plan::profile()).
  Expected<std::vector<StepTime>> profile(const Feeds& feeds);
  /// Prepares for inputs of these extents, as run() would. Errors as there.
  Expected<void> prepare(const std::map<std::string, Extents>& extents);

  /// Of the plan that was used last; nothing before the first.
  std::vector<EngineNote> notes() const;
  int64_t arenaBytes() const;
  size_t plans() const;

 private:
  ModelSession(Graph graph, std::string name, Engines engines, const SessionOptions& options);
  Expected<void> readPorts();
  Expected<void> checkFeeds(const Feeds& feeds) const;
  Expected<void> checkExtents(const std::map<std::string, Extents>& extents) const;
  Expected<Plan*> planFor(const std::map<std::string, Extents>& extents);
  Error named(Error error) const;

  struct Kept {
    std::map<std::string, Extents> extents;
    std::unique_ptr<Plan> plan;
  };
  Graph graph_;
  std::string name_;
  Engines engines_;
  SessionOptions options_;
  std::vector<Port> inputs_, outputs_;
  mutable std::mutex mutex_;  ///< of what follows
  std::list<Kept> kept_;      ///< the last used first
};

}  // namespace pet::session
