// Conv and ConvTranspose, by cuDNN.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/cuda/borders.h"
#include "runtime/cuda/conv_phases.h"
#include "runtime/cuda/fused.h"
#include "runtime/cuda/tables.h"
#include "runtime/plan/correction.h"
#include "runtime/plan/window.h"

namespace pet::cuda {
namespace {

/// Channels innermost, which tensor cores want; as it is where the operand has few channels and lies row-major, as one
/// of a single channel does in any order.
Order usualOrder(const Window& w) {
  constexpr int64_t kFew = 4;
  const bool few = w.inner / w.group < kFew && w.group == 1;
  const bool isRowMajor = w.inner == 1 || sameForm(w.x.access, rowMajor(w.x.access.extents()));
  return few && isRowMajor ? Order::kRowMajor : Order::kChannelsLast;
}

std::vector<size_t> dimensionsIn(Order order, size_t rank) {
  return order == Order::kRowMajor ? rowMajorOrder(rank) : channelsLastOrder(rank);
}

/// The kernel's numbers in this form, with a factor for each channel of the result; zeros for channels that it has not.
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
  return {form.extents(), laidOut(kernel.data, kernel.extents, form)};
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

/// With pads behind that are those before, where no further window fits into that: cuDNN has few plans for others.
Window withEvenPads(Window w) {
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    const auto x = static_cast<int64_t>(w.x.access.tables[2 + d].size());
    const auto [whole, windows] = w.transposed ? std::pair(w.y[2 + d], x) : std::pair(x, w.y[2 + d]);
    const int64_t rest = whole + 2 * w.before[d] - (w.kernel[d] - 1) * (w.dilations[d] + 1) - 1;
    if (rest >= 0 && rest / w.strides[d] + 1 == windows) w.after[d] = w.before[d];
  }
  return w;
}

class ConvLowering {
 public:
  ConvLowering(Planner& p, int n, Window w, const Epilogue& e)
      : p_(p),
        n_(n),
        w_(withEvenPads(std::move(w))),
        e_(e),
        numbers_(*p.constant(p.node(n).operands[1])),
        scale_(e.scale),
        shift_(e.shift) {
    numbers_.extents = kernelShape(w_.inner, w_.outer);
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
  /// The phases of what `e` follows.
  ConvLowering(Planner& p, int n, ConvPhases phases, const Epilogue& e)
      : p_(p), n_(n), w_(phases.conv), e_(e), numbers_(phases.weights), phases_(std::move(phases)) {
    for (int64_t c : phases_->channels) {
      const auto channel = static_cast<size_t>(c);
      if (!e.scale.empty()) scale_.push_back(e.scale[channel]);
      if (!e.shift.empty()) shift_.push_back(e.shift[channel]);
    }
  }

  /// How the tensors of a call lie, in one order; with `inner` and `outer` channels, of which the last ones may be
  /// there for tensor cores alone, with weights of zero.
  struct Forms {
    Access from, kernel, dense;
    std::vector<size_t> dimensions;
    int64_t inner, outer;
  };
  Forms formsIn(Order order) const { return formsIn(order, w_.inner, w_.outer); }
  Forms formsIn(Order order, int64_t inner, int64_t outer) const {
    std::vector<size_t> dimensions = dimensionsIn(order, w_.y.size());
    Extents from = w_.x.access.extents(), to = w_.y;
    from[1] = inner;
    to[1] = outer;
    return {inOrder(from, dimensions),
            inOrder(kernelShape(inner, outer), dimensions),
            inOrder(to, dimensions),
            dimensions,
            inner,
            outer};
  }
  /// With as many channels as libraries read at once. Nothing: it has them, or they are of groups.
  std::optional<Forms> formsOnBorders() const {
    const int64_t inner = nextBorder(w_.inner, p_.alignment()), outer = nextBorder(w_.outer, p_.alignment());
    if (w_.group > 1 || (inner == w_.inner && outer == w_.outer)) return std::nullopt;
    return formsIn(Order::kChannelsLast, inner, outer);
  }

  /// ConvCall::table.
  std::vector<float> table() const {
    if (w_.group > 1 || w_.transposed || !isTable(numbers_.data, w_.outer, elementCount(w_.kernel))) return {};
    return kernelOf(w_, numbers_, rowMajor(kernelShape(1, w_.outer)), scale_).data;
  }

  /// A library's call, and what of the epilogue it computes.
  struct Made {
    std::unique_ptr<Call> call;
    Fused fused;
    std::optional<double> seconds = std::nullopt;  ///< with what is left of it, if it was timed
    /// Computes the same from the operand as it lies, instead of from one in the form of the call.
    std::optional<TableKernel> asItLies = std::nullopt;
  };
  /// Of a tensor of these extents.
  double secondsOfCopy(const Extents& extents) const {
    return copySeconds(p_.device(), elementCount(extents) * p_.elementBytes());
  }
  /// What is left of the epilogue, in one pass over the result, and over what is added.
  double restSeconds(const Fused& fused, const TensorForm& to) const {
    const int64_t bytes = elementCount(to.extents) * p_.elementBytes();
    return copySeconds(p_.device(), e_.sum() && !fused.added ? bytes + bytes / 2 : bytes);
  }

  /// What computes most of the epilogue; or, where only kernels of ours compute so much, or where that was timed and
  /// adds a tensor, for which libraries have few plans: what is the fastest with what is left of it. `into`: as emit()
  /// has it. Nothing: there is no such call.
  std::optional<Made> make(const Forms& forms, const std::optional<Place>& into = std::nullopt) {
    const auto to = formIn(forms.dimensions, into ? w_.callForm(into->access) : forms.dense);
    if (!to) return std::nullopt;  // it lies there in another order
    const ConvCall plain = callOf(forms, *to);
    auto with = [&](const Fused& fused) {
      ConvCall call = plain;
      call.bias = fused.bias;
      call.added = fused.added ? formIn(forms.dimensions, forms.dense) : std::nullopt;
      call.activation = activationIn(fused, e_);
      return call;
    };
    std::optional<Made> best;
    for (const Fused& fused : choicesOf(e_)) {
      if (fused.added && (best || phases_)) continue;  // what computes more is there; what is added lies otherwise
      auto made = p_.device().conv(with(fused));
      if (!made) {
        why_ = made.error().message();
        continue;
      }
      const auto timed = (*made)->timed;
      const bool isAlone = (*made)->isAlone;
      if (!timed) return Made{std::move(*made), fused};
      const double seconds = *timed + (leavesRest(fused, e_) ? restSeconds(fused, *to) : 0);
      if (!best || seconds < *best->seconds) best = Made{std::move(*made), fused, seconds};
      if (!isAlone && !fused.added) break;
    }
    if (best && best->call->isOwn && !plain.table.empty() && readsAsWell(plain, w_.x.access))
      best->asItLies = tableKernel(with(best->fused), w_.x.access);
    return best;
  }

  /// Without an epilogue.
  ConvCall callOf(const Forms& forms, const TensorForm& to) const {
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
                  {},
                  forms.inner == 1 && forms.outer == w_.outer ? table() : std::vector<float>{}};
    for (int64_t& d : call.dilations)
      ++d;
    return call;
  }

