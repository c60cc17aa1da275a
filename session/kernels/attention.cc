// Attention with a mask, a cache of keys and values, or fewer heads of keys than of queries, which no program has. In
// double.

#include <algorithm>
#include <cmath>
#include <limits>

#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// [batch, heads, steps, width], row-major.
struct Heads {
  int64_t batch = 0, heads = 0, steps = 0, width = 0;
  std::vector<double> numbers;

  const double* row(int64_t b, int64_t h, int64_t s) const {
    return numbers.data() + ((b * heads + h) * steps + s) * width;
  }
  Extents extents() const { return {batch, heads, steps, width}; }
};

/// Of rank 4 as it is, of rank 3 from [batch, steps, heads · width].
Heads headsOf(const NodeCall& call, size_t operand, const char* countedBy) {
  const Constant& x = call.operand(operand);
  std::vector<double> numbers = doublesOf(x);
  const Extents& e = x.extents;
  if (e.size() == 4) return {e[0], e[1], e[2], e[3], std::move(numbers)};
  const int64_t heads = call.integer(countedBy, 0);
  if (e.size() != 3 || heads < 1 || e[2] % heads != 0)
    throw BadNode{fmt::format("{} does not divide its width", countedBy)};
  Heads result{e[0], heads, e[1], e[2] / heads, std::vector<double>(numbers.size())};
  for (int64_t b = 0; b < e[0]; ++b) {
    for (int64_t s = 0; s < e[1]; ++s) {
      for (int64_t h = 0; h < heads; ++h) {
        const double* from = numbers.data() + (b * e[1] + s) * e[2] + h * result.width;
        std::copy_n(from, result.width, result.numbers.data() + ((b * heads + h) * e[1] + s) * result.width);
      }
    }
  }
  return result;
}

/// `now` behind what was before.
Heads behind(const NodeCall& call, size_t operand, Heads now) {
  if (!call.has(operand)) return now;
  const Heads past = headsOf(call, operand, "kv_num_heads");
  if (past.batch != now.batch || past.heads != now.heads || past.width != now.width)
    throw BadNode{"a cache of other extents"};
  Heads all{now.batch, now.heads, past.steps + now.steps, now.width, {}};
  for (int64_t b = 0; b < now.batch; ++b) {
    for (int64_t h = 0; h < now.heads; ++h) {
      all.numbers.insert(all.numbers.end(), past.row(b, h, 0), past.row(b, h, 0) + past.steps * past.width);
      all.numbers.insert(all.numbers.end(), now.row(b, h, 0), now.row(b, h, 0) + now.steps * now.width);
    }
  }
  return all;
}

/// What is added to the scores, [batch, heads, steps, keys] as broadcast; keys that it does not reach are hidden.
class Mask {
 public:
  Mask(const NodeCall& call, const Extents& scores) : scores_(scores) {
    if (!call.has(3)) return;
    const Constant& mask = call.operand(3);
    numbers_ = doublesOf(mask);
    if (!isComputed(mask.element)) {
      for (double& x : numbers_)
        x = x != 0 ? 0 : kHidden;
    }
    if (mask.extents.empty()) throw BadNode{"a mask without dimensions"};
    reach_ = mask.extents.back() == 1 ? scores[3] : mask.extents.back();
    Extents over = scores;
    over[3] = std::min(reach_, scores[3]);
    if (mask.extents.back() > scores[3]) throw BadNode{"a mask of more keys than there are"};
    strides_ = broadcastStrides(mask.extents, over);
  }
  double operator()(int64_t b, int64_t h, int64_t s, int64_t key) const {
    if (numbers_.empty()) return 0;
    if (key >= reach_) return kHidden;
    return numbers_[static_cast<size_t>(b * strides_[0] + h * strides_[1] + s * strides_[2] + key * strides_[3])];
  }

 private:
  Extents scores_;
  std::vector<double> numbers_;
  std::vector<int64_t> strides_;
  int64_t reach_ = 0;
};

/// exp(x) / Σ exp(x); 0 everywhere where all is hidden.
void softmax(std::vector<double>& row) {
  const double most = row.empty() ? kHidden : *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& x : row) {
    x = most == kHidden ? 0 : std::exp(x - most);
    sum += x;
  }
  for (double& x : row)
    x = sum == 0 ? 0 : x / sum;
}

Constant inTypeOf(const Constant& like, const Extents& extents, std::vector<double> numbers) {
  const Tensor<double> y(extents, std::move(numbers));
  return like.element == ElementType::kDouble ? Constant::of(y) : Constant::rounded(ElementType::kFloat, y);
}

/// As the operand was: [batch, steps, heads · width] of rank 3.
Constant joined(const Constant& like, const Heads& y) {
  if (like.extents.size() == 4) return inTypeOf(like, y.extents(), y.numbers);
  std::vector<double> flat;
  for (int64_t b = 0; b < y.batch; ++b) {
    for (int64_t s = 0; s < y.steps; ++s) {
      for (int64_t h = 0; h < y.heads; ++h)
        flat.insert(flat.end(), y.row(b, h, s), y.row(b, h, s) + y.width);
    }
  }
  return inTypeOf(like, {y.batch, y.steps, y.heads * y.width}, std::move(flat));
}

