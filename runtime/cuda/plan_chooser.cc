#include "runtime/cuda/plan_chooser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/cuda/held.h"
#include "runtime/cuda/stored.h"

namespace pet::cuda {
namespace {

constexpr int64_t kBlock = 1 << 18;          ///< numbers that operands are made of, again and again
constexpr int kRuns = 5;                     ///< of a plan, after one that is not counted
constexpr double kHopeless = 1.5;            ///< times the best plan's time: another run will not change that
constexpr int64_t kParts = 16, kPart = 512;  ///< of a result that plans are compared by, and how many numbers in each

/// How far plans of a call may be apart, of the largest number: their sums have other orders.
double agreement(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return 1e-3;
    case Precision::kTf32:
      return 1e-2;
    case Precision::kFp16:
      return 2e-2;
    case Precision::kBf16:
      return 1e-1;
  }
  return 0;
}

/// What nothing was written to stays NaN.
bool agree(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return false;
    if (std::isnan(a[i])) continue;
    largest = std::max(largest, std::abs(double{a[i]}));
    difference = std::max(difference, std::abs(double{a[i]} - b[i]));
  }
  return difference <= tolerance * largest;
}

/// Operands of a call, to time it on.
class Trial {
 public:
  /// Throws Failure: there is no memory.
  Trial(Device& device, const Plans& plans) : device_(device) {
    const std::vector<int64_t> elements = plans.elements();
    results_ = elements[0];
    const int64_t elementBytes = bytesOf(storageOf(device.precision()));
    std::vector<float> numbers(kBlock);
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(static_cast<int>(i * 7919 % 251) - 125) / 125;
    for (int64_t count : elements) {
      held_.push_back(std::make_unique<Held>(device, count * elementBytes));
      pointers_.push_back(held_.back()->get());
      for (int64_t begin = 0; begin < count; begin += kBlock) {
        const std::span<const float> block(numbers.data(), static_cast<size_t>(std::min(kBlock, count - begin)));
        store(device, block, pointers_.back() + begin * elementBytes);
      }
    }
    if (const auto given = plans.given()) store(device, given->numbers, pointers_[given->pointer]);
  }

  /// Of one run; runs no more where `toBeat` shows that it is pointless. Throws Failure: there is no memory for the
  /// workspace.
  double seconds(Call& call, std::optional<double> toBeat) {
    const Held workspace(device_, call.workspaceBytes());
    forget();
    device_.seconds(call, pointers_, workspace.get());  // libraries load what they need
    double best = device_.seconds(call, pointers_, workspace.get());
    for (int run = 1; run < kRuns && !(toBeat && best > kHopeless * *toBeat); ++run)
      best = std::min(best, device_.seconds(call, pointers_, workspace.get()));
    return best;
  }

  /// Parts of what the last call left.
  std::vector<float> results() {
    std::vector<float> numbers;
    forParts([&](Address part, int64_t count) {
      std::vector<float> some(static_cast<size_t>(count));
      fetch(device_, some, part);
      numbers.insert(numbers.end(), some.begin(), some.end());
    });
    return numbers;
  }

 private:
  /// What an earlier call left there.
  void forget() {
    const std::vector<float> nothing(kPart, std::numeric_limits<float>::quiet_NaN());
    forParts([&](Address part, int64_t count) { store(device_, {nothing.data(), static_cast<size_t>(count)}, part); });
  }

  /// Apart from each other, from the first to the last number.
  template <class Visit>
  void forParts(Visit visit) {
    const int64_t elementBytes = bytesOf(storageOf(device_.precision()));
    const int64_t parts = std::clamp<int64_t>(results_ / kPart, 1, kParts), count = std::min(results_, kPart);
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t begin = parts == 1 ? 0 : (results_ - count) * part / (parts - 1);
      visit(pointers_[0] + begin * elementBytes, count);
    }
  }

  Device& device_;
  int64_t results_ = 0;  ///< how many numbers
  std::vector<std::unique_ptr<Held>> held_;
  std::vector<Address> pointers_;
};

double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The name, the seconds, then the plan as the library writes it.
std::string textOf(const Call& call, std::optional<double> seconds, const std::string& kept) {
  return fmt::format("{}\n{}\n{}", call.name(), seconds ? fmt::format("{}", *seconds) : "not timed", kept);
}

struct KeptPlan {
  std::optional<double> seconds;
  std::string kept;
};

