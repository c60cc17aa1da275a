#include <algorithm>
#include <set>

#include "rules/check/meaning/relation.h"

// Under which shapes an operator computes what its relation says: docs/semantics.md, "Obligations".
namespace pet::check {
namespace {

class Demands {
 public:
  void atMost(const Expr& a, const Expr& b) {
    Constraint c = Constraint::le(a, b);
    if (c.decided() != true && std::find(all_.begin(), all_.end(), c) == all_.end()) all_.push_back(c);
  }
  Conjunction take() { return std::move(all_); }

 private:
  Conjunction all_;
};

struct Taps {
  int64_t stride, dilation;
  Expr begin, end, kernel;
  const Dim& in;
  Expr reach() const { return (kernel - 1) * dilation; }
};

/// Conv and its like; `kernel` gives the extent along spatial dimension d.
template <class Kernel>
std::vector<Taps> tapsOf(const Call& call, Kernel kernel) {
  std::vector<Taps> all;
  size_t rank = call.list("strides").size();
  for (size_t d = 0; d < rank; ++d) {
    all.push_back({call.integer("strides", d), call.integer("dilations", d), call.list("pads")[d],
                   call.list("pads")[rank + d], kernel(d), call.operands[0][2 + d]});
  }
  return all;
}

/// Taps move the inner digit of a product by less than its extent: the carry is -1, 0 or 1.
void carryBound(const Taps& t, Demands& must) {
  if (t.in.isAffine()) return;
  must.atMost(t.begin, t.in.atoms().back());
  must.atMost(t.reach() - t.begin, t.in.atoms().back());
}

void ofConv(const Call& call, Demands& must) {
  bool isTransposed = opOf(call.node) == "ConvTranspose";
  auto taps = tapsOf(call, [&](size_t d) { return line(call.operands[1][2 + d]); });
  for (size_t d = 0; d < taps.size(); ++d) {
    const Taps& t = taps[d];
    must.atMost(0, t.begin);
    must.atMost(0, t.end);
    must.atMost(1, t.kernel);
    if (isTransposed) {
      const Expr& more = call.list("output_padding")[d];
      must.atMost(0, more);
      must.atMost(more + 1, std::max(t.stride, t.dilation));
    } else {
      carryBound(t, must);
    }
  }
}

void ofOffsetReduce(const Call& call, Demands& must) {
  for (const Taps& t : tapsOf(call, [&](size_t d) { return call.list("kernel_shape")[d]; })) {
    must.atMost(0, t.begin);
    must.atMost(0, t.end);
    must.atMost(1, t.kernel);
  }
}

void something(const Dim& d, Demands& must) {
  for (const Expr& atom : d.atoms())
    must.atMost(1, atom);
}

/// A mean, a maximum, a normalisation: what they go over holds something.
void ofReduction(const Call& call, Demands& must) {
  if (call.operands.empty()) return;
  std::string_view op = opOf(call.node);
  const Shape& x = call.operands[0];
  std::set<int64_t> over;
  auto from = [&](int64_t first) {
    for (; first < static_cast<int64_t>(x.size()); ++first)
      over.insert(first);
  };
  if (op == "Softmax" || op == "LogSoftmax") over.insert(call.integer("axis"));
  if (op == "LayerNormalization" || op == "RMSNormalization") from(call.integer("axis"));
  if (op == "InstanceNormalization" || op == "GlobalAveragePool" || op == "GlobalMaxPool") from(2);
  if (op == "ReduceMean" || op == "ReduceMax") {
    size_t count = call.list("axes").size();
    if (count == 0) from(0);
    for (size_t i = 0; i < count; ++i)
      over.insert(call.integer("axes", i));
  }
  if (op == "ArgMax") over.insert(call.integer("axis"));
  if (op == "LRN") {
    over.insert(1);
    must.atMost(1, call.node.scalar("size"));
  }
  for (int64_t axis : over)
    something(x[static_cast<size_t>(axis)], must);
}

/// Every window has a tap on the operand, so that a mean divides by no zero and a maximum is one of something.
void ofPool(const Call& call, Demands& must) {
  for (const Taps& t : tapsOf(call, [&](size_t d) { return call.list("kernel_shape")[d]; })) {
    must.atMost(1, t.kernel);
    for (const Expr& pad : {t.begin, t.end}) {
      must.atMost(0, pad);
      must.atMost(pad, t.reach());
    }
    carryBound(t, must);
    bool staysInside = t.begin == Expr(0) && t.end == Expr(0);
    if (!staysInside) something(t.in, must);
    if (!t.in.isAffine()) continue;
    // Taps further apart than the operand is wide may step over it.
    if (t.dilation > 1 && !staysInside) must.atMost(t.dilation, t.in.affine());
    if (call.integer("ceil_mode") == 0) continue;
    // ONNX leaves out a last window that starts behind the operand; where that depends on symbols there must be none.
    Expr span = t.in.affine() + t.begin + t.end - t.reach() - 1;
    Expr lastStart = ceilDiv(span, t.stride) * t.stride - t.begin;
    if (!(lastStart - t.in.affine()).isConstant()) must.atMost(t.end + t.stride, t.reach() + 1);
  }
}

void ofPad(const Call& call, Demands& must) {
  const Shape& x = call.operands[0];
  const std::string& mode = call.node.text("mode");
  for (size_t d = 0; d < x.size(); ++d) {
    for (const Expr& pad : {call.list("pads")[d], call.list("pads")[x.size() + d]}) {
      if (pad == Expr(0)) continue;
      if (mode == "constant") {
        must.atMost(-pad, line(x[d]));  // a crop takes no more than there is
        continue;
      }
      must.atMost(0, pad);
      if (mode == "reflect") must.atMost(pad + 1, line(x[d]));
      must.atMost(1, line(x[d]));
    }
  }
}

void ofSlice(const Call& call, Demands& must) {
  for (size_t i = 0; i < call.list("axes").size(); ++i) {
    const Expr &start = call.list("starts")[i], &end = call.list("ends")[i];
    must.atMost(0, start);
    must.atMost(start, end);
    must.atMost(end, line(call.operands[0][static_cast<size_t>(call.integer("axes", i))]));
  }
}

void ofGather(const Call& call, Demands& must) {
  const Expr& extent = line(call.operands[0][static_cast<size_t>(call.integer("axis"))]);
  for (const Expr& index : call.list("indices")) {
    must.atMost(0, index);
    must.atMost(index + 1, extent);
  }
}

/// At least one position; a row for what is no index, and one in front of it.
void ofIndices(const Call& call, Demands& must) {
  if (opOf(call.node) == "OneHot") must.atMost(1, call.node.scalar("depth"));
  if (opOf(call.node) != "Lookup") return;
  const Expr& behind = call.node.scalar("negative");
  must.atMost(0, behind);
  must.atMost(behind + 2, line(call.operands[1][0]));
}

void ofScatterRows(const Call& call, Demands& must) {
  const Expr& start = call.node.scalar("start");
  must.atMost(0, start);
  must.atMost(start + line(call.operands[1][0]), line(call.operands[0][0]));
}

void ofCol2Im(const Call& call, Demands& must) {
  for (const Expr& pad : call.list("pads"))
    must.atMost(0, pad);
  for (const Expr& kernel : call.list("block_shape"))
    must.atMost(1, kernel);
}

void ofNode(const Call& call, Demands& must) {
  std::string_view op = opOf(call.node);
  if (op == "Conv" || op == "ConvTranspose") ofConv(call, must);
  if (op == "OffsetReduce") ofOffsetReduce(call, must);
  if (op == "MaxPool" || op == "AveragePool") ofPool(call, must);
  ofReduction(call, must);
  if (op == "Pad") ofPad(call, must);
  if (op == "Slice") ofSlice(call, must);
  if (op == "Gather") ofGather(call, must);
  ofIndices(call, must);
  if (op == "ScatterND") ofScatterRows(call, must);
  if (op == "Col2Im") ofCol2Im(call, must);
  if (op == "DFT") must.atMost(1, line(call.operands[0][static_cast<size_t>(call.integer("axis"))]));
  if (op == "STFT") {
    must.atMost(1, line(call.operands[1][0]));
    must.atMost(line(call.operands[1][0]), line(call.operands[0][1]));
  }
  if (op == "Split" || op == "Tile") {
    for (const Expr& e : call.list(op == "Split" ? "split" : "repeats"))
      must.atMost(0, e);
  }
  if (op == "Resize") {
    for (const Shape& s : {call.operands[0], call.result()}) {
      for (const Dim& d : s) {
        for (const Expr& atom : d.atoms())
          must.atMost(1, atom);
      }
    }
  }
}

/// Values that nothing but a Concat sees, directly or through others: it leaves out what is empty.
std::vector<bool> onlyConcatenated(const Program& program) {
  std::vector<bool> only(program.nodes().size(), true);
  for (Value v : program.outputs())
    only[static_cast<size_t>(v.node)] = false;
  for (size_t i = only.size(); i-- > 0;) {
    const Node& n = program.nodes()[i];
    bool passes = only[i] || opOf(n) == "Concat";
    for (Value v : n.operands)
      only[static_cast<size_t>(v.node)] = only[static_cast<size_t>(v.node)] && passes;
  }
  return only;
}

}  // namespace

Conjunction demandsOf(const Program& program) {
  Demands must;
  std::vector<bool> mayBeEmpty = onlyConcatenated(program);
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& node = program.nodes()[i];
    bool isInput = opOf(node) == "Input";
    for (size_t o = 0; o < node.shapes.size(); ++o) {
      if (o == 0 && !isInput) ofNode(Call(program, {static_cast<int>(i), 0}), must);
      for (const Dim& d : node.shapes[o]) {
        for (const Expr& atom : d.atoms())
          must.atMost(isInput || !mayBeEmpty[i] ? 1 : 0, atom);
      }
    }
  }
  return must.take();
}

}  // namespace pet::check
