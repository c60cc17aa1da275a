// External data: what a tensor's messages say of them -> bytes of mapped files.

#include "applier/onnx/external.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "applier/onnx/mapping.h"
#include "applier/onnx/tensors.h"

namespace pet {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

/// What a tensor says of where its values are.
struct Location {
  std::string file;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

/// A tensor's bytes in a file. `file` is a real path.
struct DataRange {
  std::string file, owner, location;
  uint64_t begin = 0, end = 0;
};

/// Bytes that a tensor's values take; nullopt where pet does not know.
std::optional<uint64_t> bytesNeeded(const TensorProto& t) {
  Extents extents(t.dims().begin(), t.dims().end());
  auto count = countOf(extents);
  auto element = static_cast<ElementType>(t.data_type());
  if (!count || elementSize(element) == 0) return std::nullopt;
  return static_cast<uint64_t>(*count) * elementSize(element);
}

/// What a tensor with external data must not have besides.
void clearTyped(TensorProto& t) {
  t.clear_float_data();
  t.clear_int32_data();
  t.clear_int64_data();
  t.clear_double_data();
  t.clear_uint64_data();
  t.clear_string_data();
}

class DataMapper {
 public:
  DataMapper(ModelFile& file, const DataPlace& place) : file_(file), place_(place) {}

  Expected<void> run() {
    Expected<void> result;
    forEachTensor(file_.proto, [&](TensorProto& t, const std::string& owner) {
      if (!result || t.data_location() != TensorProto::EXTERNAL) return;
      result = enter(t, owner);
    });
    if (!result) return result;
    return checkOverlaps();
  }

 private:
  tl::unexpected<Error> error(std::string what, std::string advice) const {
    return fail(ErrorKind::kModel, std::move(what), place_.model, std::move(advice));
  }

  Expected<void> enter(TensorProto& t, const std::string& owner) {
    auto location = locationOf(t, owner);
    if (!location) return tl::unexpected(location.error());
    auto bytes = open(location->file, owner);
    if (!bytes) return tl::unexpected(bytes.error());
    auto range = rangeOf(t, *location, (*bytes)->size(), owner);
    if (!range) return tl::unexpected(range.error());
    clearTyped(t);
    refer(t, file_.values.size());
    file_.values.push_back(bytes->part((*bytes)->substr(range->begin, range->end - range->begin)));
    file_.external = true;
    ranges_.push_back(std::move(*range));
    return {};
  }

  Expected<uint64_t> number(const std::string& text, const char* key, const std::string& owner) const {
    uint64_t value = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc() && end == text.data() + text.size() && value <= INT64_MAX) return value;
    return error(
        fmt::format("{} has '{}' as the {} of its external data, which is no number of bytes", owner, text, key),
        "export the model again");
  }

  Expected<Location> locationOf(const TensorProto& t, const std::string& owner) const {
    Location location;
    for (const auto& entry : t.external_data()) {
      if (entry.key() == "location") location.file = entry.value();
      if (entry.key() != "offset" && entry.key() != "length") continue;
      auto value = number(entry.value(), entry.key().c_str(), owner);
      if (!value) return tl::unexpected(value.error());
      if (entry.key() == "offset") {
        location.offset = *value;
      } else {
        location.length = *value;
      }
    }
    if (!location.file.empty() && location.file.find('\0') == std::string::npos) return location;
    return error(fmt::format("{} keeps its values in an external file, but does not name one", owner),
                 "export the model again");
  }

  /// A file's bytes, mapped once.
  Expected<Bytes> open(const std::string& location, const std::string& owner) {
    if (auto it = files_.find(location); it != files_.end()) return it->second.bytes;
    auto path = realPath(location, owner);
    if (!path) return tl::unexpected(path.error());
    auto bytes = mapFile(*path);
    if (!bytes) {
      std::string why = bytes.error() == kNotRegular ? "not a regular file" : std::strerror(bytes.error());
      return error(fmt::format("{} has its values in '{}', which cannot be read: {}", owner, location, why),
                   "a model's data files have to be where it names them, in its folder");
    }
    file_.dataPaths.insert(*path);
    return files_.emplace(location, MappedFile{*path, *bytes}).first->second.bytes;
  }

