// ONNX's messages by hand: a dozen fields, in Protocol Buffers' wire format, without its library (see onnx.proto).

#include <cstdint>

#include "runtime/ort/frame.h"

namespace pet {
namespace {

/// A message under construction.
class Message {
 public:
  Message& number(int field, uint64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(value);
    return *this;
  }
  Message& bytes(int field, const std::string& value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    data_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return bytes(field, value.data_); }
  std::string take() && { return std::move(data_); }

 private:
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7)
      data_ += static_cast<char>(value | 128);
    data_ += static_cast<char>(value);
  }
  std::string data_;
};

constexpr int kIrVersion = 8;

/// ValueInfoProto{name, type{tensor_type{elem_type, shape{dim{dim_value}…}}}}.
Message valueInfo(const FrameValue& value) {
  Message shape;
  for (int64_t extent : value.extents)
    shape.message(1, Message().number(1, static_cast<uint64_t>(extent)));
  Message tensor;
  tensor.number(1, static_cast<uint64_t>(value.element)).message(2, shape);
  Message info;
  info.bytes(1, value.name).message(2, Message().message(1, tensor));
  return info;
}

}  // namespace

std::string frameModel(const std::vector<FrameValue>& inputs, const std::vector<FrameValue>& outputs, int opset) {
  Message node;
  for (const FrameValue& v : inputs)
    node.bytes(1, v.name);
  for (const FrameValue& v : outputs)
    node.bytes(2, v.name);
  node.bytes(3, "frame").bytes(4, kFrameOperator);
  Message graph;
  graph.message(1, node).bytes(2, "subgraph");
  for (const FrameValue& v : inputs)
    graph.message(11, valueInfo(v));
  for (const FrameValue& v : outputs)
    graph.message(12, valueInfo(v));
  Message model;
  model.number(1, kIrVersion).bytes(2, "pet").message(7, graph);
  model.message(8, Message().bytes(1, "").number(2, static_cast<uint64_t>(opset)));
  return std::move(model).take();
}

}  // namespace pet
