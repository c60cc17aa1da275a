// STFT: in ONNX the signal may have a last dimension of extent 1, and step and length are operands. DFT: a length that
// is not the signal's cuts it or fills it up with zeros.

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

/// The signal with a last dimension of extent 1, as ONNX has it, and the window's length once more: OpenVINO takes no
/// other.
void writeStft(const Emission& e, const OnnxRow& row) {
  Shape real = e.shape(0);
  real.emplace_back(1);
  const std::string signal = e.reshape(e.operand(0), e.shape(0), real);
  e.last(row.type,
         {signal, e.integer("frame_step", e.scalar("frame_step")), e.operand(1),
          e.integer("frame_length", e.extents(1)[0])},
         {{"onesided", e.scalar("onesided")}});
}

Value withLength(const Lifting& l, Value x, size_t axis) {
  const std::vector<int64_t> length = l.integers(1);
  if (length.size() != 1) Lifting::refuse("a dft_length of other extents");
  if (l.shape(x)[axis] == Dim(length[0])) return x;
  std::vector<int64_t> pads(2 * l.rank(x), 0);
  pads[l.rank(x) + axis] = length[0] - l.extents(x)[axis];
  return l.add("Pad", {x}, {{"pads", exprs(pads)}});
}

std::vector<Value> readDft(const Lifting& l, const OnnxRow&) {
  Value x = l.operand(0);
  std::vector<int64_t> axes = {l.opset() < 20 ? l.integer("axis", 1) : -2};
  if (l.opset() >= 20 && l.has(2)) axes = l.integers(2);
  if (axes.size() != 1) Lifting::refuse("an axis of other extents");
  const size_t axis = l.axis(axes[0], l.rank(x));
  const int64_t isInverse = l.integer("inverse", 0) == 0 ? 0 : 1, isHalf = l.integer("onesided", 0) == 0 ? 0 : 1;
  if (isHalf == 1 && (isInverse == 1 || l.shape(x).back() != Dim(1)))
    Lifting::refuse("one side of a spectrum that is not a real signal's");
  if (axis + 1 == l.rank(x)) Lifting::refuse("along the parts of its numbers");
  if (l.has(1)) x = withLength(l, x, axis);
  return {
      l.add("DFT", {x},
            {{"axis", Expr(static_cast<int64_t>(axis))}, {"inverse", Expr(isInverse)}, {"onesided", Expr(isHalf)}})};
}

void writeDft(const Emission& e, const OnnxRow& row) {
  Emission::OnnxAttributes attributes{{"inverse", e.scalar("inverse")}, {"onesided", e.scalar("onesided")}};
  std::vector<std::string> operands{e.operand(0)};
  if (e.opset() < 20) {
    attributes.emplace("axis", e.scalar("axis"));
  } else {
    operands.insert(operands.end(), {"", e.integer("axis", e.scalar("axis"))});
  }
  e.last(row.type, std::move(operands), std::move(attributes));
}

const OnnxRow kOnnxFourierRows[] = {
    {.op = "DFT", .since = 17, .read = readDft, .write = writeDft},
    {.op = "STFT", .since = 17, .read = readStft, .write = writeStft},
};

}  // namespace

std::span<const OnnxRow> onnxFourierRows() {
  return kOnnxFourierRows;
}

}  // namespace pet
