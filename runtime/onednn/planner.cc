#include "runtime/onednn/planner.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "runtime/onednn/index_copy.h"
#include "runtime/onednn/lower_sum.h"

namespace pet::onednn {
namespace {

Extents concrete(const Shape& shape) {
  auto extents = evaluate(shape, {});
  if (!extents) throw NotLowered{"an unbound symbol in " + str(shape)};
  return *extents;
}

bool isEmpty(const Extents& extents) {
  return std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e < 1; });
}

}  // namespace

Planner::Planner(const Program& program, const OneDnnOptions& options)
    : program_(program.withoutDeadNodes()),
      options_(options),
      engine_(dnnl::engine::kind::cpu, 0),
      stream_(engine_),
      readers_(program_.nodes().size()),
      chainOf_(program_.nodes().size(), -1) {
  for (size_t n = 0; n < program_.nodes().size(); ++n) {
    const Node& each = program_.nodes()[n];
    uses_.emplace_back(each.names.size());
    notes.push_back({each.names[0], std::string(each.op->name), "", false});
    for (Value v : each.operands) {
      ++uses_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
      readers_[static_cast<size_t>(v.node)].push_back(static_cast<int>(n));
    }
  }
  for (Value v : program_.outputs()) {
    ++uses_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
    readers_[static_cast<size_t>(v.node)].push_back(-1);
  }
}

Extents Planner::extents(Value v) const {
  return concrete(program_.shape(v));
}

Extents Planner::list(int n, std::string_view name) const {
  Extents result;
  for (const Expr& e : node(n).list(name))
    result.push_back(e.constant());
  return result;
}

/// What constants are computed from is not read by anything that is lowered.
void Planner::releaseConstants() {
  for (int n = 0; n < static_cast<int>(program_.nodes().size()); ++n) {
    if (isConstant({n, 0})) release(n);
  }
}

Expected<void> Planner::plan(const InputSource<float>& weights) {
  constants_ = std::make_unique<Constants>(program_, weights);
  releaseConstants();
  try {
    findChains();
    if (auto ok = lowerAll(); !ok) return ok;
    placeResults();
  } catch (const NoConstant& e) {
    return tl::unexpected(e.error);
  }
  if (!options_.once) constants_.reset();
  return {};
}

Expected<void> Planner::lowerAll() {
  int inputs = 0;
  for (int n = 0; n < static_cast<int>(program_.nodes().size()); ++n) {
    if (isConstant({n, 0})) continue;
    if (node(n).is(ops::kInput)) {
      Access access = rowMajor(extents({n, 0}));
      buffers.push_back({Buffer::Kind::kInput, elementCount(access.extents()), inputs++});
      define({n, 0}, {static_cast<int>(buffers.size()) - 1, std::move(access)});
      continue;
    }
    int anchor = chainOf_[static_cast<size_t>(n)];
    if (anchor >= 0 && chains_[anchor].back() != n) continue;  // with the last of its chain
    bool sums = sums_.contains(anchor);
    if (auto ok = sums ? lowerSums(anchor) : anchor >= 0 ? lowerChain(anchor) : lower(n); !ok) return ok;
    dropConstants(n);
    if (anchor >= 0) {
      dropConstants(anchor);
      for (int member : chains_[anchor])
        dropConstants(member);
    }
  }
  return {};
}

void Planner::findChains() {
  findChains(true);
  findSums();
  findChains(false);
}

/// Which nodes may be computed with the one before: each is the only reader of the one before.
void Planner::findChains(bool heavy) {
  for (int a = static_cast<int>(program_.nodes().size()); a-- > 0;) {
    const LowerRow* row = findLowering(node(a).op->name);
    if (!row || !row->channel || row->heavy != heavy || chainOf_[static_cast<size_t>(a)] >= 0) continue;
    if (isConstant({a, 0})) continue;
    std::vector<int> members;
    for (int last = a; readers_[static_cast<size_t>(last)].size() == 1; last = members.back()) {
      int next = readers_[static_cast<size_t>(last)][0];
      if (next < 0 || chainOf_[static_cast<size_t>(next)] >= 0) break;
      members.push_back(next);
    }
    Epilogue e = epilogueOf(*this, {a, 0}, members, static_cast<size_t>(row->channel(*this, a)),
                            static_cast<int>(members.size()));
    if (e.isEmpty()) continue;
    members.resize(static_cast<size_t>(e.length));
    for (int m : members)
      chainOf_[static_cast<size_t>(m)] = a;
    chainOf_[static_cast<size_t>(a)] = a;
    chains_[a] = std::move(members);
  }
}

