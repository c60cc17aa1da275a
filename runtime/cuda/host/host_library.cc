#include "runtime/cuda/host/host_library.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/cuda/stored.h"
#include "runtime/plan/access.h"

namespace pet::cuda {
namespace {

/// A tensor of a device's memory as numbers: read as a whole, and written back by store().
class Numbers {
 public:
  Numbers(Address address, const TensorForm& form, Storage storage)
      : address_(address), form_(form), storage_(storage), values_(address ? reach(form) : 0) {
    unpack(address, storage, values_);
  }

  float& at(const Extents& index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * form_.strides[d];
    return values_[static_cast<size_t>(offset)];
  }
  /// The sum of the products of so many elements along dimension d, from the position on, and of the other's along e.
  double dot(const Extents& index, size_t d, Numbers& other, const Extents& otherIndex, size_t e, int64_t count) {
    const float *a = &at(index), *b = &other.at(otherIndex);
    const int64_t next = form_.strides[d], otherNext = other.form_.strides[e];
    double sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += double{a[i * next]} * b[i * otherNext];
    return sum;
  }
  void store() { pack(values_, storage_, address_); }

 private:
  static size_t reach(const TensorForm& form) {
    int64_t last = 0;
    for (size_t d = 0; d < form.extents.size(); ++d)
      last += (form.extents[d] - 1) * form.strides[d];
    return static_cast<size_t>(last + 1);
  }

  Address address_;
  const TensorForm& form_;
  Storage storage_;
  std::vector<float> values_;
};

/// Libraries read the order of dimensions from the strides, also of such of extent 1.
bool isInOrder(const TensorForm& form, const std::vector<size_t>& order) {
  int64_t least = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    if (form.strides[*d] < least) return false;
    least = form.strides[*d] * form.extents[*d];
  }
  return true;
}

bool isInOneOrder(const std::vector<const TensorForm*>& forms) {
  const size_t rank = forms[0]->extents.size();
  const std::vector<std::vector<size_t>> orders{plan::rowMajorOrder(rank), plan::channelsLastOrder(rank)};
  return std::any_of(orders.begin(), orders.end(), [&](const auto& order) {
    return std::all_of(forms.begin(), forms.end(), [&](const TensorForm* f) { return isInOrder(*f, order); });
  });
}

double applied(const plan::Activation& activation, double x) {
  using plan::Function;
  const double alpha = activation.alpha, beta = activation.beta;
  switch (activation.function) {
    case Function::kRelu:
      return x < 0 ? alpha * x : x;
    case Function::kClip:
      return x < alpha ? alpha : x > beta ? beta : x;
    case Function::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Function::kTanh:
      return std::tanh(x);
    case Function::kGeluErf:
      return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
    default:
      return std::nan("");  // isTaken() is asked before
  }
}

bool isTaken(const std::optional<plan::Activation>& activation) {
  using plan::Function;
  constexpr Function kTaken[] = {Function::kRelu, Function::kClip, Function::kSigmoid, Function::kTanh,
                                 Function::kGeluErf};
  return !activation || std::find(std::begin(kTaken), std::end(kTaken), activation->function) != std::end(kTaken);
}

/// Calls body(index) for every position.
template <class F>
void forEach(const Extents& extents, F body) {
  Extents index(extents.size());
  for (int64_t left = elementCount(extents); left > 0; --left) {
    body(index);
    for (size_t d = extents.size(); d-- > 0;) {
      if (++index[d] < extents[d]) break;
      index[d] = 0;
    }
  }
}

class HostConv final : public Call {
 public:
  HostConv(ConvCall call, Storage storage) : call_(std::move(call)), storage_(storage) {}
  /// Channels-last ones, and with channels that end on no border, or whose operand lies with gaps, are said to be so,
  /// so that tests can time them otherwise.
  std::string name() const override {
    const bool isLast = isInOrder(call_.x, plan::channelsLastOrder(call_.x.extents.size()));
    const int64_t border = 16 / bytesOf(storage_);
    const bool isOff = call_.x.extents[1] % border != 0 || call_.y.extents[1] % border != 0;
    return fmt::format("host {}{}{}", call_.transposed ? "dgrad" : "conv",
                       !isLast ? ""
                       : isOff ? " nhwc off borders"
                               : " nhwc",
                       plan::isDense(plan::strided(call_.x.extents, call_.x.strides)) ? "" : " with gaps");
  }

