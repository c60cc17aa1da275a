// Conv and ConvTranspose, by cuDNN.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/cuda/fused.h"
#include "runtime/plan/correction.h"
#include "runtime/plan/window.h"

namespace pet::cuda {
namespace {

/// Channels innermost, which tensor cores want; as it is where the operand has few channels and lies row-major.
Order usualOrder(const Window& w) {
  constexpr int64_t kFew = 4;
  const bool few = w.inner / w.group < kFew && w.group == 1;
  return few && sameForm(w.x.access, rowMajor(w.x.access.extents())) ? Order::kRowMajor : Order::kChannelsLast;
}

std::vector<size_t> dimensionsIn(Order order, size_t rank) {
  return order == Order::kRowMajor ? rowMajorOrder(rank) : channelsLastOrder(rank);
}

/// The kernel's numbers in this order, with a factor for each channel of the result.
Tensor<float> kernelOf(const Window& w,
                       const Tensor<float>& numbers,
                       const Access& form,
                       const std::vector<float>& scale) {
  Tensor<float> kernel = numbers;
  const int64_t taps = elementCount(w.kernel), out = w.outer / w.group, in = w.inner / w.group;
  for (int64_t i = 0; !scale.empty() && i < kernel.size(); ++i) {
    const int64_t channel = w.transposed ? i / taps / out / in * out + i / taps % out : i / (taps * in);
    kernel.data[static_cast<size_t>(i)] *= scale[static_cast<size_t>(channel)];
  }
  Tensor<float> placed(kernel.extents);
  const Access from = rowMajor(form.extents());
  std::vector<const std::vector<int64_t>*> rows, places;
  for (size_t d = 0; d < form.rank(); ++d) {
    rows.push_back(&from.tables[d]);
    places.push_back(&form.tables[d]);
  }
  const auto read = merged(rows), written = merged(places);
  for (size_t i = 0; i < read.size(); ++i)
    placed.data[static_cast<size_t>(written[i])] = kernel.data[static_cast<size_t>(read[i])];
  return placed;
}

/// The operand with its pads as zeros in memory.
void materialise(Planner& p, Window& w, Order order) {
  Access padded = w.x.access;
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    const auto extent = static_cast<int64_t>(padded.tables[2 + d].size());
    std::vector<int64_t> positions;
    for (int64_t i = -w.before[d]; i < extent + w.after[d]; ++i)
      positions.push_back(i < 0 || i >= extent ? -1 : i);
    padded = selected(padded, 2 + d, positions);
    w.before[d] = w.after[d] = 0;
  }
  padded.fill = 0;
  w.x = p.as({w.x.buffer, padded}, inOrder(padded.extents(), dimensionsIn(order, padded.rank())));
}

/// The form of what lies in this order of dimensions, of which one of extent 1 gets the stride that it would have were
/// it longer: cuDNN reads the order from the strides, also of such. Nothing: it lies in another order.
std::optional<TensorForm> formIn(const std::vector<size_t>& order, const Access& access) {
  TensorForm form = formOf(access);
  int64_t least = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    if (form.extents[*d] == 1) form.strides[*d] = least;
    if (form.strides[*d] < least) return std::nullopt;
    least = form.strides[*d] * form.extents[*d];
  }
  return form;
}

class ConvLowering {
 public:
  ConvLowering(Planner& p, int n, Window w, const Epilogue& e) : p_(p), n_(n), w_(std::move(w)), e_(e) {
    const auto given = p.orders.find(n);
    isGiven_ = given != p.orders.end();
    order_ = isGiven_ ? given->second : usualOrder(w_);
  }

  bool run() {
    if (emitSomewhere()) return true;
    if (!w_.transposed && w_.before != w_.after) {
      materialise(p_, w_, order_);
      if (emitSomewhere()) return true;
    }
    throw NotLowered{why_};
  }

 private:
  /// How the tensors of a call lie, in one order.
  struct Forms {
    Access from, kernel, dense;
    std::vector<size_t> dimensions;
  };
  Forms formsIn(Order order) const {
    std::vector<size_t> dimensions = dimensionsIn(order, w_.y.size());
    return {inOrder(w_.x.access.extents(), dimensions), inOrder(kernelShape(), dimensions), inOrder(w_.y, dimensions),
            dimensions};
  }

