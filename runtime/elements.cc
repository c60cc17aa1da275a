#include "runtime/elements.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/difference.h"

namespace pet {
namespace {

using Verdict = Comparison::Verdict;

/// One output of both programs.
template <class T>
class OutputElements {
 public:
  OutputElements(
      const std::string& name, size_t output, const Bounded<T>& original, const Bounded<T>& rewritten, bool spreadsNan)
      : name_(name),
        output_(output),
        original_(original),
        rewritten_(rewritten),
        excused_(spreadsNan && original.undefined) {}

  /// Adds to `into`; false at a difference.
  bool compare(std::string_view precision, Elements& into) {
    const Tensor<T>&original = *original_.values[output_], &rewritten = *rewritten_.values[output_];
    if (auto extents = differentExtents(original, rewritten)) return fails(into, name_ + ": " + *extents);
    size_t compared = 0;
    for (size_t i = 0; i < original.data.size(); ++i) {
      double was = static_cast<double>(original.data[i]), is = static_cast<double>(rewritten.data[i]);
      double own = original_.error(output_, i), other = rewritten_.error(output_, i);
      if (!std::isfinite(was) || !std::isfinite(own)) {
        skip(original, i, std::isfinite(was) ? "no finite bound" : fmt::format("{} in the original", was));
        continue;
      }
      ++into.bounded;
      if ((std::isnan(other) && !excused_) || (!std::isfinite(is) && std::isfinite(other))) {
        return fails(into, fmt::format("{} is {}, the original's {:.9g} ({})", at(original, i), is, was, precision));
      }
      if (!std::isfinite(is) || !std::isfinite(other)) {
        skip(original, i, "no finite bound in the replacement");
        ++into.lost;
        continue;
      }
      double allowed = own + other, difference = std::abs(is - was);
      if (!(difference <= allowed)) {
        into.comparison.worst = allowed > 0 ? difference / allowed : std::numeric_limits<double>::infinity();
        return fails(into,
                     fmt::format("{} is {:.9g}, the original's {:.9g}: off by {:.3g}, {:.3g} can be rounding ({})",
                                 at(original, i), is, was, difference, allowed, precision));
      }
      ++compared;
      if (difference > 0) into.comparison.worst = std::max(into.comparison.worst, difference / allowed);
    }
    if (4 * compared < original.data.size() && into.comparison.holds()) {
      into.comparison.verdict = Verdict::kNotPossible;
      into.comparison.reason =
          fmt::format("{} of {} elements can be compared: {}", compared, original.data.size(), why_);
    }
    return true;
  }

 private:
  std::string at(const Tensor<T>& tensor, size_t i) const { return name_ + position(tensor.extents, i); }
  void skip(const Tensor<T>& tensor, size_t i, const std::string& why) {
    if (why_.empty()) why_ = at(tensor, i) + ": " + why;
  }
  static bool fails(Elements& into, std::string reason) {
    into.comparison.verdict = Verdict::kFails;
    into.comparison.reason = std::move(reason);
    return false;
  }

  const std::string& name_;
  size_t output_;
  const Bounded<T>&original_, &rewritten_;
  bool excused_;  ///< what has no value in the replacement
  std::string why_;
};

}  // namespace

template <class T>
Elements compareElements(const Program& pattern,
                         const Program& replacement,
                         const Bindings& symbols,
                         const InputSource<T>& inputs,
                         std::string_view precision,
                         bool spreadsNan) {
  Elements result;
  auto original = executeBounded<T>(pattern, symbols, inputs);
  if (!original) return {notPossible(original.error())};
  auto rewritten = executeBounded<T>(replacement, symbols, inputs);
  if (!rewritten) return {failureOfReplacement(rewritten.error())};
  if (original->values.size() != rewritten->values.size()) {
    return {{Verdict::kFails, "the numbers of outputs differ", "", 0}};
  }
  result.comparison.scope = precision;
  for (size_t o = 0; o < original->values.size(); ++o) {
    const std::string& name = pattern.name(pattern.outputs()[o]);
    if (!OutputElements<T>(name, o, *original, *rewritten, spreadsNan).compare(precision, result)) break;
  }
  return result;
}

#define PET_INSTANTIATE(T)                                                                                     \
  template Elements compareElements<T>(const Program&, const Program&, const Bindings&, const InputSource<T>&, \
                                       std::string_view, bool)
PET_INSTANTIATE(float);
PET_INSTANTIATE(double);
#undef PET_INSTANTIATE

}  // namespace pet