  bool emitSomewhere() {
    const auto corrected = p_.stridedPlace(e_.result, p_.alignment());
    return (corrected && emit(std::nullopt, corrected)) || (corrected && emit(corrected)) || emit(std::nullopt);
  }

  /// `into`: where the result goes; nothing: to a place of its own. `beside`: only if it is better computed so than
  /// there.
  bool emit(const std::optional<Place>& into, const std::optional<Place>& beside = std::nullopt) {
    Forms forms = formsIn(order_);
    auto made = make(forms, into);
    if (!made || (beside && !p_.isBetterBeside(*beside, *made->call))) return false;
    if (!into && order_ == Order::kChannelsLast) takeBorders(forms, *made);
    if (!into && emitPhases(*made)) return true;
    if (!isGiven_ && made->seconds) noteCosts(*made->seconds);
    takeWhereItLies(forms, *made, into);
    emitCall(std::move(*made), forms, into);
    return true;
  }

  /// A transposed convolution's phases, if that is timed and faster, with a copy to where their results belong.
  bool emitPhases(const Made& made) {
    auto phases = w_.transposed && made.seconds ? phasesOf(w_, numbers_) : std::nullopt;
    if (!phases) return false;
    ConvLowering conv(p_, n_, std::move(*phases), e_);
    std::optional<std::pair<Forms, Made>> best;
    for (Order order : {Order::kChannelsLast, Order::kRowMajor}) {
      auto other = conv.timedIn(order);
      if (other && (!best || *other->second.seconds < *best->second.seconds)) best = std::move(other);
    }
    const double copy = secondsOfCopy(w_.y);
    if (!best || *best->second.seconds + copy >= *made.seconds) return false;
    conv.emitCall(std::move(best->second), best->first, std::nullopt);
    return true;
  }

  /// The call in an order of dimensions, to a place of its own. Nothing: there is none, or it was not timed.
  std::optional<std::pair<Forms, Made>> timedIn(Order order) {
    Forms forms = formsIn(order);
    auto made = make(forms);
    if (!made || !made->seconds) return std::nullopt;
    if (order == Order::kChannelsLast) takeBorders(forms, *made);
    return std::pair(std::move(forms), std::move(*made));
  }

