#pragma once

#include "runtime/byte_convolution.h"
#include "session/byte_program.h"
#include "session/graph_facts.h"

namespace pet::session {

/// A QuantizeLinear or a DequantizeLinear of a graph as a step of a ByteProgram.
struct ByteNode {
  std::vector<int> inner;          ///< nodes that are computed with it, whose results nobody else reads
  std::vector<std::string> bytes;  ///< what it reads of integers, in the order of the kernel's operands
  std::string number;              ///< or the tensor of floating point
  std::string op, how;
  ByteKernel kernel;
  bool isHeavy = false;  ///< a convolution or a product
};

/// What lies of `extents` in a graph as a ByteProgram has it, and back: with channels last from four dimensions on.
void toChannelsLast(const uint8_t* x, const Extents& extents, uint8_t* y);
void fromChannelsLast(const uint8_t* x, const Extents& extents, uint8_t* y);
/// By how much a ByteProgram's integers are above the graph's.
int32_t signShift(ElementType element);

/// By node of the graph: each QuantizeLinear of one scale, with the operator in front of it where that reads what
/// DequantizeLinear makes of integers and can be computed with these: sums of products exactly, functions by a table,
/// the rest as with numbers; and each DequantizeLinear of one scale. `engine`: what convolutions and products run on.
std::map<int, ByteNode> byteNodes(const GraphFacts& facts, const ByteEngine& engine);

}  // namespace pet::session
