// A model's messages -> the pieces of its files.

#include "applier/onnx/layout.h"

#include <climits>
#include <map>

#include <fmt/format.h>

#include "applier/onnx/tensors.h"
#include "applier/onnx/wire.h"

namespace pet {
namespace {

using onnx::TensorProto;

constexpr size_t kLeastExternal = 1025;    ///< bytes of a tensor that goes to a data file
constexpr uint64_t kDataAlignment = 4096;  ///< so that a page of memory is a page of the file

bool isExternal(const TensorProto& t) {
  return t.data_location() == TensorProto::EXTERNAL;
}

/// Bytes of the model as one file, a little less for the lengths of what is referred to.
uint64_t sizeAsOneFile(ModelFile& file) {
  uint64_t size = file.proto.ByteSizeLong();
  forEachTensor(file.proto, [&](TensorProto& t, const std::string&) {
    if (isExternal(t)) size += file.values[referredBy(t)]->size() + 16;
  });
  return size;
}

/// Has each tensor that goes to the data file refer to a value, and every other one hold its own.
void chooseExternal(ModelFile& file) {
  for (TensorProto& t : *file.proto.mutable_graph()->mutable_initializer()) {
    if (isExternal(t) || t.raw_data().size() < kLeastExternal) continue;
    Bytes bytes(std::move(*t.mutable_raw_data()));
    refer(t, file.values.size());
    file.values.push_back(std::move(bytes));
  }
  forEachTensor(file.proto, [&](TensorProto& t, const std::string&) {
    if (!isExternal(t)) return;
    const Bytes& value = file.values[referredBy(t)];
    if (value->size() < kLeastExternal) putInline(t, *value);
  });
}

/// Puts values into a data file, in the order that they are asked for.
class DataFile {
 public:
  /// Where the value begins.
  uint64_t place(const Bytes& value) {
    auto [it, isNew] = places_.try_emplace(std::pair(value->data(), value->size()), 0);
    if (!isNew) return it->second;
    uint64_t begin = (size_ + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
    pieces_.push_back({std::string(begin - size_, '\0'), value});
    size_ = begin + value->size();
    return it->second = begin;
  }
  std::vector<FilePiece> take() { return std::move(pieces_); }

 private:
  std::map<std::pair<const char*, size_t>, uint64_t> places_;
  std::vector<FilePiece> pieces_;
  uint64_t size_ = 0;
};

void setLocation(TensorProto& t, const std::string& file, uint64_t offset, uint64_t length) {
  t.clear_external_data();
  for (const auto& [key, value] :
       {std::pair("location", file), {"offset", std::to_string(offset)}, {"length", std::to_string(length)}}) {
    auto& entry = *t.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
}

/// The messages with the places of all values in the data file.
void locate(ModelFile& file, const std::string& dataName) {
  DataFile data;
  forEachTensor(file.proto, [&](TensorProto& t, const std::string&) {
    if (!isExternal(t)) return;
    const Bytes& value = file.values[referredBy(t)];
    setLocation(t, dataName, data.place(value), value->size());
  });
}

/// Has the main graph's initializers hold empty values where they refer to some; these are taken out. Others hold
/// theirs.
std::vector<std::pair<int, Bytes>> takeValues(ModelFile& file) {
  std::vector<std::pair<int, Bytes>> values;
  auto& initializers = *file.proto.mutable_graph()->mutable_initializer();
  for (int i = 0; i < initializers.size(); ++i) {
    if (!isExternal(initializers[i])) continue;
    values.emplace_back(i, file.values[referredBy(initializers[i])]);
    putInline(initializers[i], "");
  }
  forEachTensor(file.proto, [&](TensorProto& t, const std::string&) {
    if (isExternal(t)) putInline(t, *file.values[referredBy(t)]);
  });
  return values;
}

/// The model's bytes around values of its initializers.
std::optional<std::vector<FilePiece>> joined(const std::string& skeleton,
                                             const std::vector<std::pair<int, Bytes>>& values) {
  InitializerData views;
  for (const auto& [position, value] : values)
    views.emplace_back(position, *value);
  auto wire = joinModel(skeleton, views);
  if (!wire) return std::nullopt;
  std::vector<FilePiece> pieces;
  for (size_t i = 0; i < wire->size(); ++i)
    pieces.push_back({std::move((*wire)[i].text), i < values.size() ? values[i].second : Bytes()});
  return pieces;
}

}  // namespace

ModelLayout layoutOf(const Model& model) {
  ModelLayout layout{messagesOf(model), {}};
  ModelFile& file = layout.messages;
  if (!file.external && sizeAsOneFile(file) <= INT_MAX) return layout;
  chooseExternal(file);
  DataFile data;
  forEachTensor(file.proto, [&](TensorProto& t, const std::string&) {
    if (isExternal(t)) data.place(file.values[referredBy(t)]);
  });
  layout.data = data.take();
  return layout;
}

Expected<std::vector<FilePiece>> modelPieces(ModelLayout&& layout, const std::string& dataName) {
  ModelFile& file = layout.messages;
  std::vector<std::pair<int, Bytes>> values;
  if (layout.data.empty()) {
    values = takeValues(file);
  } else {
    locate(file, dataName);
  }
  if (size_t size = file.proto.ByteSizeLong(); size > INT_MAX) {
    return fail(ErrorKind::kModel, fmt::format("the rewritten model would have {} bytes, over ONNX's 2 GB", size), "",
                "leave out rules that grow weights, with --skip");
  }
  std::string skeleton;
  if (!file.proto.SerializeToString(&skeleton)) return fail(ErrorKind::kInternal, "protobuf could not write the model");
  if (values.empty()) return std::vector<FilePiece>{{std::move(skeleton), {}}};
  if (auto pieces = joined(skeleton, values)) return std::move(*pieces);
  // A field that ONNX does not know has the number of a graph: only protobuf finds its way.
  for (const auto& [position, value] : values)
    putInline(*file.proto.mutable_graph()->mutable_initializer(position), *value);
  return std::vector<FilePiece>{{file.proto.SerializeAsString(), {}}};
}

}  // namespace pet
