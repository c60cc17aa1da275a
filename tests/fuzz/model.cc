// ONNX models as bytes, with a data file beside them. What is read is normalised and rewritten, and can be written and
// read again; what is written to files is what is written to memory.

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "applier/apply.h"
#include "applier/onnx/wire.h"
#include "applier/read/normalise.h"
#include "rules/pack/file.h"
#include "rules/text.h"
#include "tests/fuzz/fields.h"
#include "tests/fuzz/fuzz.h"

using namespace pet;

namespace {

/// Rules of a plain convolution, and of two with one input.
RuleSet someRules() {
  RuleSet rules;
  for (std::string name : {"conv", "branches"}) {
    std::string path = PET_SOURCE_DIR "/tests/data/" + name + ".pet";
    auto text = readFile(path, ErrorKind::kText);
    auto added = addRules(rules, parseRules(text.value(), path).value(), path);
    fuzz::require(added.has_value(), "the rules have names of their own", added ? "" : added.error().message());
  }
  return rules;
}

/// Where models and the file w.bin lie, in memory if there is such a place.
class Folder {
 public:
  Folder() {
    std::error_code ignored;
    const std::filesystem::path memory("/dev/shm");
    const auto base = std::filesystem::is_directory(memory, ignored) ? memory : std::filesystem::temp_directory_path();
    path_ = base / ("pet-fuzz-" + std::to_string(::getpid()));
    std::filesystem::create_directory(path_);
    write("w.bin", std::string(20000, '\1'));
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string at(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

 private:
  std::filesystem::path path_;
};

/// What is cut out of a model's bytes fits in again.
void checkWire(std::string_view bytes) {
  auto cut = cutModel(bytes, 16);
  if (!cut) return;
  auto pieces = joinModel(cut->skeleton, cut->values);
  fuzz::require(pieces.has_value(), "what was cut can be joined");
  std::string joined;
  for (const WirePiece& piece : *pieces)
    joined += piece.text + std::string(piece.value);
  auto again = cutModel(joined, 16);
  fuzz::require(again && again->skeleton == cut->skeleton && again->values == cut->values, "joined is what was cut");
}

/// A file, with a data file or without, holds what memory would.
void checkFile(const Folder& folder, const Model& model) {
  auto bytes = serialize(model);
  fuzz::require(bytes.has_value(), "a small model fits into a file", bytes ? "" : bytes.error().message());
  auto written = writeModel(model, folder.at("out.onnx"));
  fuzz::require(written.has_value(), "what was read can be written", written ? "" : written.error().message());
  auto again = load(folder.at("out.onnx"));
  fuzz::require(again.has_value(), "what is in files can be read", again ? "" : again.error().message());
  fuzz::require(serialize(*again).value() == *bytes, "what is in files is what is in memory");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const RuleSet kRules = someRules();
  static const Folder kFolder;
  const std::string_view bytes = fuzz::view(data, size);
  checkWire(bytes);
  const std::string path = kFolder.at("model.onnx");
  kFolder.write("model.onnx", bytes);
  auto model = load(path);
  if (!model) {
    fuzz::require(model.error().kind == ErrorKind::kModel && model.error().where == path, "an error is about the model",
                  model.error().message());
    return 0;
  }
  checkFile(kFolder, *model);
  ApplyOptions options;
  options.policy.all = true;
  options.check = ApplyOptions::Check::kNone;
  auto applied = apply(*model, kRules, {}, options);
  if (!applied) {
    bool theirs = applied.error().kind == ErrorKind::kModel || applied.error().kind == ErrorKind::kUnsupported;
    fuzz::require(theirs, "an error is about the model", applied.error().message());
    return 0;
  }
  checkFile(kFolder, applied->model);
  return 0;
}