std::optional<KeptPlan> planIn(const std::string& text) {
  const size_t name = text.find('\n'), seconds = name == std::string::npos ? name : text.find('\n', name + 1);
  if (seconds == std::string::npos) return std::nullopt;
  KeptPlan plan{std::nullopt, text.substr(seconds + 1)};
  double number = 0;
  if (std::from_chars(&text[name + 1], &text[seconds], number).ec == std::errc()) plan.seconds = number;
  return plan;
}

}  // namespace

Expected<std::unique_ptr<Call>> PlanChooser::choose(Plans& plans) {
  const std::string key = device_.identity() + "\n" + plans.problem();
  const auto text = find(key);
  const auto plan = text ? planIn(*text) : std::nullopt;
  // Where plans are timed, one that was kept untimed does not do: what is chosen by times would never be tried.
  if (plan && (plan->seconds || device_.searchSeconds() == 0)) {
    if (auto call = plans.restore(plan->kept)) {
      ++counts_.restored;
      (*call)->timed = plan->seconds;
      return std::move(*call);
    }
  }
  const Clock::time_point begin = Clock::now();
  const auto count = plans.count();
  if (!count) return tl::unexpected(count.error());
  auto chosen = fastest(plans, *count, begin);
  if (!chosen) return tl::unexpected(chosen.error());
  ++counts_.chosen;
  counts_.seconds += secondsSince(begin);
  const std::string kept = chosen->keeps ? chosen->call->kept() : "";
  if (!kept.empty()) put(key, textOf(*chosen->call, chosen->seconds, kept));
  chosen->call->timed = chosen->seconds;
  return std::move(chosen->call);
}

namespace {

struct Timed {
  std::unique_ptr<Call> call;
  double seconds = 0;
  std::vector<float> results;
};

/// The fastest of those with which most agree; where no more than half do, the first of those with which the most do:
/// what the library expects most of.
size_t fastestThatAgrees(const std::vector<Timed>& plans, double tolerance) {
  std::vector<size_t> agreeing(plans.size(), 1);
  for (size_t i = 0; i < plans.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (!agree(plans[k].results, plans[i].results, tolerance)) continue;
      ++agreeing[i];
      ++agreeing[k];
    }
  }
  std::optional<size_t> best;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (2 * agreeing[i] > plans.size() && (!best || plans[i].seconds < plans[*best].seconds)) best = i;
  }
  return best ? *best : static_cast<size_t>(std::max_element(agreeing.begin(), agreeing.end()) - agreeing.begin());
}

}  // namespace

Expected<PlanChooser::Choice> PlanChooser::fastest(Plans& plans, size_t count, Clock::time_point begin) {
  constexpr size_t kLeast = 2;        // so that one speaks for the other
  constexpr double kCompiled = 0.25;  // of the time: the first ones are about as fast as those that would follow
  const double limit = device_.searchSeconds();
  std::vector<Timed> timed;
  std::unique_ptr<Call> untimed;
  std::optional<double> least;
  Error why{ErrorKind::kUnsupported, "no plan", "", ""};
  std::unique_ptr<Trial> trial;
  for (size_t i = 0; i < count; ++i) {
    const double most = plans.isCompiled(i) ? kCompiled * limit : limit;
    if (timed.size() >= kLeast && secondsSince(begin) > most) continue;
    auto call = plans.build(i);
    if (!call) {
      why = call.error();
      continue;
    }
    if (limit == 0) return Choice{std::move(*call), std::nullopt, true};
    try {
      if (!trial) trial = std::make_unique<Trial>(device_, plans);
      const double seconds = trial->seconds(**call, least);
      ++counts_.timed;
      least = std::min(seconds, least.value_or(seconds));
      timed.push_back({std::move(*call), seconds, trial->results()});
    } catch (const Failure& e) {  // no memory to time it; another time there may be
      why = e.error;
      if (!untimed) untimed = std::move(*call);
    } catch (const std::runtime_error& e) {
      why.what = e.what();  // a plan that does not run
    }
  }
  if (!timed.empty()) {
    Timed& best = timed[fastestThatAgrees(timed, agreement(device_.precision()))];
    return Choice{std::move(best.call), best.seconds, true};
  }
  if (untimed) return Choice{std::move(untimed), std::nullopt, false};
  return tl::unexpected(why);
}

std::optional<std::string> PlanChooser::find(const std::string& key) {
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  if (!store_) return std::nullopt;
  auto found = store_->find(key);
  if (!found) throw Failure{found.error()};
  if (*found) known_[key] = **found;
  return *found;
}

void PlanChooser::put(const std::string& key, const std::string& text) {
  known_[key] = text;
  if (!store_) return;
  if (auto ok = store_->put(key, text); !ok) throw Failure{ok.error()};
}

}  // namespace pet::cuda