  Expected<std::string> realPath(const std::string& location, const std::string& owner) const {
    if (auto it = place_.instead.find(location); it != place_.instead.end()) return it->second;
    if (!place_.folder) {
      return error(fmt::format("{} has its values in '{}', but the model comes from no folder", owner, location),
                   "give the model's path, not a pipe");
    }
    const fs::path relative(location);
    auto leaves = [&]() {
      return error(fmt::format("{} has its values in '{}', which is not in the model's folder", owner, location),
                   "copy the file into the folder, and name it from there");
    };
    if (relative.is_absolute() || std::find(relative.begin(), relative.end(), "..") != relative.end()) return leaves();
    std::error_code code;
    const fs::path folder = fs::canonical(place_.folder->empty() ? "." : *place_.folder, code);
    const fs::path file = code ? fs::path() : fs::canonical(folder / relative, code);
    if (code) {
      return error(fmt::format("{} has its values in '{}', which cannot be read: {}", owner, location, code.message()),
                   "a model's data files have to be where it names them, in its folder");
    }
    if (std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first != folder.end()) return leaves();
    return file.string();
  }

  Expected<DataRange> rangeOf(const TensorProto& t, const Location& at, uint64_t size, const std::string& owner) const {
    const auto needed = bytesNeeded(t);
    const uint64_t rest = size - std::min(size, at.offset);
    const uint64_t length = at.length.value_or(needed.value_or(rest));
    if (needed && length != *needed) return tl::unexpected(wrongSize(t, owner, length, place_.model));
    if (at.offset > size || length > rest) {
      return error(fmt::format("{} has its values in '{}' from byte {} on, {} of them, but the file ends at {}", owner,
                               at.file, at.offset, length, size),
                   "the file is cut short, or is of another model: copy or export both again");
    }
    return DataRange{files_.at(at.file).path, owner, at.file, at.offset, at.offset + length};
  }

  Expected<void> checkOverlaps() {
    auto key = [](const DataRange& r) { return std::tie(r.file, r.begin, r.end); };
    std::erase_if(ranges_, [](const DataRange& r) { return r.begin == r.end; });
    std::stable_sort(ranges_.begin(), ranges_.end(),
                     [&](const DataRange& a, const DataRange& b) { return key(a) < key(b); });
    for (size_t i = 1; i < ranges_.size(); ++i) {
      const DataRange &a = ranges_[i - 1], &b = ranges_[i];
      if (a.file != b.file || b.begin >= a.end || key(a) == key(b)) continue;
      return error(fmt::format("{} and {} overlap in '{}': bytes {} to {} and {} to {}", a.owner, b.owner, b.location,
                               a.begin, a.end, b.begin, b.end),
                   "one of them has a wrong offset or length: export the model again");
    }
    return {};
  }

  struct MappedFile {
    std::string path;
    Bytes bytes;
  };

  ModelFile& file_;
  const DataPlace& place_;
  std::map<std::string, MappedFile> files_;  ///< by location
  std::vector<DataRange> ranges_;
};

}  // namespace

Expected<void> mapExternalData(ModelFile& file, const DataPlace& place) {
  return DataMapper(file, place).run();
}

std::vector<std::string> externalLocations(onnx::ModelProto& proto) {
  std::vector<std::string> locations;
  forEachTensor(proto, [&](TensorProto& t, const std::string&) {
    if (t.data_location() != TensorProto::EXTERNAL) return;
    for (const auto& entry : t.external_data()) {
      if (entry.key() == "location") locations.push_back(entry.value());
    }
  });
  return locations;
}

}  // namespace pet
