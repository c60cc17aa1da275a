#include "runtime/cuda/streams.h"

#include <algorithm>

#include "runtime/cuda/order.h"

namespace pet::cuda {
namespace {

/// Per stream, the last step that is done; -1: none.
using Clock = std::vector<int>;

void join(Clock& clock, const Clock& other) {
  for (size_t k = 0; k < clock.size(); ++k)
    clock[k] = std::max(clock[k], other[k]);
}

class Forking {
 public:
  Forking(const Planner& planner, std::vector<std::vector<int>> before)
      : p_(planner),
        before_(std::move(before)),
        count_(before_.size()),
        streams_(static_cast<size_t>(planner.device().streams())),
        heirs_(count_, -1),
        tails_(streams_, -1),
        known_(count_),
        done_(count_) {
    findHeirs();
  }

  Streams run() {
    result_.turns.resize(count_);
    for (size_t s = 0; s < count_; ++s)
      queue(s);
    for (size_t k = 1; k < streams_; ++k)
      endStream(k);
    for (size_t s = 0; s < count_; ++s)
      result_.during.push_back(during(s));
    return std::move(result_);
  }

 private:
  int64_t resultsOf(size_t s) const { return static_cast<const CallStep&>(*p_.steps[s]).elementsWritten(); }
  bool isSmall(size_t s) const { return resultsOf(s) < p_.device().threads(); }

  /// Of each step, and of the start, the step that needs it and is the farthest from the end: what does not fill the
  /// device takes as long as what just does.
  void findHeirs() {
    std::vector<double> way(count_, 0), farthest(count_, 0);  // from a step's beginning, and from its end
    double farthestOfAll = 0;
    for (size_t s = count_; s-- > 0;) {
      const double full = static_cast<double>(resultsOf(s)) / static_cast<double>(p_.device().threads());
      way[s] = farthest[s] + std::max(1.0, full);
      auto inherit = [&](int& heir, double& far) {
        if (way[s] < far) return;
        far = way[s];
        heir = static_cast<int>(s);
      };
      for (int d : before_[s])
        inherit(heirs_[static_cast<size_t>(d)], farthest[static_cast<size_t>(d)]);
      if (before_[s].empty()) inherit(first_, farthestOfAll);
    }
  }

  void queue(size_t s) {
    Clock needed(streams_, -1);
    for (int d : before_[s])
      join(needed, done_[static_cast<size_t>(d)]);
    const size_t stream = streamOf(s, needed);
    Streams::Turn& turn = result_.turns[s];
    turn.stream = static_cast<int>(stream);
    Clock& known = known_[s] = tails_[stream] < 0 ? Clock(streams_, -1) : done_[static_cast<size_t>(tails_[stream])];
    for (auto d = before_[s].rbegin(); d != before_[s].rend(); ++d) {
      Streams::Turn& other = result_.turns[static_cast<size_t>(*d)];
      if (known[static_cast<size_t>(other.stream)] >= *d) continue;
      turn.awaited.push_back(*d);
      other.isAwaited = true;
      join(known, done_[static_cast<size_t>(*d)]);
    }
    done_[s] = known;
    done_[s][stream] = tails_[stream] = static_cast<int>(s);
  }

  /// `needed`: what is done once all is that the step needs.
  size_t streamOf(size_t s, const Clock& needed) const {
    const auto& before = before_[s];
    if (!isSmall(s) || (before.empty() && first_ == static_cast<int>(s))) return 0;
    size_t inherited = streams_;
    for (int d : before) {
      if (heirs_[static_cast<size_t>(d)] == static_cast<int>(s)) inherited = std::min(inherited, streamAt(d));
    }
    if (inherited < streams_) return inherited;
    for (size_t k = 1; k < streams_; ++k) {
      if (tails_[k] <= needed[k]) return k;
    }
    return before.empty() ? 0 : streamAt(before.back());
  }
  size_t streamAt(int s) const { return static_cast<size_t>(result_.turns[static_cast<size_t>(s)].stream); }

  void endStream(size_t k) {
    const int tail = tails_[k];
    if (tail < 0 || done_[static_cast<size_t>(tails_[0])][k] >= tail) return;  // stream 0 has the first step of all
    result_.turns[static_cast<size_t>(tail)].isAwaited = true;
    result_.atEnd.push_back(tail);
  }

  /// In the order of stream 0: from behind the last step that was awaited up to the first one that waits.
  During during(size_t s) const {
    const int at = static_cast<int>(s);
    const size_t stream = streamAt(at);
    if (stream == 0) return {at, at};
    for (size_t later = s + 1; later < count_; ++later) {
      if (streamAt(static_cast<int>(later)) == 0 && known_[later][stream] >= at)
        return {known_[s][0] + 1, static_cast<int>(later)};
    }
    return {known_[s][0] + 1, static_cast<int>(count_) - 1};
  }

  const Planner& p_;
  std::vector<std::vector<int>> before_;
  size_t count_, streams_;
  std::vector<int> heirs_;           ///< per step; -1: none
  int first_ = -1;                   ///< the start's heir
  std::vector<int> tails_;           ///< per stream, its last step until now; -1: none
  std::vector<Clock> known_, done_;  ///< per step, what is done before it and once it is
  Streams result_;
};

}  // namespace

bool Streams::fork() const {
  return std::any_of(turns.begin(), turns.end(), [](const Turn& t) { return t.stream > 0; });
}

Streams inTurn(const Planner& planner) {
  Streams streams;
  streams.turns.resize(planner.steps.size());
  return streams;
}

Streams sideBySide(const Planner& planner) {
  auto before = planner.device().streams() > 1 ? dependencies(planner) : std::nullopt;
  return before ? Forking(planner, std::move(*before)).run() : inTurn(planner);
}

void runOn(Device& device, const Planner& planner, const Streams& streams) {
  const int start = static_cast<int>(planner.steps.size());
  std::vector<bool> isBegun(static_cast<size_t>(device.streams()));
  isBegun[0] = true;
  if (streams.fork()) device.mark(start);
  for (size_t s = 0; s < planner.steps.size(); ++s) {
    const Streams::Turn& turn = streams.turns[s];
    const auto stream = static_cast<size_t>(turn.stream);
    device.use(turn.stream);
    if (!isBegun[stream] && turn.awaited.empty()) device.await(start);
    isBegun[stream] = true;
    for (int step : turn.awaited)
      device.await(step);
    planner.steps[s]->run();
    if (turn.isAwaited) device.mark(static_cast<int>(s));
  }
  device.use(0);
  for (int step : streams.atEnd)
    device.await(step);
}

}  // namespace pet::cuda