/// Trees of Adds of values of equal extents, three or more, of which nothing else reads the inner ones: one sum each.
void Planner::findSums() {
  auto isAdd = [&](Value v) {
    auto n = static_cast<size_t>(v.node);
    if (!node(v.node).is(ops::kAdd) || isEmpty(extents(v)) || chainOf_[n] >= 0 || isConstant(v)) return false;
    const auto& operands = node(v.node).operands;
    return extents(operands[0]) == extents(v) && extents(operands[1]) == extents(v);
  };
  constexpr size_t kMostLeaves = 256;
  for (int n = static_cast<int>(program_.nodes().size()); n-- > 0;) {
    if (!isAdd({n, 0})) continue;
    std::vector<Value> leaves = node(n).operands;
    std::vector<int> inner;
    for (size_t i = 0; i < leaves.size();) {
      Value v = leaves[i];
      if (!isAdd(v) || readers_[static_cast<size_t>(v.node)].size() != 1) {
        ++i;
        continue;
      }
      inner.push_back(v.node);
      leaves[i] = node(v.node).operands[0];
      leaves.insert(leaves.begin() + static_cast<std::ptrdiff_t>(i) + 1, node(v.node).operands[1]);
    }
    if (leaves.size() < 3 || leaves.size() > kMostLeaves) continue;
    std::sort(inner.begin(), inner.end());
    inner.push_back(n);
    for (int m : inner)
      chainOf_[static_cast<size_t>(m)] = n;
    chains_[n] = std::move(inner);
    sums_[n] = std::move(leaves);
  }
}

void Planner::rollBack(const Mark& mark) {
  steps.resize(mark.steps);
  for (; copied_.size() > mark.copies; copied_.pop_back())
    copies_[copied_.back()].pop_back();
}

void Planner::release(int n) {
  for (Value v : node(n).operands)
    --uses_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
}

/// Lets the constants go that the node was the last to read.
void Planner::dropConstants(int n) {
  for (Value v : node(n).operands) {
    if (isConstant(v) && !isRead(v)) constants_->drop(v);
  }
}

Expected<void> Planner::lower(int n) {
  release(n);
  const LowerRow* row = findLowering(node(n).op->name);
  Mark before = mark();
  try {
    if (!row) throw NotLowered{"no primitive for it"};
    for (Value v : node(n).operands) {
      if (isEmpty(extents(v))) throw NotLowered{"an empty operand"};
    }
    if (isEmpty(extents({n, 0}))) throw NotLowered{"an empty result"};
    Epilogue none;
    none.result = {n, 0};
    row->lower(*this, n, none);
    return {};
  } catch (const NotLowered& e) {
    rollBack(before);
    return byReference(n, e.reason);
  } catch (const dnnl::error& e) {
    rollBack(before);
    return byReference(n, fmt::format("oneDNN: {}", e.what()));
  }
}

/// The anchor with as much of its chain as it takes; the rest one by one.
Expected<void> Planner::lowerChain(int anchor) {
  const std::vector<int>& members = chains_[anchor];
  const LowerRow* row = findLowering(node(anchor).op->name);
  int taken = 0;
  for (int length = static_cast<int>(members.size()); length > 0 && taken == 0;) {
    Epilogue e = epilogueOf(*this, {anchor, 0}, members, static_cast<size_t>(row->channel(*this, anchor)), length);
    if (e.isEmpty()) break;
    Mark before = mark();
    auto uses = uses_;
    release(anchor);
    std::for_each(members.begin(), members.begin() + e.length, [&](int m) { release(m); });
    try {
      if (row->lower(*this, anchor, e)) taken = e.length;
    } catch (const NotLowered&) {
    } catch (const dnnl::error&) {
    }
    if (taken == 0) {
      rollBack(before);
      uses_ = std::move(uses);
    }
    length = e.length - 1;
  }
  if (taken == 0) {
    if (auto ok = lower(anchor); !ok) return ok;
  }
  for (int i = 0; i < static_cast<int>(members.size()); ++i) {
    int m = members[static_cast<size_t>(i)];
    if (i < taken) {
      note(m, "with " + node(anchor).names[0]);
    } else if (auto ok = lower(m); !ok) {
      return ok;
    }
  }
  return {};
}

