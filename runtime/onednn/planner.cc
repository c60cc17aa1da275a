#include "runtime/onednn/planner.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/onednn/index_copy.h"
#include "runtime/onednn/lower_attention.h"
#include "runtime/onednn/lowerings.h"
#include "runtime/onednn/sum_kernel.h"

namespace pet::onednn {

Planner::Planner(const Program& program, const OneDnnOptions& options)
    : plan::Planner(program), options_(options), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

std::optional<Planner::Taking> Planner::taking(int n) const {
  // Of what follows a Concat, only a normalisation is better done as it copies.
  const auto reader = onlyReader(n);
  if (node(n).is(ops::kConcat) && !(reader && node(*reader).is(ops::kBatchNormalization))) return std::nullopt;
  return takingOf(*this, n, findLowering(node(n).op->name));
}

namespace {

/// Where oneDNN gets no memory for a primitive it goes through a null pointer: there has to be more than any takes.
/// Throws std::bad_alloc.
void demandMemory() {
  constexpr size_t kEnough = 16 << 20;
  ::operator delete(::operator new(kEnough));
}

}  // namespace

bool Planner::lowerNode(int n, const Epilogue& epilogue) {
  const LowerRow* row = findLowering(node(n).op->name);
  if (!row) throw NotLowered{"no primitive for it"};
  demandMemory();
  try {
    return row->lower(*this, n, epilogue);
  } catch (const dnnl::error& e) {
    throw NotLowered{fmt::format("oneDNN: {}", e.what())};
  }
}

std::vector<int> Planner::groupOf(int n) {
  const auto attention = attentionAt(*this, n);
  return attention && isLargeAttention(*this, *attention) ? attention->members : std::vector<int>();
}

bool Planner::lowerGroup(const std::vector<int>& members) {
  try {
    return lowerAttention(*this, *attentionAt(*this, members.back()));
  } catch (const dnnl::error&) {
    return false;
  }
}

void Planner::emitCopy(const Place& from, const Place& to) {
  IndexCopy kernel(from.access, to.access);
  emit(std::make_unique<KernelStep>(
      std::vector<int>{from.buffer, to.buffer},
      [kernel = std::move(kernel), threads = options_.threads](float* const* p) { kernel.run(p[0], p[1], threads); }));
}

/// Another value of the epilogue is one more addend.
bool Planner::emitSum(const Place& to, const std::vector<Place>& from, const Epilogue& epilogue) {
  if (std::any_of(epilogue.scale.begin(), epilogue.scale.end(), [](float factor) { return factor != 1; })) return false;
  const auto behind = behindOf(epilogue);
  if (!behind) return false;
  std::vector<Access> addends;
  std::vector<int> used{to.buffer};
  auto add = [&](const Place& f) {
    addends.push_back(f.access);
    used.push_back(f.buffer);
  };
  std::for_each(from.begin(), from.end(), add);
  if (const Value* other = epilogue.sum()) {
    Place there = place(*other);
    if (there.access.fills()) there = as(*other, compacted(there.access));
    add(there);
  }
  if (addends.size() > SumKernel::kMostAddends || to.access.rank() > SumKernel::kMostDimensions)
    throw NotLowered{"a sum of too many"};
  SumKernel kernel(to.access, addends, epilogue.shift, behind->bounds);
  emit(std::make_unique<KernelStep>(used, [kernel, threads = options_.threads](float* const* pointers) {
    kernel.run(pointers[0], pointers + 1, threads);
  }));
  for (const Activation& function : behind->functions)
    emitFunction(*this, function, to, to);
  return true;
}

void Planner::emitReference(int n, std::vector<ReferenceOperand> operands, std::vector<int> into) {
  std::vector<int> uses;
  for (const ReferenceOperand& o : operands)
    uses.push_back(o.buffer);
  uses.insert(uses.end(), into.begin(), into.end());
  emit(std::make_unique<KernelStep>(uses, [this, n, operands = std::move(operands)](float* const* pointers) {
    std::vector<Tensor<float>> given;
    for (size_t i = 0; i < operands.size(); ++i) {
      given.emplace_back(operands[i].extents);
      std::copy_n(pointers[i] + operands[i].offset, given.back().size(), given.back().data.data());
    }
    std::vector<const Tensor<float>*> borrowed;
    for (const auto& t : given)
      borrowed.push_back(&t);
    auto computed = evaluateNode<float>(program(), n, {}, borrowed);
    if (!computed) throw std::runtime_error(computed.error().message());
    for (size_t i = 0; i < computed->size(); ++i)
      std::copy((*computed)[i].data.begin(), (*computed)[i].data.end(), pointers[operands.size() + i]);
  }));
}

std::unique_ptr<PrimitiveStep> Planner::primitive(const dnnl::primitive& p, const dnnl::memory::desc& scratchpad) {
  auto step = std::make_unique<PrimitiveStep>(p, stream_);
  if (int64_t bytes = static_cast<int64_t>(scratchpad.get_size()); bytes > 0) {
    step->add(DNNL_ARG_SCRATCHPAD, scratchpad, engine_, createBuffer((bytes + 3) / 4), 0);
  }
  return step;
}

FixedMemory Planner::prepared(const void* numbers, const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  FloatPool alone;
  auto floats = (options_.once ? alone : prepared_).take(static_cast<int64_t>(to.get_size() / sizeof(float)));
  dnnl::memory result(to, engine_, floats.get());
  dnnl::memory source(from, engine_, const_cast<void*>(numbers));
  dnnl::reorder(source, result).execute(stream_, source, result);
  stream_.wait();
  return {std::move(result), std::move(floats)};
}

FixedMemory Planner::formed(const StoredFloats& numbers, const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  if (from != to) return prepared(numbers.data, from, to);
  return {dnnl::memory(to, engine_, const_cast<void*>(numbers.data)), numbers.owner};
}

FixedMemory Planner::shared(Value constant, const dnnl::memory::desc& from, const dnnl::memory::desc& to, bool copies) {
  std::vector<Shared>& forms = shared_[constant];
  auto made = std::find_if(forms.begin(), forms.end(),
                           [&](const Shared& s) { return s.from == from && s.to == to && s.copies == copies; });
  if (made == forms.end()) {
    const StoredFloats numbers = constants().stored(constant);
    FixedMemory memory = copies ? prepared(numbers.data, from, to) : formed(numbers, from, to);
    made = forms.insert(made, {from, to, copies, std::move(memory)});
  }
  return made->memory;
}

void Planner::addConstant(PrimitiveStep& step,
                          int argument,
                          Value constant,
                          const Change& change,
                          const dnnl::memory::desc& from,
                          const dnnl::memory::desc& to) {
  if (!change && !options_.once) return step.add(argument, shared(constant, from, to, false));
  auto make = [this, constant, change, from, to]() -> FixedMemory {
    StoredFloats numbers = constants().stored(constant);
    if (change) {
      auto changed = std::make_shared<const Tensor<float>>(change(numbers));
      numbers = {changed->extents, changed->data.data(), changed};
    }
    return formed(numbers, from, to);
  };
  if (!options_.once) return step.add(argument, make());
  step.addLate(argument, [this, constant, make] {
    FixedMemory memory = make();
    constants().drop(constant);
    return memory;
  });
}

}  // namespace pet::onednn
