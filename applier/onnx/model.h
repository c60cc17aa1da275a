#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "applier/onnx/graph.h"
#include "ir/error.h"

namespace pet {

/// The file a model was read from, as ONNX's own messages; only applier/onnx/ sees into it.
struct ModelFile;

// Keys of what pet writes into a model's metadata.
inline constexpr const char* kPromisesKey = "pet.assume";  ///< what its user promised of its extents
inline constexpr const char* kRulesKey = "pet.rules";      ///< the rules that fired
inline constexpr const char* kDeviceKey = "pet.device";    ///< the device whose timings chose them
inline constexpr const char* kGuessedKey = "pet.guessed";  ///< of these, those that were chosen by a guess

/// Entries of a model's metadata, by key.
using Metadata = std::map<std::string, std::vector<std::string>>;

/// A model: its main graph as a value to rewrite, and the file that everything else is written back from. Without a
/// file (null) the graph is all there is. A graph without a file, or that is only a part of the file's, needs `types`
/// for its inputs and outputs.
struct Model {
  Graph graph;
  std::shared_ptr<const ModelFile> file;
  bool part = false;  ///< of what the file holds: its inputs and outputs are the graph's, not the file's
  Opsets opsets = {};
  std::set<std::string> inlined = {};  ///< keys of functions that go unless something still calls them
  Metadata metadata = {};  ///< what is to be said besides what the file says, for each key behind what it says there
};

/// What the model's file says under a key of its metadata; "": nothing.
std::string metadataEntry(const Model& model, std::string_view key);

/// Reads an ONNX model and checks that its graphs are such: every value defined once and before its use, no cycle,
/// tensors as long as their extents say, no function that calls itself. Files are mapped, the model's and those of its
/// external data, so that large values are neither read nor copied before they are used; they may be replaced
/// meanwhile, but not cut short. Errors (kModel): unreadable, not ONNX, truncated, over 2 GB besides the values of
/// initializers; external data that are not in the model's folder, missing, too short or overlapping; subgraphs nested
/// more than kMostNestedGraphs deep; and the above.
Expected<Model> load(const std::string& path);
/// The same from memory, without external data; `name` stands in errors for the path.
Expected<Model> parseModel(const Bytes& bytes, const std::string& name);

/// Numbers for extents that a file leaves open: by their names in it, or all of an input's.
struct OpenExtents {
  std::map<std::string, int64_t, std::less<>> byName;
  std::map<std::string, std::vector<int64_t>, std::less<>> byInput;
};
/// A model from a file with these extents, wherever the file names them. `where` stands in errors for the file's name.
/// kUsage: a name or an input that it has not, another rank, or an extent that it says is another.
Expected<Model> bindExtents(const Model& model, const OpenExtents& extents, const std::string& where);

/// The model's bytes as one file: nodes and initializers that have an original go out as they came in, and so does all
/// that the graph does not show. With `extents`, where its inputs and other declarations leave these open. kModel: over
/// ONNX's 2 GB. kUsage: as for bindExtents().
Expected<std::string> serialize(const Model& model, const OpenExtents& extents = {});

/// A model that was written beside its place and flushed, but is not there yet. What is not committed is removed.
///
/// A model without external data is one file, with the bytes of serialize(). One that had some, or that would be over
/// 2 GB, gets a data file as well, MODEL.DIGEST.data with a digest of its content: whoever reads the path sees the old
/// model with its data, or the new one with its own. A device or a pipe gets one file, at the commit.
class StagedModel {
 public:
  /// kModel: it cannot be written, with the reason.
  static Expected<StagedModel> write(const Model& model, const std::string& path);
  StagedModel(StagedModel&&) noexcept;
  StagedModel& operator=(StagedModel&&) noexcept;
  ~StagedModel();

  /// What a reader will see after the commit.
  Expected<Model> read() const;
  /// The files that there will be: the model, as the path was given, and its data file, if it has one.
  std::vector<std::string> files() const;
  /// Replaces what is at the path, once. A data file that the old model had by that path, and that we wrote, is
  /// removed. kModel: it cannot be written; then all is as it was.
  Expected<void> commit();

 private:
  struct State;
  explicit StagedModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Writes a model to a file, as a StagedModel does.
Expected<void> writeModel(const Model& model, const std::string& path);
/// Writes a model's bytes beside `path`, flushes and renames: a failure leaves nothing (kModel, with the reason).
Expected<void> writeModel(const Bytes& bytes, const std::string& path);

}  // namespace pet