Expected<void> Planner::lowerSums(int last) {
  for (int n : chains_[last]) {
    release(n);
    note(n, n == last ? "a kernel of our own: one sum" : "with " + node(last).names[0]);
  }
  lowerSum(*this, {last, 0}, sums_[last], false);
  return {};
}

Expected<void> Planner::byReference(int n, const std::string& reason) {
  const Node& each = node(n);
  if (!each.op->kernels.f32) {
    return fail(ErrorKind::kUnsupported, fmt::format("{} cannot be evaluated", each.op->name), each.names[0]);
  }
  std::vector<Extents> extentsOf;
  std::vector<int> uses;
  for (Value v : each.operands) {
    extentsOf.push_back(extents(v));
    uses.push_back(isEmpty(extentsOf.back()) ? createBuffer(1) : as(v, rowMajor(extentsOf.back())).buffer);
  }
  std::vector<int64_t> offsets;
  for (Value v : each.operands)
    offsets.push_back(isEmpty(extents(v)) ? 0 : as(v, rowMajor(extents(v))).access.offset);
  for (size_t i = 0; i < each.names.size(); ++i) {
    Value v{n, static_cast<int>(i)};
    Extents e = extents(v);
    uses.push_back(createBuffer(std::max<int64_t>(1, elementCount(e))));
    Access access;
    access.tables = rowMajor(e).tables;
    define(v, {uses.back(), std::move(access)});
  }
  emit(std::make_unique<KernelStep>(uses, [this, n, extentsOf, offsets](float* const* pointers) {
    std::vector<Tensor<float>> operands;
    for (size_t i = 0; i < extentsOf.size(); ++i) {
      operands.emplace_back(extentsOf[i]);
      std::copy_n(pointers[i] + offsets[i], operands.back().size(), operands.back().data.data());
    }
    std::vector<const Tensor<float>*> borrowed;
    for (const auto& t : operands)
      borrowed.push_back(&t);
    auto computed = evaluateNode<float>(program_, n, {}, borrowed);
    if (!computed) throw std::runtime_error(computed.error().message());
    for (size_t i = 0; i < computed->size(); ++i)
      std::copy((*computed)[i].data.begin(), (*computed)[i].data.end(), pointers[extentsOf.size() + i]);
  }));
  notes[static_cast<size_t>(n)].reference = true;
  note(n, "reference: " + reason);
  return {};
}

// --- Places. ---

int Planner::root(int buffer) const {
  while (buffers[static_cast<size_t>(buffer)].parent >= 0)
    buffer = buffers[static_cast<size_t>(buffer)].parent;
  return buffer;
}

const Place& Planner::place(Value v) {
  auto found = places_.find(v);
  if (found != places_.end()) return found->second;
  placed.push_back(constants_->value(v));
  buffers.push_back({Buffer::Kind::kConstant, placed.back()->size(), static_cast<int>(placed.size()) - 1});
  define(v, {static_cast<int>(buffers.size()) - 1, rowMajor(placed.back()->extents)});
  return places_.at(v);
}

Place Planner::as(Value v, const Access& form) {
  const Place& there = place(v);
  if (sameForm(there.access, form)) return there;
  for (const Place& other : copies_[v]) {
    if (sameForm(other.access, form)) return other;
  }
  Place made = create(form);
  copy(place(v), made);
  copies_[v].push_back(made);
  residents_[made.buffer].push_back(v);
  copied_.push_back(v);
  return made;
}

Place Planner::as(const Place& there, const Access& form) {
  if (sameForm(there.access, form)) return there;
  Place made = create(form);
  copy(there, made);
  return made;
}

int Planner::createBuffer(int64_t floats) {
  buffers.push_back({Buffer::Kind::kArena, floats});
  return static_cast<int>(buffers.size()) - 1;
}

Place Planner::create(const Access& form) {
  Access access = form;
  access.offset = 0;
  return {createBuffer(reach(form)), std::move(access)};
}

void Planner::define(Value v, Place place) {
  residents_[root(place.buffer)].push_back(v);
  places_.insert_or_assign(v, std::move(place));
}

void Planner::copy(const Place& from, const Place& to) {
  IndexCopy kernel(from.access, to.access);
  emit(std::make_unique<KernelStep>(
      std::vector<int>{from.buffer, to.buffer},
      [kernel = std::move(kernel), threads = options_.threads](float* const* p) { kernel.run(p[0], p[1], threads); }));
}

