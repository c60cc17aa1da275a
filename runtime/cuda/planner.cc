#include "runtime/cuda/planner.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/cuda/borders.h"
#include "runtime/cuda/join.h"
#include "runtime/cuda/points.h"
#include "runtime/cuda/stored.h"
#include "runtime/plan/correction.h"

namespace pet::cuda {
namespace {

/// A node that only the reference computes: its operands come to the processor, its results go back.
class ReferenceStep : public Step {
 public:
  ReferenceStep(Planner& planner, int node, std::vector<Planner::ReferenceOperand> operands, std::vector<int> results)
      : planner_(planner), node_(node), operands_(std::move(operands)), results_(std::move(results)) {
    for (const auto& o : operands_)
      buffers.push_back(o.buffer);
    buffers.insert(buffers.end(), results_.begin(), results_.end());
  }

  void bind(const Pointers& pointers) override {
    bound_.clear();
    for (int b : buffers)
      bound_.push_back(pointers[static_cast<size_t>(b)]);
  }

  void run() override {
    std::vector<Tensor<float>> given;
    for (size_t i = 0; i < operands_.size(); ++i) {
      given.emplace_back(operands_[i].extents);
      fetch(planner_.device(), given.back().data, bound_[i] + operands_[i].offset * planner_.elementBytes());
    }
    std::vector<const Tensor<float>*> borrowed;
    for (const auto& tensor : given)
      borrowed.push_back(&tensor);
    auto computed = evaluateNode<float>(planner_.program(), node_, {}, borrowed);
    if (!computed) throw std::runtime_error(computed.error().message());
    for (size_t i = 0; i < computed->size(); ++i)
      store(planner_.device(), (*computed)[i].data, bound_[operands_.size() + i]);
  }

 private:
  Planner& planner_;
  int node_;
  std::vector<Planner::ReferenceOperand> operands_;
  std::vector<int> results_;
  std::vector<Address> bound_;
};

}  // namespace

TensorForm formOf(const Access& access) {
  return {access.extents(), *stridesOf(access)};
}

const LowerRow* findLowering(std::string_view op) {
  for (auto rows : {convLowerings(), matmulLowerings(), pointLowerings(), rowLowerings(), windowLowerings()}) {
    for (const LowerRow& row : rows) {
      if (row.op == op) return &row;
    }
  }
  return nullptr;
}

std::optional<Planner::Taking> Planner::taking(int n) const {
  return takingOf(*this, n, findLowering(node(n).op->name));
}

bool Planner::lowerNode(int n, const Epilogue& epilogue) {
  const LowerRow* row = findLowering(node(n).op->name);
  if (!row) throw NotLowered{"neither a library nor a kernel computes it"};
  return row->lower(*this, n, epilogue);
}

void Planner::emitCall(std::unique_ptr<Call> call, const Place& to, std::vector<CallStep::Argument> arguments) {
  const int64_t bytes = call->workspaceBytes();
  const int workspace = bytes > 0 ? createBuffer((bytes + elementBytes() - 1) / elementBytes()) : -1;
  emit(std::make_unique<CallStep>(std::move(call), to.access, std::move(arguments), workspace, elementBytes()));
}

void Planner::emitPoints(PointKernel kernel, std::vector<CallStep::Argument> arguments) {
  emit(std::make_unique<CallStep>(std::move(kernel), std::move(arguments), elementBytes()));
}

Expected<void> Planner::plan(const Weights& weights, bool late) {
  if (auto ok = plan::Planner::plan(weights, late); !ok) return ok;
  joinCopies(*this);
  for (auto& step : steps) {
    auto* call = dynamic_cast<CallStep*>(step.get());
    if (call && !call->points().empty()) call->make(device_);
  }
  return {};
}

Place Planner::aligned(const Place& place) {
  if (place.access.offset % alignment() == 0) return place;
  Place made = create(compacted(place.access));
  copy(place, made);
  return made;
}

std::optional<Place> Planner::stridedPlace(Value result, int64_t border) {
  auto place = correctionPlace(*this, result);
  if (!place || place->access.offset % border != 0 || !stridesOf(place->access)) return std::nullopt;
  return place;
}

bool Planner::isBetterBeside(const Place& corrected, const Call& correction) const {
  const int64_t count = elementCount(corrected.access.extents());
  if (device_.streams() == 1 || count >= device_.threads() || !correction.timed) return false;
  const double copy = copySeconds(device_, count * elementBytes());
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const auto* call = dynamic_cast<const CallStep*>(step->get());
    if (!call || root(call->arguments()[0].buffer) != root(corrected.buffer)) continue;
    return call->timed() && std::min(*correction.timed, *call->timed()) > copy;
  }
  return false;
}

namespace {

/// Channels before `channels`, and -1 for those up to `all`.
std::vector<int64_t> firstOf(int64_t channels, int64_t all) {
  std::vector<int64_t> positions(static_cast<size_t>(all), -1);
  std::iota(positions.begin(), positions.begin() + channels, int64_t{0});
  return positions;
}

}  // namespace

Place Planner::firstChannels(const Place& whole, int64_t channels) {
  wholes_.insert(whole.buffer);
  return {whole.buffer, selected(whole.access, 1, firstOf(channels, channels))};
}

bool Planner::hasChannels(const Place& place, const Access& form) const {
  const auto channels = static_cast<int64_t>(place.access.tables[1].size());
  return wholes_.contains(place.buffer) && place.access.offset == 0 &&
         buffers[static_cast<size_t>(place.buffer)].elements == reach(form) &&
         sameForm(place.access, selected(form, 1, firstOf(channels, channels)));
}

Place Planner::withChannels(const Place& place, const Access& form) {
  if (hasChannels(place, form)) return {place.buffer, form};
  const bool hasOtherFill = place.access.fills() && place.access.fill != 0;
  Place more = hasOtherFill ? as(place, rowMajor(place.access.extents())) : place;
  more.access = selected(more.access, 1, firstOf(more.access.extents()[1], form.extents()[1]));
  more.access.fill = 0;
  Place made = create(form);
  copy(more, made);
  return made;
}

Place Planner::overOrDense(const Place& operand) {
  const bool mayBeOver = isDense(operand.access) || liesInRows(operand.access);
  return mayBeOver && isFree(operand) ? operand : create(compacted(operand.access));
}

const Place& Planner::rowsOf(Value v) {
  auto& place = rows_[v];
  if (place.buffer < 0) place = constantRows(*this, *constant(v), extents(v));
  return place;
}

Place Planner::constantPlace(Tensor<float> numbers) {
  Access access = rowMajor(numbers.extents);
  buffers.push_back({Buffer::Kind::kConstant, numbers.size(), static_cast<int>(placed.size())});
  placed.push_back(std::make_shared<const Tensor<float>>(std::move(numbers)));
  return {static_cast<int>(buffers.size()) - 1, std::move(access)};
}

void Planner::emitCopy(const Place& from, const Place& to) {
  Points points(*this, to);
  const std::string x = points.add(from);
  points.emit(x);
}

bool Planner::emitSum(const Place& to, const std::vector<Place>& from, const Epilogue& epilogue) {
  Points points(*this, to);
  points.emit(points.after(sumOf(points, from), epilogue, 1));
  return true;
}

void Planner::emitReference(int n, std::vector<ReferenceOperand> operands, std::vector<int> into) {
  emit(std::make_unique<ReferenceStep>(*this, n, std::move(operands), std::move(into)));
}

}  // namespace pet::cuda
