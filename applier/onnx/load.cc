#include <cerrno>
#include <climits>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "applier/onnx/file.h"

namespace pet {
namespace {

constexpr std::string_view kTooLarge = "larger than 2 GB, which one ONNX file cannot be";

Expected<std::string> readBytes(const std::string& path) {
  auto cannotRead = [&](int error) {
    return fail(ErrorKind::kModel, fmt::format("cannot read the model: {}", std::strerror(error)), path);
  };
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannotRead(errno);
  auto closer = std::shared_ptr<void>(nullptr, [fd](void*) { ::close(fd); });
  struct stat info {};
  if (::fstat(fd, &info) != 0) return cannotRead(errno);
  if (S_ISDIR(info.st_mode)) return cannotRead(EISDIR);
  std::string bytes;
  if (S_ISREG(info.st_mode)) {
    if (info.st_size > INT_MAX) return fail(ErrorKind::kModel, std::string(kTooLarge), path);
    bytes.reserve(static_cast<size_t>(info.st_size) + 1);
  }
  constexpr size_t kChunk = 1 << 20;
  for (size_t size = 0;;) {
    bytes.resize(size + kChunk);
    ssize_t n = ::read(fd, bytes.data() + size, kChunk);
    if (n < 0 && errno == EINTR) n = 0;
    if (n < 0) return cannotRead(errno);
    size += static_cast<size_t>(n);
    bytes.resize(size);
    if (size > INT_MAX) return fail(ErrorKind::kModel, std::string(kTooLarge), path);
    if (n == 0) return bytes;
  }
}

/// True if enough was understood before the parser stopped to say that this was once a model.
bool looksLikeModel(const onnx::ModelProto& proto) {
  return proto.ir_version() > 0 && proto.ir_version() < 1000 && (proto.has_graph() || proto.opset_import_size() > 0);
}

}  // namespace

Expected<Model> parseModel(const std::string& bytes, const std::string& name) {
  auto file = std::make_shared<ModelFile>();
  onnx::ModelProto& proto = file->proto;
  bool whole = bytes.size() <= INT_MAX && proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!whole && looksLikeModel(proto)) {
    return fail(ErrorKind::kModel,
                "truncated or damaged: the file ends within a field, a length in it is wrong, or subgraphs are nested "
                "too deep",
                name, "copy or export the model again");
  }
  if (!whole || !looksLikeModel(proto) || !proto.has_graph()) {
    return fail(ErrorKind::kModel, bytes.empty() ? "not an ONNX model: the file is empty" : "not an ONNX model", name);
  }
  return readModel(file, name);
}

Expected<Model> load(const std::string& path) {
  return readBytes(path).and_then([&](const std::string& bytes) { return parseModel(bytes, path); });
}

}  // namespace pet