  void run(std::span<const Address> pointers, Address) override {
    Numbers y(pointers[0], call_.y, storage_), x(pointers[1], call_.x, storage_), w(pointers[2], call_.w, storage_);
    const TensorForm channels{{call_.y.extents[1]}, {1}};
    Numbers bias(call_.bias ? pointers[3] : nullptr, channels, storage_);
    Numbers added(call_.added ? pointers[call_.bias ? 4 : 3] : nullptr, call_.added ? *call_.added : call_.y, storage_);
    forEach(call_.y.extents, [&](const Extents& v) {
      double sum = sumAt(v, x, w);
      if (call_.bias) sum += bias.at({v[1]});
      if (call_.added) sum += added.at(v);
      y.at(v) = static_cast<float>(call_.activation ? applied(*call_.activation, sum) : sum);
    });
    y.store();
  }

 private:
  /// The position of the operand that a tap reads along a dimension; -1: none.
  int64_t readAt(size_t d, int64_t v, int64_t tap) const {
    const int64_t shifted = tap * call_.dilations[d] - call_.before[d], stride = call_.strides[d];
    int64_t at = call_.transposed ? v - shifted : v * stride + shifted;
    if (call_.transposed && at % stride != 0) return -1;
    if (call_.transposed) at /= stride;
    return at < 0 || at >= call_.x.extents[d + 2] ? -1 : at;
  }

  double sumAt(const Extents& v, Numbers& x, Numbers& w) const {
    const int64_t out = call_.y.extents[1] / call_.group, in = call_.x.extents[1] / call_.group;
    const int64_t group = v[1] / out;
    Extents from = v, kernel = v;
    from[1] = group * in;
    kernel[0] = call_.transposed ? from[1] : v[1];
    kernel[1] = call_.transposed ? v[1] % out : 0;
    double sum = 0;
    forEach({call_.w.extents.begin() + 2, call_.w.extents.end()}, [&](const Extents& tap) {
      for (size_t d = 0; d < tap.size(); ++d) {
        from[2 + d] = readAt(d, v[2 + d], tap[d]);
        if (from[2 + d] < 0) return;
        kernel[2 + d] = tap[d];
      }
      sum += x.dot(from, 1, w, kernel, call_.transposed ? 0 : 1, in);
    });
    return sum;
  }

  ConvCall call_;
  Storage storage_;
};

class HostProduct final : public Call {
 public:
  HostProduct(ProductCall call, Storage storage) : call_(std::move(call)), storage_(storage) {}
  /// Ones with rows that begin on no border are said to be so, so that tests can time them otherwise.
  std::string name() const override { return isOnBorders() ? "host product" : "host product off borders"; }

  void run(std::span<const Address> pointers, Address) override {
    Numbers y(pointers[0], call_.y, storage_), left(pointers[1], call_.left, storage_),
        right(pointers[2], call_.right, storage_);
    const TensorForm columns{{call_.y.extents[2]}, {1}};
    Numbers bias(call_.bias ? pointers[3] : nullptr, columns, storage_);
    forEach(call_.y.extents, [&](const Extents& v) {
      double sum = call_.bias ? bias.at({v[2]}) : 0;
      sum += left.dot({v[0], v[1], 0}, 2, right, {v[0], 0, v[2]}, 1, call_.left.extents[2]);
      y.at(v) = static_cast<float>(call_.activation ? applied(*call_.activation, sum) : sum);
    });
    y.store();
  }

 private:
  bool isOnBorders() const {
    const int64_t border = 16 / bytesOf(storage_);
    for (const TensorForm* form : {&call_.left, &call_.right, &call_.y}) {
      for (size_t d = 0; d < form->extents.size(); ++d) {
        if (form->extents[d] > 1 && form->strides[d] > 1 && form->strides[d] % border != 0) return false;
      }
    }
    return true;
  }

