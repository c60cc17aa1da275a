#include "runtime/elements.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "ir/approximate.h"
#include "runtime/difference.h"

namespace pet {
namespace {

using Verdict = Comparison::Verdict;

/// A number for people; NaN has no sign.
std::string text(double x) {
  return std::isnan(x) ? "nan" : fmt::format("{:.9g}", x);
}

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
      Approximate was{static_cast<double>(original.data[i]), original_.error(output_, i)};
      Approximate is{static_cast<double>(rewritten.data[i]), rewritten_.error(output_, i)};
      if (auto difference = compareElement(was, is, into, compared)) {
        return fails(into, fmt::format("{}{} is {}, the original's {}{} ({})", name_, position(original.extents, i),
                                       text(is.value), text(was.value), *difference, precision));
      }
      if (open_ && why_.empty()) why_ = fmt::format("{}{}: {}", name_, position(original.extents, i), open_);
    }
    if (4 * compared < original.data.size() && into.comparison.holds()) {
      into.comparison.verdict = Verdict::kNotPossible;
      into.comparison.reason =
          fmt::format("{} of {} elements can be compared: {}", compared, original.data.size(), why_);
    }
    return true;
  }

 private:
  /// What is wrong with an element; nullopt where nothing is, or nothing is said: then `open_` has the reason.
  std::optional<std::string> compareElement(const Approximate& was,
                                            const Approximate& is,
                                            Elements& into,
                                            size_t& compared) {
    open_ = nullptr;
    if (!isBounded(was)) {
      open_ = std::isfinite(was.value) ? "no finite bound" : "not finite in the original";
      return std::nullopt;
    }
    ++into.bounded;
    if ((std::isnan(is.error) && !excused_) || (!std::isfinite(is.value) && std::isfinite(is.error))) return "";
    if (!isBounded(is)) {
      open_ = "no finite bound in the replacement";
      ++into.lost;
      return std::nullopt;
    }
    double allowed = was.error + is.error, difference = std::abs(is.value - was.value);
    if (difference > allowed) {
      into.comparison.worst = allowed > 0 ? difference / allowed : std::numeric_limits<double>::infinity();
      return fmt::format(": off by {:.3g}, {:.3g} can be rounding", difference, allowed);
    }
    ++compared;
    if (difference > 0) into.comparison.worst = std::max(into.comparison.worst, difference / allowed);
    return std::nullopt;
  }

  static bool fails(Elements& into, std::string reason) {
    into.comparison.verdict = Verdict::kFails;
    into.comparison.reason = std::move(reason);
    return false;
  }

  const std::string& name_;
  size_t output_;
  const Bounded<T>&original_, &rewritten_;
  bool excused_;                ///< what has no value in the replacement
  const char* open_ = nullptr;  ///< why the last element was not compared
  std::string why_;             ///< the first such reason
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

template Elements compareElements<float>(
    const Program&, const Program&, const Bindings&, const InputSource<float>&, std::string_view, bool);
template Elements compareElements<double>(
    const Program&, const Program&, const Bindings&, const InputSource<double>&, std::string_view, bool);

}  // namespace pet
