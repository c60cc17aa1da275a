#include "tools/run/npy.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/pack/file.h"

namespace pet::run {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kBlock = 64;  ///< the data begin at a multiple of it

struct NpyType {
  std::string_view name;  ///< without the byte order
  ElementType element;
};
constexpr NpyType kNpyTypes[] = {
    {"f4", ElementType::kFloat},  {"f8", ElementType::kDouble}, {"f2", ElementType::kFloat16},
    {"i8", ElementType::kInt64},  {"i4", ElementType::kInt32},  {"i2", ElementType::kInt16},
    {"i1", ElementType::kInt8},   {"u8", ElementType::kUint64}, {"u4", ElementType::kUint32},
    {"u2", ElementType::kUint16}, {"u1", ElementType::kUint8},  {"b1", ElementType::kBool},
};

struct Header {
  ElementType element = ElementType::kUnknown;
  bool columns = false;
  Extents extents;
};

/// What stands behind 'key': in the header's dictionary; empty where it has no such key.
std::string_view fieldOf(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size() + 3);
  return rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
}

std::optional<ElementType> elementOf(std::string_view text) {
  if (text.size() < 5 || text[0] != '\'') return std::nullopt;
  const char order = text[1];
  const std::string_view name = text.substr(2, text.find('\'', 1) - 2);
  if (order != '<' && order != '|' && order != '=') return std::nullopt;
  auto it = std::find_if(std::begin(kNpyTypes), std::end(kNpyTypes), [&](const NpyType& t) { return t.name == name; });
  return it == std::end(kNpyTypes) ? std::nullopt : std::optional(it->element);
}

std::optional<Extents> shapeIn(std::string_view text) {
  const size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) return std::nullopt;
  Extents extents;
  int64_t number = -1;
  for (char c : text.substr(1, end - 1)) {
    if (c >= '0' && c <= '9') {
      number = std::max<int64_t>(number, 0) * 10 + (c - '0');
      if (number >= int64_t{1} << 48) return std::nullopt;
    } else if (c == ',' && number >= 0) {
      extents.push_back(std::exchange(number, -1));
    } else if (c != ' ') {
      return std::nullopt;
    }
  }
  if (number >= 0) extents.push_back(number);
  return extents;
}

/// Column-major elements in row-major order.
std::string inRows(std::string_view bytes, const Extents& extents, size_t size) {
  std::string rows(bytes.size(), '\0');
  std::vector<int64_t> position(extents.size(), 0);
  for (size_t to = 0; to < rows.size(); to += size) {
    int64_t from = 0;
    for (size_t d = extents.size(); d-- > 0;)
      from = from * extents[d] + position[d];
    std::memcpy(rows.data() + to, bytes.data() + static_cast<size_t>(from) * size, size);
    for (size_t d = extents.size(); d-- > 0 && ++position[d] == extents[d];)
      position[d] = 0;
  }
  return rows;
}

}  // namespace

Expected<Constant> parseNpy(std::string_view bytes, const std::string& name) {
  auto wrong = [&](std::string what) { return fail(ErrorKind::kUsage, std::move(what), name); };
  if (bytes.size() < 12 || bytes.substr(0, kMagic.size()) != kMagic) return wrong("it is no .npy file");
  const int version = bytes[6];
  if (version < 1 || version > 3) return wrong(fmt::format("version {} of .npy is not known", version));
  const size_t sizeBytes = version == 1 ? 2 : 4;
  size_t length = 0;
  for (size_t i = 0; i < sizeBytes; ++i)
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  const size_t begin = 8 + sizeBytes;
  if (length > bytes.size() - begin) return wrong("it is truncated");
  const std::string_view header = bytes.substr(begin, length);
  const auto element = elementOf(fieldOf(header, "descr"));
  if (!element) return wrong("its type is none that a model takes: numbers of this machine's byte order are");
  auto extents = shapeIn(fieldOf(header, "shape"));
  if (!extents) return wrong("its header has no shape");
  const std::string_view data = bytes.substr(begin + length);
  double count = static_cast<double>(elementSize(*element));
  for (int64_t e : *extents)
    count *= static_cast<double>(e);
  if (count != static_cast<double>(data.size()))
    return wrong(fmt::format("it has {} bytes of data, not {}", data.size(), count));
  const bool columns = fieldOf(header, "fortran_order").starts_with("True");
  return Constant{*element, *extents, columns ? inRows(data, *extents, elementSize(*element)) : std::string(data)};
}

Expected<Constant> readNpy(const std::string& path) {
  auto bytes = readFile(path, ErrorKind::kUsage);
  return bytes ? parseNpy(*bytes, path) : tl::unexpected(bytes.error());
}

Expected<std::string> npyOf(const Constant& tensor) {
  auto it = std::find_if(std::begin(kNpyTypes), std::end(kNpyTypes),
                         [&](const NpyType& t) { return t.element == tensor.element; });
  if (it == std::end(kNpyTypes))
    return fail(ErrorKind::kUnsupported, fmt::format("numpy has no type for {}", str(tensor.element)));
  const char order = elementSize(tensor.element) == 1 ? '|' : '<';
  const char* comma = tensor.extents.size() == 1 ? "," : "";
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order, it->name,
                                   fmt::join(tensor.extents, ", "), comma);
  const size_t begin = kMagic.size() + 4;
  header.append(kBlock - (begin + header.size() + 1) % kBlock, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return bytes + header + std::string(*tensor.bytes);
}

}  // namespace pet::run
