#include "session/byte_program.h"

#include <algorithm>
#include <optional>

namespace pet::session {

int ByteProgram::add(Buffer buffer) {
  buffers_.push_back(buffer);
  return static_cast<int>(buffers_.size()) - 1;
}

int ByteProgram::addOperand(int64_t count) {
  operands_.push_back(count);
  return add({Buffer::Kind::kOperand, operands_.size() - 1, count});
}

int ByteProgram::addResult(ElementType element, Extents extents) {
  results_.push_back({element, std::move(extents)});
  return add({Buffer::Kind::kResult, results_.size() - 1, 0});
}

int ByteProgram::addBuffer(int64_t count) {
  return add({Buffer::Kind::kBetween, 0, count});
}

void ByteProgram::addStep(EngineNote note, std::vector<int> from, int to, ByteKernel kernel) {
  steps_.push_back({std::move(note), std::move(from), to, std::move(kernel)});
}

void ByteProgram::finish() {
  std::vector<size_t> last(buffers_.size(), 0);
  for (size_t s = 0; s < steps_.size(); ++s) {
    last[static_cast<size_t>(steps_[s].to)] = s;
    for (int b : steps_[s].from)
      last[static_cast<size_t>(b)] = s;
  }
  struct Slot {
    int64_t count;
    size_t freeBehind;  ///< a step
  };
  std::vector<Slot> slots;
  for (size_t s = 0; s < steps_.size(); ++s) {
    Buffer& buffer = buffers_[static_cast<size_t>(steps_[s].to)];
    if (buffer.kind != Buffer::Kind::kBetween) continue;
    // The free slot that has to grow the least, or wastes the least.
    std::optional<size_t> best;
    auto off = [&](size_t i) { return std::abs(slots[i].count - buffer.count); };
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].freeBehind < s && (!best || off(i) < off(*best))) best = i;
    }
    if (!best) {
      slots.push_back({0, 0});
      best = slots.size() - 1;
    }
    slots[*best] = {std::max(slots[*best].count, buffer.count), last[static_cast<size_t>(steps_[s].to)]};
    buffer.index = *best;
  }
  for (const Slot& slot : slots)
    slots_.push_back(allocate(static_cast<size_t>(slot.count)));
}

std::vector<Constant> ByteProgram::run(const std::vector<const Constant*>& operands) {
  std::vector<Constant> given, made;
  for (size_t i = 0; i < operands.size(); ++i) {
    given.push_back(aligned(*operands[i]));
    if (std::ssize(*given.back().bytes) != operands_[i])
      throw BadNode{fmt::format("operand {} has the extents {}, which the model's types do not say", i,
                                str(operands[i]->extents))};
  }
  std::vector<uint8_t*> places;
  for (const Result& result : results_) {
    Made<char> raw = makeRaw(result.element, result.extents);
    places.push_back(reinterpret_cast<uint8_t*>(raw.data));
    made.push_back(std::move(raw.constant));
  }
  auto writable = [&](int b) {
    const Buffer& buffer = buffers_[static_cast<size_t>(b)];
    return buffer.kind == Buffer::Kind::kResult ? places[buffer.index]
                                                : reinterpret_cast<uint8_t*>(slots_[buffer.index].data);
  };
  std::vector<const uint8_t*> from;
  for (const Step& step : steps_) {
    from.clear();
    for (int b : step.from) {
      const Buffer& buffer = buffers_[static_cast<size_t>(b)];
      const bool isOperand = buffer.kind == Buffer::Kind::kOperand;
      from.push_back(isOperand ? dataOf<uint8_t>(given[buffer.index]).data() : writable(b));
    }
    step.kernel(from.data(), writable(step.to));
  }
  return made;
}

std::vector<EngineNote> ByteProgram::notes() const {
  std::vector<EngineNote> notes;
  for (const Step& step : steps_)
    notes.push_back(step.note);
  return notes;
}

int64_t ByteProgram::arenaBytes() const {
  int64_t bytes = 0;
  for (const RawBytes& slot : slots_)
    bytes += static_cast<int64_t>(slot.bytes->size());
  return bytes;
}

}  // namespace pet::session
