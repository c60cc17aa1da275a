// Models on their way to files: written beside them, flushed, renamed.

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "applier/onnx/file.h"
#include "applier/onnx/layout.h"
#include "applier/onnx/output.h"

namespace pet {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDigestDigits = 32;
constexpr std::string_view kDataExtension = ".data";

tl::unexpected<Error> cannotWrite(const std::string& path, int error) {
  return fail(ErrorKind::kUsage, fmt::format("cannot write the model: {}", std::strerror(error)), path,
              "nothing was written");
}

/// The name of a model's data file: it says what is in it, so that no other file ever has the name.
std::string dataName(const fs::path& model, const std::string& digest) {
  return fmt::format("{}.{}{}", model.filename().string(), digest.substr(0, kDigestDigits), kDataExtension);
}

/// Whether a file name is one of dataName() for this model.
bool isDataName(std::string_view name, const fs::path& model) {
  const std::string start = model.filename().string() + ".";
  if (name.size() != start.size() + kDigestDigits + kDataExtension.size()) return false;
  return name.starts_with(start) && name.ends_with(kDataExtension) &&
         name.substr(start.size(), kDigestDigits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The data files of the model that is at `path`, as far as we wrote them for it.
std::vector<fs::path> ownDataFiles(const fs::path& path) {
  std::error_code code;
  auto folder = path.parent_path();
  bool any = false;  // else the model need not be read
  for (fs::directory_iterator it(folder.empty() ? "." : folder, code), end; !code && it != end; it.increment(code))
    any = any || isDataName(it->path().filename().string(), path);
  std::vector<fs::path> files;
  if (!any) return files;
  for (const std::string& location : dataFilesOf(path.string())) {
    if (isDataName(location, path)) files.push_back(folder / location);
  }
  return files;
}

}  // namespace

struct StagedModel::State {
  std::string path;              ///< for messages
  fs::path target;               ///< behind symbolic links
  std::optional<Bytes> inPlace;  ///< of a device or a pipe
  TemporaryFile model, data;
  fs::path dataTarget;         ///< empty: no data file
  std::set<std::string> kept;  ///< data files of a model that this one does not replace
};

StagedModel::StagedModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
StagedModel::StagedModel(StagedModel&&) noexcept = default;
StagedModel& StagedModel::operator=(StagedModel&&) noexcept = default;
StagedModel::~StagedModel() = default;

namespace {

/// What stands at a path that is to be written.
struct Target {
  fs::path path;  ///< behind symbolic links
  mode_t mode = 0666;
  bool regular = true;
};

Expected<Target> targetOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return Target{path};
  if (S_ISDIR(info.st_mode)) return cannotWrite(path, EISDIR);
  std::error_code ignored;
  auto real = fs::canonical(path, ignored);
  return Target{ignored ? fs::path(path) : real, info.st_mode & 0777, S_ISREG(info.st_mode) != 0};
}

}  // namespace

Expected<StagedModel> StagedModel::write(const Model& model, const std::string& path) {
  auto target = targetOf(path);
  if (!target) return tl::unexpected(target.error());
  auto state = std::make_unique<State>();
  state->path = path;
  state->target = target->path;
  if (model.file && model.file->path != target->path) state->kept = model.file->dataPaths;
  if (!target->regular) {
    auto bytes = serialize(model);
    if (!bytes) return tl::unexpected(bytes.error());
    state->inPlace = Bytes(std::move(*bytes));
    return StagedModel(std::move(state));
  }
  ModelLayout layout = layoutOf(model);
  std::string name;
  if (!layout.data.empty()) {
    ContentDigest digest;
    if (int error = state->data.write(target->path, target->mode, layout.data, &digest))
      return cannotWrite(path, error);
    name = dataName(target->path, digest.hex());
    state->dataTarget = target->path.parent_path() / name;
  }
  auto pieces = modelPieces(std::move(layout), name);
  if (!pieces) return tl::unexpected(pieces.error());
  if (int error = state->model.write(target->path, target->mode, *pieces, nullptr)) return cannotWrite(path, error);
  return StagedModel(std::move(state));
}

Expected<Model> StagedModel::read() const {
  if (state_->inPlace) return parseModel(*state_->inPlace, state_->path);
  std::map<std::string, std::string> instead;
  if (!state_->dataTarget.empty()) instead[state_->dataTarget.filename().string()] = state_->data.path().string();
  return loadStaged(state_->model.path().string(), instead);
}

std::vector<std::string> StagedModel::files() const {
  std::vector<std::string> all{state_->path};
  if (!state_->dataTarget.empty()) all.push_back(state_->dataTarget.string());
  return all;
}

Expected<void> StagedModel::commit() {
  State& s = *state_;
  if (s.inPlace) {
    int error = writeInPlace(s.path, {{{}, *s.inPlace}});
    return error ? cannotWrite(s.path, error) : Expected<void>();
  }
  std::vector<fs::path> old = ownDataFiles(s.target);
  std::erase_if(old, [&](const fs::path& file) { return file == s.dataTarget || s.kept.contains(file.string()); });
  std::error_code ignored;
  const bool isNew = !s.dataTarget.empty() && !fs::exists(s.dataTarget, ignored);
  if (!s.dataTarget.empty()) {
    if (int error = s.data.moveTo(s.dataTarget)) return cannotWrite(s.path, error);
    syncFolder(s.target);
  }
  if (int error = s.model.moveTo(s.target)) {
    if (isNew) fs::remove(s.dataTarget, ignored);
    return cannotWrite(s.path, error);
  }
  syncFolder(s.target);
  for (const fs::path& file : old)
    fs::remove(file, ignored);
  return {};
}

Expected<void> writeModel(const Model& model, const std::string& path) {
  return StagedModel::write(model, path).and_then([](StagedModel&& staged) { return staged.commit(); });
}

Expected<void> writeModel(const Bytes& bytes, const std::string& path) {
  auto target = targetOf(path);
  if (!target) return tl::unexpected(target.error());
  const std::vector<FilePiece> pieces{{{}, bytes}};
  int error = 0;
  if (target->regular) {
    TemporaryFile file;
    error = file.write(target->path, target->mode, pieces, nullptr);
    if (!error) error = file.moveTo(target->path);
  } else {
    error = writeInPlace(path, pieces);
  }
  return error ? cannotWrite(path, error) : Expected<void>();
}

}  // namespace pet
