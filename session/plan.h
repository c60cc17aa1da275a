#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engines.h"
#include "session/byte_groups.h"
#include "session/node_runner.h"
#include "session/partition.h"

namespace pet::session {

/// Values by name.
using Feeds = std::map<std::string, Constant, std::less<>>;

/// A model made ready for inputs of certain extents: regions as programs on the engine, what computes with integers
/// that stand for numbers as programs of bytes (byte_groups.h), the nodes between them one by one (partition.h).
class Plan {
 public:
  /// `graph`: its inputs' extents are known. kUnsupported, with its name: a node that nothing here computes. The
  /// engine's errors.
  static Expected<std::unique_ptr<Plan>> make(const Graph& graph, const Engines& engines);
  /// What make() would refuse of a graph whose extents are not known yet.
  static Expected<void> check(const Graph& graph);

  /// In the order of the graph's outputs. `feeds`: one for each input, of its type. One call at a time.
  Expected<std::vector<Constant>> run(const Feeds& feeds);
  /// For timing: the last run() once more, with the same feeds. A model that is one program on a device neither brings
  /// its inputs nor fetches its outputs; then the seconds by the device's clock.
  Expected<std::optional<double>> again(const Feeds& feeds);

  /// run(), and what each step of its programs takes, and each node that runs by itself.
  Expected<std::vector<StepTime>> profile(const Feeds& feeds);

  /// How each node of a program is computed; and the nodes that run one by one, as the reference does.
  std::vector<EngineNote> notes() const;
  /// Bytes that all intermediate values of the programs take together.
  int64_t arenaBytes() const;
  size_t regions() const;

 private:
  explicit Plan(const Engines& engines) : engines_(engines), runner_(engines.programs) {}
  struct RegionStep {
    std::unique_ptr<PreparedProgram> program;
    std::vector<int> inputs, outputs;  ///< slots
    std::vector<Extents> extents;      ///< of the outputs
    std::vector<ElementType> elements;
  };
  struct NodeStep {
    const GraphNode* node;
    std::string why;               ///< it is in no region
    ByteProgram* bytes = nullptr;  ///< that computes it
  };
  struct Step {
    int region = -1;        ///< a RegionStep
    int node = -1;          ///< or a NodeStep
    std::vector<int> last;  ///< slots that nobody reads behind it
  };

  int slot(const std::string& name);
  std::string nameOf(Value v) const;
  Expected<void> fill(const Graph& graph);
  Expected<void> addRegion(const Region& region, const ProgramEngine& engine);
  void addConstants();
  void addNode(int node);
  bool readsConstants(const GraphNode& node);
  bool computeNow(const NodeStep& step);
  void keepResults(const GraphNode& node, std::vector<Constant> results, std::vector<Constant>& values) const;
  void findLastReads();
  Expected<std::vector<Constant>> run(const Feeds& feeds, std::vector<StepTime>* times);
  void runStep(const Step& step, std::vector<Constant>& values, std::vector<StepTime>* times);
  void runRegion(const RegionStep& step, std::vector<Constant>& values, std::vector<StepTime>* times);
  std::vector<Constant> runBytes(const NodeStep& step, const std::vector<Constant>& values) const;
  std::vector<Constant> runAlone(const NodeStep& step, const std::vector<Constant>& values);
  void runNode(const NodeStep& step, std::vector<Constant>& values);

  Engines engines_;
  ProgramEngine reference_ = referenceEngine();
  ByteGroups bytes_;  ///< without its graph
  Graph graph_;
  Normalised read_;
  Partition partition_;
  NodeRunner runner_;
  std::map<std::string, int, std::less<>> slots_;
  std::vector<Constant> first_;  ///< per slot: its value where that is a constant
  std::vector<RegionStep> regions_;
  std::vector<NodeStep> nodes_;
  std::vector<Step> steps_;
};

}  // namespace pet::session