class AttentionOf {
 public:
  explicit AttentionOf(const NodeCall& call)
      : call_(call),
        q_(headsOf(call, 0, "q_num_heads")),
        now_(headsOf(call, 1, "kv_num_heads")),
        k_(behind(call, 4, now_)),
        v_(behind(call, 5, headsOf(call, 2, "kv_num_heads"))),
        past_(k_.steps - now_.steps),
        mask_(call, {q_.batch, q_.heads, q_.steps, k_.steps}) {
    for (const char* name : {"left_window_size", "right_window_size"}) {
      if (call.integer(name, -1) >= 0) throw BadNode{"a window is not computed"};
    }
    if (call.has(6)) lengths_ = integersOf(call.operand(6));
    const bool fits = k_.batch == q_.batch && v_.batch == q_.batch && k_.width == q_.width && v_.steps == k_.steps &&
                      v_.heads == k_.heads && k_.heads > 0 && q_.heads % k_.heads == 0;
    if (!fits || (call.has(6) && std::ssize(lengths_) != q_.batch))
      throw BadNode{"operands of extents that do not fit"};
    mode_ = call.integer("qk_matmul_output_mode", 0);
    cap_ = call.number("softcap", 0);
    if (call.wants(3) && mode_ != 0 && mode_ != 3 && cap_ != 0)
      throw BadNode{"scores between cap and mask are not computed"};
  }

  std::vector<Constant> run() {
    const Constant& like = call_.operand(0);
    Heads y{q_.batch, q_.heads, q_.steps, v_.width, {}};
    y.numbers.assign(static_cast<size_t>(elementCount(y.extents())), 0);
    std::vector<double> asked;
    for (int64_t b = 0; b < q_.batch; ++b) {
      for (int64_t h = 0; h < q_.heads; ++h) {
        for (int64_t s = 0; s < q_.steps; ++s)
          attend(b, h, s, y.numbers.data() + ((b * y.heads + h) * y.steps + s) * y.width, asked);
      }
    }
    std::vector<Constant> results{joined(like, y), inTypeOf(like, k_.extents(), k_.numbers),
                                  inTypeOf(like, v_.extents(), v_.numbers)};
    if (call_.wants(3)) results.push_back(inTypeOf(like, {q_.batch, q_.heads, q_.steps, k_.steps}, std::move(asked)));
    return results;
  }

 private:
  bool isHidden(int64_t b, int64_t s, int64_t key) const {
    if (!lengths_.empty() && key >= lengths_[static_cast<size_t>(b)]) return true;
    const int64_t before = lengths_.empty() ? past_ : lengths_[static_cast<size_t>(b)] - q_.steps;
    return call_.integer("is_causal", 0) != 0 && key > s + before;
  }

  /// One query.
  void attend(int64_t b, int64_t h, int64_t s, double* y, std::vector<double>& asked) const {
    const int64_t own = h / (q_.heads / k_.heads);
    const double scale = call_.number("scale", 1 / std::sqrt(static_cast<double>(q_.width)));
    const double* q = q_.row(b, h, s);
    std::vector<double> scores(static_cast<size_t>(k_.steps)), raw;
    for (int64_t t = 0; t < k_.steps; ++t) {
      const double* k = k_.row(b, own, t);
      double sum = 0;
      for (int64_t i = 0; i < q_.width; ++i)
        sum += q[i] * k[i];
      scores[static_cast<size_t>(t)] = sum * scale;
    }
    if (mode_ == 0) raw = scores;
    for (int64_t t = 0; t < k_.steps; ++t) {
      double& score = scores[static_cast<size_t>(t)];
      if (cap_ != 0) score = cap_ * std::tanh(score / cap_);
      score = isHidden(b, s, t) ? kHidden : score + mask_(b, h, s, t);
    }
    if (mode_ == 1 || mode_ == 2) raw = scores;
    softmax(scores);
    if (mode_ == 3) raw = scores;
    if (call_.wants(3)) asked.insert(asked.end(), raw.begin(), raw.end());
    for (int64_t t = 0; t < k_.steps; ++t) {
      const double* v = v_.row(b, own, t);
      for (int64_t i = 0; i < v_.width; ++i)
        y[i] += scores[static_cast<size_t>(t)] == 0 ? 0 : scores[static_cast<size_t>(t)] * v[i];
    }
  }

  const NodeCall& call_;
  Heads q_, now_, k_, v_;
  int64_t past_;
  Mask mask_;
  std::vector<int64_t> lengths_;
  int64_t mode_ = 0;
  double cap_ = 0;
};

/// A mask's truth values keep their type: it is not widened.
std::vector<Constant> runAttention(const NodeCall& call) {
  auto results = AttentionOf(call).run();
  for (Constant& c : results)
    c = c.element == ElementType::kFloat ? narrowedTo(call.operand(0).element, c) : c;
  return results;
}

const KernelRow kAttentionKernels[] = {
    {"Attention", runAttention, false},
};

}  // namespace

std::span<const KernelRow> attentionKernels() {
  return kAttentionKernels;
}

}  // namespace pet::session