  /// A library's call, and what of the epilogue it computes.
  struct Made {
    std::unique_ptr<Call> call;
    Fused fused;
  };
  /// What computes most of the epilogue, or, where only kernels of ours compute so much, what is the fastest with what
  /// is left of it. `to`: how the result lies. Nothing: there is no such call.
  std::optional<Made> make(const Forms& forms, const TensorForm& to) {
    ConvCall call{*formIn(forms.dimensions, forms.from),
                  *formIn(forms.dimensions, forms.kernel),
                  to,
                  w_.strides,
                  w_.dilations,
                  w_.before,
                  w_.after,
                  w_.group,
                  w_.transposed,
                  false,
                  {},
                  {}};
    for (int64_t& d : call.dilations)
      ++d;
    std::optional<Made> best;
    double least = 0;
    for (const Fused& fused : choicesOf(e_)) {
      call.bias = fused.bias;
      call.added = fused.added ? formIn(forms.dimensions, forms.dense) : std::nullopt;
      call.activation = activationIn(fused, e_);
      auto made = p_.device().conv(call);
      if (!made) {
        why_ = made.error().message();
        continue;
      }
      const auto timed = (*made)->timed;
      const bool isAlone = (*made)->isAlone;
      if (!timed) return Made{std::move(*made), fused};
      const int64_t bytes = elementCount(to.extents) * p_.elementBytes();
      const double seconds = *timed + (leavesRest(fused, e_) ? copySeconds(bytes) : 0);
      if (!best || seconds < least) {
        best = Made{std::move(*made), fused};
        least = seconds;
      }
      if (!isAlone) break;
    }
    return best;
  }

  bool emitSomewhere() {
    const auto corrected = p_.stridedPlace(e_.result, p_.alignment());
    return (corrected && emit(std::nullopt, corrected)) || (corrected && emit(corrected)) || emit(std::nullopt);
  }

  /// `into`: where the result goes; nothing: to a place of its own. `beside`: only if it is better computed so than
  /// there.
  bool emit(const std::optional<Place>& into, const std::optional<Place>& beside = std::nullopt) {
    const Forms forms = formsIn(order_);
    const auto to = formIn(forms.dimensions, into ? w_.callForm(into->access) : forms.dense);
    if (!to) return false;
    auto made = make(forms, *to);
    if (!made || (beside && !p_.isBetterBeside(*beside, *made->call))) return false;
    if (!isGiven_ && made->call->timed) noteCosts(*made->call->timed);
    emitCall(std::move(*made), forms, into);
    return true;
  }

  /// What the convolution costs in its order, and in the other one.
  void noteCosts(double seconds) {
    const Order other = order_ == Order::kRowMajor ? Order::kChannelsLast : Order::kRowMajor;
    const Forms forms = formsIn(other);
    if (sameForm(forms.from, formsIn(order_).from)) return;
    const auto made = make(forms, *formIn(forms.dimensions, forms.dense));
    if (!made || !made->call->timed) return;
    const double there = *made->call->timed;
    p_.orderCosts[n_] =
        order_ == Order::kRowMajor ? OrderCost{seconds, there, order_} : OrderCost{there, seconds, order_};
  }

  Extents kernelShape() const {
    Extents extents{w_.transposed ? w_.inner : w_.outer, (w_.transposed ? w_.outer : w_.inner) / w_.group};
    extents.insert(extents.end(), w_.kernel.begin(), w_.kernel.end());
    return extents;
  }

  void emitCall(Made made, const Forms& forms, const std::optional<Place>& into) {
    const auto& [from, kernel, dense, dimensions] = forms;
    const Fused& fused = made.fused;
    const std::string name = made.call->name();
    const Value x = p_.node(n_).operands[0];
    const Place operand = p_.aligned(p_.windowOperand(x, w_.x, from));
    Tensor<float> numbers = *p_.constant(p_.node(n_).operands[1]);
    numbers.extents = kernel.extents();
    const Place weights = p_.constantPlace(kernelOf(w_, numbers, kernel, e_.scale));
    std::vector<CallStep::Argument> arguments{{-1, 0}, {operand.buffer, operand.access.offset}, {weights.buffer, 0}};
    if (fused.bias) {
      const Place bias = p_.constantPlace(Tensor<float>({w_.outer}, e_.shift));
      arguments.push_back({bias.buffer, 0});
    }
    if (fused.added) {
      const Place added = p_.aligned(p_.as(*e_.sum(), w_.resultForm(dense)));
      arguments.push_back({added.buffer, added.access.offset});
    }
    Place y = into ? *into : p_.create(w_.resultForm(dense));
    arguments[0] = {y.buffer, y.access.offset};
    p_.emitCall(std::move(made.call), y, std::move(arguments));
    emitRest(p_, fused, e_, y, 1);
    p_.define(e_.result, std::move(y));
    p_.note(n_, name);
  }

  Planner& p_;
  int n_;
  Window w_;
  const Epilogue& e_;
  Order order_;
  bool isGiven_;  ///< the order is what it shall be
  std::string why_;
};

bool lowerConv(Planner& p, int n, const Epilogue& e) {
  if (!p.isConstant(p.node(n).operands[1])) throw NotLowered{"a kernel that is not constant"};
  return ConvLowering(p, n, windowOf(p, n, false), e).run();
}

bool lowerConvTranspose(Planner& p, int n, const Epilogue& e) {
  if (!p.isConstant(p.node(n).operands[1])) throw NotLowered{"a kernel that is not constant"};
  return ConvLowering(p, n, windowOf(p, n, true), e).run();
}

constexpr LowerRow kConvRows[] = {
    {"Conv", lowerConv, channelDimension, true},
    {"ConvTranspose", lowerConvTranspose, channelDimension, true},
};

}  // namespace

std::span<const LowerRow> convLowerings() {
  return kConvRows;
}

}  // namespace pet::cuda