  ProductCall call_;
  Storage storage_;
};

/// What AttentionCall says of its tensors.
bool isInRows(const TensorForm& form, int64_t border) {
  bool is = form.strides[3] == 1;
  for (size_t d = 0; d < 3; ++d)
    is = is && (form.extents[d] == 1 || (form.strides[d] > 0 && form.strides[d] % border == 0));
  return is;
}

class HostAttention final : public Call {
 public:
  HostAttention(AttentionCall call, Storage storage) : call_(std::move(call)), storage_(storage) {}
  std::string name() const override { return "host attention"; }

  void run(std::span<const Address> pointers, Address) override {
    Numbers y(pointers[0], call_.y, storage_), q(pointers[1], call_.q, storage_), k(pointers[2], call_.k, storage_),
        v(pointers[3], call_.v, storage_);
    Numbers bias(call_.bias ? pointers[4] : nullptr, call_.bias ? *call_.bias : call_.y, storage_);
    const Extents& extents = call_.y.extents;
    forEach({extents[0], extents[1], extents[2]}, [&](const Extents& row) {
      const std::vector<double> weights = weightsOf(row, q, k, bias);
      for (int64_t e = 0; e < extents[3]; ++e) {
        double sum = 0;
        for (size_t j = 0; j < weights.size(); ++j)
          sum += weights[j] * v.at({row[0], headOf(call_.v, row), static_cast<int64_t>(j), e});
        y.at({row[0], row[1], row[2], e}) = static_cast<float>(sum);
      }
    });
    y.store();
  }

 private:
  /// Which head is for this one of q's.
  int64_t headOf(const TensorForm& form, const Extents& row) const {
    return row[1] / (call_.q.extents[1] / form.extents[1]);
  }

  /// The row of the Softmax for a query, given as batch, head, position.
  std::vector<double> weightsOf(const Extents& row, Numbers& q, Numbers& k, Numbers& bias) const {
    std::vector<double> weights;
    const int64_t keys = call_.k.extents[2], seen = call_.causal ? std::min(keys, row[2] + 1) : keys;
    for (int64_t j = 0; j < seen; ++j) {
      double score = 0;
      for (int64_t d = 0; d < call_.q.extents[3]; ++d)
        score += double{q.at({row[0], row[1], row[2], d})} * k.at({row[0], headOf(call_.k, row), j, d});
      score *= call_.scale;
      if (call_.bias) score += bias.at({call_.bias->extents[0] == 1 ? 0 : row[0], headOf(*call_.bias, row), row[2], j});
      weights.push_back(score);
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (double& w : weights)
      sum += w = std::exp(w - largest);
    for (double& w : weights)
      w /= sum;
    return weights;
  }

  AttentionCall call_;
  Storage storage_;
};

class HostPool final : public Call {
 public:
  HostPool(PoolCall call, Storage storage) : call_(std::move(call)), storage_(storage) {}
  std::string name() const override { return "host pool"; }

  void run(std::span<const Address> pointers, Address) override {
    Numbers y(pointers[0], call_.y, storage_), x(pointers[1], call_.x, storage_);
    forEach(call_.y.extents, [&](const Extents& v) { y.at(v) = static_cast<float>(of(v, x)); });
    y.store();
  }

 private:
  double of(const Extents& v, Numbers& x) const {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    int64_t count = 0;
    Extents from = v;
    forEach(call_.kernel, [&](const Extents& tap) {
      bool isThere = true, isCounted = true;
      for (size_t d = 0; d < tap.size(); ++d) {
        const int64_t extent = call_.x.extents[2 + d];
        const int64_t at = from[2 + d] = v[2 + d] * call_.strides[d] + tap[d] * call_.dilations[d] - call_.before[d];
        isThere = isThere && at >= 0 && at < extent;
        isCounted = isCounted && at < extent + call_.after[d];
      }
      if (isThere) {
        largest = std::max(largest, double{x.at(from)});
        sum += x.at(from);
      }
      count += call_.countsPads ? isCounted : isThere;
    });
    return call_.isMax ? largest : sum / static_cast<double>(count);
  }

