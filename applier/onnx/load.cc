#include <cerrno>
#include <climits>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "applier/onnx/external.h"
#include "applier/onnx/file.h"
#include "applier/onnx/mapping.h"
#include "applier/onnx/wire.h"

namespace pet {
namespace {

constexpr std::string_view kTooLarge = "larger than 2 GB besides its weights, which an ONNX file cannot be";
constexpr size_t kLeastCut = 4096;  ///< bytes of a tensor that are worth a reference

tl::unexpected<Error> cannotRead(const std::string& path, int error) {
  return fail(ErrorKind::kModel, fmt::format("cannot read the model: {}", std::strerror(error)), path);
}

/// All that comes out of a pipe or a device, up to 2 GB.
Expected<Bytes> readStream(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannotRead(path, errno);
  auto closer = std::shared_ptr<void>(nullptr, [fd](void*) { ::close(fd); });
  std::string bytes;
  constexpr size_t kChunk = 1 << 20;
  for (size_t size = 0;;) {
    bytes.resize(size + kChunk);
    ssize_t n = ::read(fd, bytes.data() + size, kChunk);
    if (n < 0 && errno == EINTR) n = 0;
    if (n < 0) return cannotRead(path, errno);
    size += static_cast<size_t>(n);
    bytes.resize(size);
    if (size > INT_MAX) return fail(ErrorKind::kModel, "larger than 2 GB, for which it has to be a file", path);
    if (n == 0) return Bytes(std::move(bytes));
  }
}

Expected<Bytes> bytesOf(const std::string& path) {
  auto mapped = mapFile(path);
  if (mapped) return *mapped;
  if (mapped.error() == kNotRegular || mapped.error() == ENODEV) return readStream(path);
  return cannotRead(path, mapped.error());
}

/// True if enough was understood before the parser stopped to say that this was once a model.
bool looksLikeModel(const onnx::ModelProto& proto) {
  return proto.ir_version() > 0 && proto.ir_version() < 1000 && (proto.has_graph() || proto.opset_import_size() > 0);
}

/// Protobuf's part of the reading. An error says whether these bytes were a model once.
Expected<void> parse(std::string_view bytes, const std::string& name, onnx::ModelProto& proto) {
  if (bytes.size() > INT_MAX) return fail(ErrorKind::kModel, std::string(kTooLarge), name);
  bool whole = proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!whole && looksLikeModel(proto)) {
    return fail(ErrorKind::kModel,
                "truncated or damaged: the file ends within a field, a length in it is wrong, or subgraphs are nested "
                "too deep",
                name, "copy or export the model again");
  }
  if (whole && looksLikeModel(proto) && proto.has_graph()) return {};
  return fail(ErrorKind::kModel, bytes.empty() ? "not an ONNX model: the file is empty" : "not an ONNX model", name);
}

/// Has initializers refer to values that were cut out of `from`.
void referToCut(const InitializerData& cut, const Bytes& from, ModelFile& file) {
  for (const auto& [position, view] : cut) {
    onnx::TensorProto& t = *file.proto.mutable_graph()->mutable_initializer(position);
    if (t.data_location() == onnx::TensorProto::EXTERNAL) continue;  // what is elsewhere counts
    if (t.has_data_location() || t.external_data_size() > 0) {       // to be written as it came
      t.set_raw_data(view.data(), view.size());
    } else {
      refer(t, file.values.size());
      file.values.push_back(from.part(view));
    }
  }
}

Expected<Model> readBytes(const Bytes& from, const DataPlace& place) {
  auto file = std::make_shared<ModelFile>();
  std::error_code code;
  if (place.folder) file->path = std::filesystem::canonical(place.model, code).string();
  {
    auto cut = cutModel(*from, kLeastCut);
    if (auto ok = parse(cut ? cut->skeleton : *from, place.model, file->proto); !ok) return tl::unexpected(ok.error());
    if (auto ok = mapExternalData(*file, place); !ok) return tl::unexpected(ok.error());
    if (cut) referToCut(cut->values, from, *file);
  }
  return readModel(file, place.model);
}

}  // namespace

Expected<Model> parseModel(const Bytes& bytes, const std::string& name) {
  return readBytes(bytes, {name, std::nullopt, {}});
}

Expected<Model> loadStaged(const std::string& path, const std::map<std::string, std::string>& instead) {
  return bytesOf(path).and_then([&](const Bytes& from) {
    std::optional<std::filesystem::path> folder;
    if (from.mapped()) folder = std::filesystem::path(path).parent_path();
    return readBytes(from, {path, folder, instead});
  });
}

Expected<Model> load(const std::string& path) {
  return loadStaged(path, {});
}

std::vector<std::string> dataFilesOf(const std::string& path) {
  onnx::ModelProto proto;
  auto bytes = mapFile(path);
  if (!bytes) return {};
  auto cut = cutModel(**bytes, kLeastCut);
  return parse(cut ? cut->skeleton : **bytes, path, proto) ? externalLocations(proto) : std::vector<std::string>();
}

}  // namespace pet
