// Element-wise operators that read each other's results, as one pass over memory.

#include <algorithm>
#include <map>
#include <optional>

#include "runtime/onednn/element_program.h"
#include "runtime/onednn/lowerings.h"
#include "runtime/plan/correction.h"

namespace pet::onednn {
namespace {

/// The registers of an ElementProgram.
class Registers {
 public:
  Registers(const Planner& p, const std::vector<int>& members) : p_(p) {
    for (int n : members) {
      for (Value v : p.node(n).operands)
        add(v, members);
    }
    int next = static_cast<int>(operands_.size() + numbers_.size());
    for (int n : members)
      registers_[{n, 0}] = next++;
    for (size_t i = 0; i < numbers_.size(); ++i)
      registers_[numbers_[i]] = static_cast<int>(operands_.size() + i);
  }

  /// What the members read, but for constants of one element.
  const std::vector<Value>& operands() const { return operands_; }
  std::vector<float> numbers() const {
    std::vector<float> result;
    for (Value v : numbers_)
      result.push_back(p_.constant(v)->data[0]);
    return result;
  }
  int at(Value v) const { return registers_.at(v); }

 private:
  void add(Value v, const std::vector<int>& members) {
    if (registers_.contains(v) || std::find(members.begin(), members.end(), v.node) != members.end()) return;
    const bool isNumber = p_.isConstant(v) && elementCount(p_.extents(v)) == 1;
    registers_[v] = isNumber ? -1 : static_cast<int>(operands_.size());
    (isNumber ? numbers_ : operands_).push_back(v);
  }

  const Planner& p_;
  std::vector<Value> operands_, numbers_;
  std::map<Value, int> registers_;
};

/// How the result lies: as an operand of its extents does, so that the fewest others are copied; where that is the
/// same, as none that the caller gave, whose form no operator asked for.
std::optional<Access> formOfPass(Planner& p, const std::vector<Value>& operands, const Extents& all) {
  std::vector<Value> whole;
  for (Value v : operands) {
    if (p.extents(v) == all && !p.isConstant(v)) whole.push_back(v);
  }
  std::optional<Access> best;
  std::pair<int64_t, bool> least;
  for (Value v : whole) {
    const Place& there = p.place(v);
    const Access form = isDense(there.access) ? there.access : compacted(there.access);
    const auto copies = std::count_if(whole.begin(), whole.end(), [&](Value other) {
      return !sameForm(compacted(p.place(other).access), form) && !p.exists(other, form);
    });
    const bool isGiven = p.buffers[static_cast<size_t>(p.root(there.buffer))].kind == Buffer::Kind::kInput;
    if (!best || std::pair(copies, isGiven) < least) {
      best = form;
      least = {copies, isGiven};
    }
  }
  return best;
}

/// The operand where it is, broadcast; in another order, or with fills, a copy.
Place inPass(Planner& p, Value v, const Extents& all, const Access& form) {
  Place there = p.place(v);
  if (there.access.fills()) there = p.as(v, compacted(there.access));
  if (p.extents(v) == all && !sameForm(compacted(there.access), form)) there = p.as(v, form);
  there.access = broadcast(there.access, all);
  return there;
}

/// Over an operand that lies as the result and that nobody needs any more, unless another one lies in the same buffer
/// elsewhere; else a new buffer.
Place overOperand(Planner& p, const std::vector<Place>& places, const Access& form) {
  for (const Place& x : places) {
    const bool isAlone = std::all_of(places.begin(), places.end(), [&](const Place& other) {
      return p.root(other.buffer) != p.root(x.buffer) ||
             (other.access.offset == x.access.offset && sameForm(other.access, x.access));
    });
    if (sameForm(x.access, form) && isAlone && p.isFree(x)) return x;
  }
  return p.create(form);
}

Loops loopsOver(const Place& y, const std::vector<Place>& places) {
  std::vector<Access> accesses{y.access};
  for (const Place& x : places)
    accesses.push_back(x.access);
  return Loops(accesses);
}

/// The result's elements are neighbours, in rows that are worth a pass.
bool isInRows(const Loops& loops) {
  constexpr int64_t kShortestRow = 16;
  const bool inRows = loops.steps()[0] == 1 || loops.count() == 1;
  return inRows && (loops.count() >= kShortestRow || loops.rows() == 1);
}

}  // namespace

bool Planner::fuses(int n) const {
  return elementOp(node(n)).has_value();
}

bool Planner::lowerFused(const std::vector<int>& members) {
  const Value result{members.back(), 0};
  const Extents all = extents(result);
  const Registers registers(*this, members);
  const auto& operands = registers.operands();
  const std::vector<float> numbers = registers.numbers();
  const bool fits = operands.size() <= ElementProgram::kMostOperands &&
                    numbers.size() <= ElementProgram::kMostNumbers && members.size() <= ElementProgram::kMostSteps;
  if (!fits) return false;
  const auto form = formOfPass(*this, operands, all);
  if (!form) return false;
  std::vector<Place> places;
  for (Value v : operands)
    places.push_back(inPass(*this, v, all, *form));
  const auto corrected = correctionPlace(*this, result);
  const Place y = corrected && isInRows(loopsOver(*corrected, places)) ? *corrected : overOperand(*this, places, *form);
  Loops loops = loopsOver(y, places);
  if (!isInRows(loops)) return false;
  std::vector<int> used{y.buffer};
  for (const Place& x : places)
    used.push_back(x.buffer);
  std::vector<ElementProgram::Step> computed;
  for (int n : members) {
    ElementProgram::Step step{*elementOp(node(n)), {}, registers.at({n, 0})};
    const auto& reads = node(n).operands;
    for (size_t i = 0; i < step.from.size(); ++i)
      step.from[i] = registers.at(reads[std::min(i, reads.size() - 1)]);
    computed.push_back(step);
  }
  emit(std::make_unique<KernelStep>(
      used, [program = ElementProgram(std::move(loops), numbers, std::move(computed)),
             threads = options_.threads](float* const* pointers) { program.run(pointers, threads); }));
  define(result, y);
  note(members.back(), members.size() == 1 ? "a kernel of our own" : "a kernel of our own: one pass");
  return true;
}

}  // namespace pet::onednn