  PoolCall call_;
  Storage storage_;
};

class HostNorm final : public Call {
 public:
  HostNorm(NormCall call, Storage storage) : call_(std::move(call)), storage_(storage) {}
  std::string name() const override { return "host norm"; }

  void run(std::span<const Address> pointers, Address) override {
    if (pointers[0] == pointers[1]) throw std::logic_error("a normalisation over what a library still reads");
    const TensorForm channels{{call_.x.extents[1]}, {1}};
    Numbers y(pointers[0], call_.y, storage_), x(pointers[1], call_.x, storage_),
        scale(pointers[2], channels, storage_), shift(call_.shift ? pointers[3] : nullptr, channels, storage_);
    Extents rows = call_.x.extents, row(rows.size(), 1);
    for (size_t d : call_.rowDimensions())
      std::swap(rows[d], row[d]);
    forEach(rows, [&](const Extents& r) {
      auto forRow = [&](auto body) {
        forEach(row, [&](Extents v) {
          for (size_t d = 0; d < v.size(); ++d)
            v[d] += r[d];
          body(v);
        });
      };
      const auto count = static_cast<double>(elementCount(row));
      double mean = 0, variance = 0;
      if (call_.kind != NormCall::Kind::kRms) forRow([&](const Extents& v) { mean += x.at(v) / count; });
      forRow([&](const Extents& v) { variance += (x.at(v) - mean) * (x.at(v) - mean) / count; });
      forRow([&](const Extents& v) {
        const double normalised = (x.at(v) - mean) / std::sqrt(variance + call_.epsilon);
        y.at(v) = static_cast<float>(normalised * scale.at({v[1]}) + (call_.shift ? shift.at({v[1]}) : 0));
      });
    });
    y.store();
  }

 private:
  NormCall call_;
  Storage storage_;
};

bool isChannelsLast(const TensorForm& form) {
  return isInOrder(form, plan::channelsLastOrder(form.extents.size()));
}

}  // namespace

Expected<std::unique_ptr<Call>> hostConv(const ConvCall& call, Storage storage) {
  if (!isTaken(call.activation)) return fail(ErrorKind::kUnsupported, "a function that the host's Conv has not");
  std::vector<const TensorForm*> forms{&call.x, &call.w, &call.y};
  if (call.added) forms.push_back(&*call.added);
  if (!isInOneOrder(forms)) throw std::logic_error("a convolution whose order of dimensions cuDNN would misread");
  return std::make_unique<HostConv>(call, storage);
}

Expected<std::unique_ptr<Call>> hostProduct(const ProductCall& call, Storage storage) {
  if (!isTaken(call.activation)) return fail(ErrorKind::kUnsupported, "a function that the host's product has not");
  return std::make_unique<HostProduct>(call, storage);
}

Expected<std::unique_ptr<Call>> hostAttention(const AttentionCall& call, Storage storage) {
  for (const TensorForm& form : {call.q, call.k, call.v, call.y, call.bias.value_or(call.y)}) {
    if (!isInRows(form, 16 / bytesOf(storage))) return fail(ErrorKind::kUnsupported, "rows that begin on no border");
  }
  return std::make_unique<HostAttention>(call, storage);
}

Expected<std::unique_ptr<Call>> hostPool(const PoolCall& call, Storage storage) {
  if (!isChannelsLast(call.x) || !isChannelsLast(call.y))
    return fail(ErrorKind::kUnsupported, "channels that lie apart");
  return std::make_unique<HostPool>(call, storage);
}

Expected<std::unique_ptr<Call>> hostNorm(const NormCall& call, Storage storage) {
  if (!isChannelsLast(call.x) || !isChannelsLast(call.y))
    return fail(ErrorKind::kUnsupported, "channels that lie apart");
  return std::make_unique<HostNorm>(call, storage);
}

}  // namespace pet::cuda