bool Planner::isFree(const Place& place) {
  int buffer = root(place.buffer);
  if (buffers[static_cast<size_t>(buffer)].kind != Buffer::Kind::kArena) return false;
  const auto& residents = residents_[buffer];
  return std::all_of(residents.begin(), residents.end(),
                     [&](Value r) { return uses_[static_cast<size_t>(r.node)][static_cast<size_t>(r.output)] == 0; });
}

std::vector<Place> Planner::stillRead(int buffer) {
  std::vector<Place> places;
  for (Value r : residents_[buffer]) {
    if (isRead(r)) places.push_back(place(r));
  }
  return places;
}

bool Planner::adopt(const Place& part, int whole, const Access& at) {
  Buffer& buffer = buffers[static_cast<size_t>(part.buffer)];
  bool alone = buffer.kind == Buffer::Kind::kArena && buffer.parent < 0 && part.access.offset == 0 &&
               buffer.floats == reach(part.access) && buffer.floats == elementCount(part.access.extents());
  if (!alone || part.buffer == whole || !sameForm(part.access, at)) return false;
  buffer.parent = whole;
  buffer.offset = at.offset;
  auto& residents = residents_[root(whole)];
  for (Value v : std::exchange(residents_[part.buffer], {}))
    residents.push_back(v);
  return true;
}

Place Planner::accumulator(Value v, const Access& form, const std::vector<int>& busy) {
  auto isBusy = [&](const Place& p) {
    return std::any_of(busy.begin(), busy.end(), [&](int b) { return root(b) == root(p.buffer); });
  };
  Place there = as(v, form);
  if (!isBusy(there) && isFree(there)) return there;
  Place made = create(form);
  copy(there, made);
  return made;
}

std::unique_ptr<PrimitiveStep> Planner::primitive(const dnnl::primitive& p, const dnnl::memory::desc& scratchpad) {
  auto step = std::make_unique<PrimitiveStep>(p, stream_);
  if (int64_t bytes = static_cast<int64_t>(scratchpad.get_size()); bytes > 0) {
    step->add(DNNL_ARG_SCRATCHPAD, scratchpad, engine_, createBuffer((bytes + 3) / 4), 0);
  }
  return step;
}

dnnl::memory Planner::prepared(const Tensor<float>& tensor,
                               const dnnl::memory::desc& from,
                               const dnnl::memory::desc& to) {
  dnnl::memory result(to, engine_);
  dnnl::memory source(from, engine_, const_cast<float*>(tensor.data.data()));
  dnnl::reorder(source, result).execute(stream_, source, result);
  stream_.wait();
  return result;
}

void Planner::addConstant(PrimitiveStep& step,
                          int argument,
                          Value constant,
                          const Change& change,
                          const dnnl::memory::desc& from,
                          const dnnl::memory::desc& to) {
  auto make = [this, constant, change, from, to]() -> FixedMemory {
    TensorRef<float> numbers = constants_->value(constant);
    if (change) numbers = std::make_shared<const Tensor<float>>(change(*numbers));
    if (from != to) return {prepared(*numbers, from, to), nullptr};
    return {dnnl::memory(to, engine_, const_cast<float*>(numbers->data.data())), numbers};
  };
  if (!options_.once) return step.add(argument, make());
  step.addLate(argument, [this, constant, make] {
    FixedMemory memory = make();
    constants_->drop(constant);
    return memory;
  });
}

/// Every output of the program into a buffer that the caller gives: what was computed last into a buffer of its own is
/// computed right there.
void Planner::placeResults() {
  for (Value v : program_.outputs()) {
    Extents e = extents(v);
    int64_t floats = elementCount(e);
    if (floats == 0) {
      buffers.push_back({Buffer::Kind::kOutput, 0, static_cast<int>(results.size())});
      results.push_back({static_cast<int>(buffers.size()) - 1, {}});
      continue;
    }
    Place there = place(v);
    Buffer& buffer = buffers[static_cast<size_t>(there.buffer)];
    bool own = buffer.kind == Buffer::Kind::kArena && buffer.parent < 0 && buffer.floats == floats &&
               there.access.offset == 0 && sameForm(there.access, rowMajor(e));
    if (own) {
      buffer.kind = Buffer::Kind::kOutput;
      buffer.index = static_cast<int>(results.size());
    } else {
      buffers.push_back({Buffer::Kind::kOutput, floats, static_cast<int>(results.size())});
      Place to{static_cast<int>(buffers.size()) - 1, rowMajor(e)};
      copy(there, to);
      there = std::move(to);
    }
    results.push_back(std::move(there));
  }
}

}  // namespace pet::onednn
