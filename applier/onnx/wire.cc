#include "applier/onnx/wire.h"

#include <algorithm>

namespace pet {
namespace {

// Fields of onnx.proto, as numbers.
constexpr uint32_t kGraph = 7;        // of ModelProto
constexpr uint32_t kInitializer = 5;  // of GraphProto
constexpr uint32_t kRawData = 9;      // of TensorProto

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

/// A field where it lies.
struct WireField {
  uint32_t number = 0, type = 0;
  std::string_view whole;    ///< with its tag
  std::string_view content;  ///< of kLength: without its tag and length
};

/// At most `most` bytes are of the number, as protobuf has it.
std::optional<uint64_t> takeVarint(std::string_view& in, unsigned most) {
  uint64_t value = 0;
  for (unsigned i = 0; i < most && i < in.size(); ++i) {
    auto byte = static_cast<unsigned char>(in[i]);
    value |= static_cast<uint64_t>(byte & 127U) << (7 * i);
    if (byte >= 128) continue;
    in.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

/// The first field of a message that is not empty.
std::optional<WireField> takeField(std::string_view& in) {
  const std::string_view begin = in;
  auto tag = takeVarint(in, 5);
  if (!tag || *tag >> 32 != 0 || *tag >> 3 == 0) return std::nullopt;
  WireField f{static_cast<uint32_t>(*tag >> 3), static_cast<uint32_t>(*tag & 7), {}, {}};
  std::optional<uint64_t> size = 0;
  if (f.type == kVarint) {
    if (!takeVarint(in, 10)) return std::nullopt;
  } else if (f.type == kFixed64 || f.type == kFixed32) {
    size = f.type == kFixed64 ? 8 : 4;
  } else if (f.type == kLength) {
    size = takeVarint(in, 5);
  } else {
    return std::nullopt;
  }
  if (!size || *size > in.size()) return std::nullopt;
  f.content = in.substr(0, *size);
  in.remove_prefix(*size);
  f.whole = begin.substr(0, begin.size() - in.size());
  return f;
}

/// A message around its only field of one number. Nullopt: there are several, or it is not of kLength, or no message.
struct Around {
  std::string_view before, content, after;
  bool found = false;
};
std::optional<Around> around(std::string_view message, uint32_t number) {
  Around result{message, {}, {}, false};
  for (std::string_view rest = message; !rest.empty();) {
    auto f = takeField(rest);
    if (!f) return std::nullopt;
    if (f->number != number) continue;
    if (f->type != kLength || result.found) return std::nullopt;
    size_t begin = static_cast<size_t>(f->whole.data() - message.data());
    result = {message.substr(0, begin), f->content, rest, true};
  }
  return result;
}

void putVarint(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7)
    out += static_cast<char>(value | 128U);
  out += static_cast<char>(value);
}

void putHead(std::string& out, uint32_t number, uint64_t size) {
  putVarint(out, number << 3 | kLength);
  putVarint(out, size);
}

uint64_t headSize(uint32_t number, uint64_t size) {
  std::string head;
  putHead(head, number, size);
  return head.size();
}

/// A tensor with another length of raw_data.
uint64_t resized(const Around& tensor, uint64_t size) {
  return tensor.before.size() + headSize(kRawData, size) + size + tensor.after.size();
}

/// Writes a graph's fields; tensors are resized where the caller says so.
class PieceWriter {
 public:
  void text(std::string_view bytes) { pieces_.back().text += bytes; }
  void head(uint32_t number, uint64_t size) { putHead(pieces_.back().text, number, size); }
  void tensor(const Around& tensor, std::string_view value) {
    head(kInitializer, resized(tensor, value.size()));
    text(tensor.before);
    head(kRawData, value.size());
    pieces_.back().value = value;
    pieces_.emplace_back();
    text(tensor.after);
  }
  std::vector<WirePiece> take() { return std::move(pieces_); }

 private:
  std::vector<WirePiece> pieces_ = std::vector<WirePiece>(1);
};

/// An initializer with the place of its raw_data.
struct Slot {
  WireField field;
  Around tensor;
};

/// The initializers of a graph; only those whose raw_data `wanted(position, size)` are looked into further.
template <class Wanted>
std::optional<std::vector<std::pair<int, Slot>>> slotsOf(std::string_view graph, const Wanted& wanted) {
  std::vector<std::pair<int, Slot>> slots;
  int position = 0;
  while (!graph.empty()) {
    auto f = takeField(graph);
    if (!f || (f->number == kInitializer && f->type != kLength)) return std::nullopt;
    if (f->number != kInitializer) continue;
    auto tensor = around(f->content, kRawData);
    if (!tensor) return std::nullopt;
    if (tensor->found && wanted(position, tensor->content.size())) slots.emplace_back(position, Slot{*f, *tensor});
    ++position;
  }
  return slots;
}

/// The model with raw_data of `slots` replaced by `values`, one for each.
std::vector<WirePiece> replaced(const Around& model,
                                const std::vector<std::pair<int, Slot>>& slots,
                                const std::vector<std::string_view>& values) {
  uint64_t size = model.content.size();
  for (size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i].second;
    uint64_t tensor = resized(slot.tensor, values[i].size());
    size += headSize(kInitializer, tensor) + tensor - slot.field.whole.size();
  }
  PieceWriter out;
  out.text(model.before);
  out.head(kGraph, size);
  const char* at = model.content.data();
  for (size_t i = 0; i < slots.size(); ++i) {
    std::string_view whole = slots[i].second.field.whole;
    out.text({at, static_cast<size_t>(whole.data() - at)});
    out.tensor(slots[i].second.tensor, values[i]);
    at = whole.data() + whole.size();
  }
  out.text({at, static_cast<size_t>(model.content.data() + model.content.size() - at)});
  out.text(model.after);
  return out.take();
}

}  // namespace

std::optional<CutModel> cutModel(std::string_view bytes, size_t least) {
  auto model = around(bytes, kGraph);
  if (!model || !model->found) return std::nullopt;
  auto slots = slotsOf(model->content, [&](int, size_t size) { return size >= least; });
  if (!slots) return std::nullopt;
  CutModel cut;
  for (const auto& [position, slot] : *slots)
    cut.values.emplace_back(position, slot.tensor.content);
  for (const WirePiece& piece : replaced(*model, *slots, std::vector<std::string_view>(slots->size())))
    cut.skeleton += piece.text;
  return cut;
}

std::optional<std::vector<WirePiece>> joinModel(std::string_view skeleton, const InitializerData& values) {
  auto model = around(skeleton, kGraph);
  if (!model || !model->found) return std::nullopt;
  size_t next = 0;
  auto slots = slotsOf(model->content, [&](int position, size_t size) {
    return next < values.size() && values[next].first == position && size == 0 && ++next > 0;
  });
  if (!slots || slots->size() != values.size()) return std::nullopt;
  std::vector<std::string_view> views;
  views.reserve(values.size());
  for (const auto& [position, value] : values)
    views.push_back(value);
  return replaced(*model, *slots, views);
}

}  // namespace pet
