// STFT: in ONNX the signal may have a last dimension of extent 1, and step and length are operands.

#include "applier/operators/onnx_rows.h"

namespace pet {
namespace {

Value readSignal(const Lifting& l) {
  const Value x = l.operand(0);
  Shape shape = l.shape(x);
  if (shape.size() == 2) return x;
  if (shape.size() != 3 || shape.back() != Dim(1)) Lifting::refuse("a signal of complex numbers");
  shape.pop_back();
  return l.reshape(x, shape);
}

std::vector<Value> readStft(const Lifting& l, const OnnxRow&) {
  const Value x = readSignal(l);
  if (!l.has(2)) Lifting::refuse("no window");
  const Value w = l.operand(2);
  const Extents window = l.extents(w);
  const std::vector<int64_t> step = l.integers(1);
  if (window.size() != 1 || step.size() != 1) Lifting::refuse("a window or a frame_step of other extents");
  if (l.has(3) && l.integers(3) != window) Lifting::refuse("a frame_length that is not the window's");
  const int64_t onesided = l.integer("onesided", 1) == 0 ? 0 : 1;
  return {l.add("STFT", {x, w}, {{"frame_step", Expr(step[0])}, {"onesided", Expr(onesided)}})};
}

/// The signal without a last dimension of extent 1, as PyTorch's exporter writes it and engines read it.
void writeStft(const Emission& e, const OnnxRow& row) {
  e.last(row.type, {e.operand(0), e.integer("frame_step", e.scalar("frame_step")), e.operand(1)},
         {{"onesided", e.scalar("onesided")}});
}

const OnnxRow kOnnxFourierRows[] = {
    {.op = "STFT", .since = 17, .read = readStft, .write = writeStft},
};

}  // namespace

std::span<const OnnxRow> onnxFourierRows() {
  return kOnnxFourierRows;
}

}  // namespace pet