  /// Takes more channels, if that was timed and is faster, with the copies of the operand.
  void takeBorders(Forms& forms, Made& made) {
    const auto more = made.seconds ? formsOnBorders() : std::nullopt;
    auto other = more ? make(*more) : std::nullopt;
    if (!other || !other->seconds) return;
    const double copy = secondsOfCopy(w_.x.access.extents());
    const bool isThere = sameForm(w_.x.access, forms.from);
    const bool isOnBorders = more->inner == forms.inner ? isThere : p_.hasChannels(w_.x, more->from);
    if (*other->seconds + (isOnBorders ? 0 : copy) >= *made.seconds + (isThere ? 0 : copy)) return;
    forms = *more;
    made = std::move(*other);
  }

  /// Reads the operand where it lies in the call's order, with gaps, as a slice of channels does, if the library has
  /// such a call and that is no slower than one with the copy.
  void takeWhereItLies(Forms& forms, Made& made, const std::optional<Place>& into) {
    const Value operand = p_.node(n_).operands[0];
    if (made.asItLies || forms.inner > w_.inner || sameForm(w_.x.access, forms.from) || phases_) return;
    if (!stridesOf(w_.x.access) || w_.x.access.offset % p_.alignment() != 0) return;
    Forms there = forms;
    there.from = w_.x.access;
    if (!formIn(there.dimensions, there.from) || p_.exists(operand, forms.from)) return;
    auto other = make(there, into);
    if (!other || other->fused != made.fused) return;
    const double copy = secondsOfCopy(w_.x.access.extents());
    if (made.seconds && !(other->seconds && *other->seconds <= *made.seconds + copy)) return;
    forms = std::move(there);
    made = std::move(*other);
  }

  /// What the convolution costs in its order, and in the other one.
  void noteCosts(double seconds) {
    const Order other = order_ == Order::kRowMajor ? Order::kChannelsLast : Order::kRowMajor;
    if (sameForm(formsIn(other).from, formsIn(order_).from)) return;
    const auto made = timedIn(other);
    if (!made) return;
    const double there = *made->second.seconds;
    p_.orderCosts[n_] =
        order_ == Order::kRowMajor ? OrderCost{seconds, there, order_} : OrderCost{there, seconds, order_};
  }

  Extents kernelShape(int64_t inner, int64_t outer) const {
    Extents extents{w_.transposed ? inner : outer, (w_.transposed ? outer : inner) / w_.group};
    extents.insert(extents.end(), w_.kernel.begin(), w_.kernel.end());
    return extents;
  }

  void emitCall(Made made, const Forms& forms, const std::optional<Place>& into) {
    const Fused& fused = made.fused;
    const std::string name = made.call->name();
    const Place operand = made.asItLies ? w_.x : operandIn(forms);
    const Place weights = p_.constantPlace(kernelOf(w_, numbers_, forms.kernel, scale_));
    // The kernel knows the operand's offset itself.
    std::vector<CallStep::Argument> arguments{
        {-1, 0}, {operand.buffer, made.asItLies ? 0 : operand.access.offset}, {weights.buffer, 0}};
    if (fused.bias) {
      Tensor<float> bias({forms.outer});
      std::copy(shift_.begin(), shift_.end(), bias.data.begin());
      arguments.push_back({p_.constantPlace(std::move(bias)).buffer, 0});
    }
    const Access dense = w_.resultForm(forms.dense);
    const bool hasMore = forms.outer > w_.outer;
    if (fused.added) {
      const Value v = *e_.sum();
      const Place added = p_.aligned(hasMore ? p_.withChannels(p_.place(v), dense) : p_.as(v, dense));
      arguments.push_back({added.buffer, added.access.offset});
    }
    const Place whole = into ? *into : p_.create(dense);
    arguments[0] = {whole.buffer, whole.access.offset};
    if (made.asItLies) {
      const auto timed = made.call->timed;
      made.call = p_.device().kernel(generate(*made.asItLies));
      made.call->timed = timed;
    }
    p_.emitCall(std::move(made.call), whole, std::move(arguments));
    Place y = hasMore ? p_.firstChannels(whole, w_.outer) : whole;
    if (phases_) y.access = w_.resultForm(phases_->resultIn(w_.callForm(y.access)));
    emitRest(p_, fused, e_, y, 1);
    p_.define(e_.result, std::move(y));
    p_.note(n_, name + (phases_ ? " of phases" : isDense(forms.from) ? "" : ", of a slice where it lies"));
  }

  Place operandIn(const Forms& forms) {
    if (forms.inner > w_.inner) return p_.withChannels(w_.x, forms.from);
    return p_.aligned(p_.windowOperand(p_.node(n_).operands[0], w_.x, forms.from));
  }

  Planner& p_;
  int n_;
  Window w_;
  const Epilogue& e_;
  Tensor<float> numbers_;             ///< the kernel, row-major
  std::vector<float> scale_, shift_;  ///< per channel of the call's result
  std::optional<ConvPhases> phases_;  ///< that it computes
  Order order_ = Order::kChannelsLast;
  bool isGiven_ = false;  ///< the order is what it shall be
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
