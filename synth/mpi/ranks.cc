#include "synth/mpi/ranks.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <set>

#include <fmt/format.h>
#include <mpi.h>

#include "synth/mpi/messages.h"
#include "synth/scale/outcomes.h"

namespace pet {
namespace {

using mpi::Tag;

/// mpirun's way to say that a rank has died: it ends the others. A signal handler can speak to nobody else.
volatile int ended = 0;

/// Of how many units a message is at most, per thread of a rank: few, so that a budget is kept and the last units are
/// shared out; more than one, so that messages do not count.
constexpr size_t kMostUnits = 8;

/// The units of one run, while rank 0 hands them out.
class Handout {
 public:
  Handout(const std::vector<size_t>& units, size_t workers, const RunOptions& options)
      : units_(units), workers_(workers), options_(options) {}

  /// What the next rank is to do: none when all is handed out, or it is time to stop.
  std::vector<size_t> next() {
    if (options_.stop && options_.stop()) next_ = units_.size();
    size_t left = units_.size() - next_;
    size_t count = std::min({left, kMostUnits, left / (4 * workers_) + 1});
    auto begin = units_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ += count;
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }

 private:
  const std::vector<size_t>& units_;
  size_t workers_;
  const RunOptions& options_;
  size_t next_ = 0;
};

}  // namespace

struct Ranks::State {
  int rank = 0, size = 1;
  bool threads = false;  ///< whether threads may send, one at a time
  bool finished = false;
  std::set<int> left;  ///< ranks that have said goodbye
};

Ranks::Ranks(int argc, char** argv) : state_(std::make_unique<State>()) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &state_->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &state_->size);
  state_->threads = provided >= MPI_THREAD_SERIALIZED;
  if (first()) std::signal(SIGTERM, [](int) { ended = 1; });
}

Ranks::~Ranks() {
  if (!state_->finished) finish();
}

bool Ranks::first() const {
  return state_->rank == 0;
}

size_t Ranks::count() const {
  return static_cast<size_t>(state_->size);
}

Expected<void> Ranks::run(const Search& search,
                          const std::vector<size_t>& units,
                          const RunOptions& options,
                          const Sink& sink) {
  const std::string key = searchKey(identify(search));
  Handout handout(units, count() - 1, options);
  size_t waiting = count() - 1, computing = 0;  // ranks that have not asked yet, that have units
  std::vector<bool> asked(count(), false);
  while (waiting > 0 || computing > 0) {
    auto m = mpi::receive(ended);
    if (!m) return fail(ErrorKind::kInternal, "mpirun has ended the run: a rank has died, or it was told to");
    auto from = static_cast<size_t>(m->from);
    if (m->tag == Tag::kLeft) {
      state_->left.insert(m->from);
      return fail(ErrorKind::kInternal, fmt::format("rank {}: {}", m->from, m->text));
    }
    if (m->tag == Tag::kOutcome) {
      auto outcome = parseOutcome(m->text, fmt::format("rank {}", m->from));
      if (!outcome) return tl::unexpected(outcome.error());
      if (auto ok = sink(std::move(*outcome)); !ok) return ok;
      continue;
    }
    if (m->text != key) {
      return fail(ErrorKind::kUsage, "searches something else", fmt::format("rank {}", m->from),
                  "patterns and program must be the same on all machines");
    }
    --(asked[from] ? computing : waiting);
    asked[from] = true;
    auto next = handout.next();
    if (next.empty()) continue;  // finish() sends it home
    ++computing;
    mpi::send(m->from, Tag::kUnits, mpi::packUnits(next));
  }
  return {};
}

Expected<void> Ranks::serve(const Search& search, const RunOptions& options) {
  const std::string key = searchKey(identify(search));
  RunOptions here{.threads = state_->threads ? options.threads : 1};
  auto tell = [](const UnitOutcome& outcome) -> Expected<void> {
    mpi::send(0, Tag::kOutcome, print(outcome));
    return {};
  };
  try {
    for (;;) {
      mpi::send(0, Tag::kReady, key);
      auto m = mpi::receive(ended);
      auto units = m ? mpi::unpackUnits(m->text) : std::vector<size_t>();
      if (units.empty()) return {};
      if (auto ok = runHere(search, units, here, tell); !ok) return ok;
    }
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kInternal, "out of memory");
  }
}

void Ranks::finish(const std::string& error) {
  state_->finished = true;
  if (!first()) {
    mpi::send(0, Tag::kLeft, error);
  } else {
    if (ended) std::_Exit(EXIT_FAILURE);  // who has died says no goodbye
    for (int rank = 1; rank < state_->size; ++rank) {
      if (!state_->left.contains(rank)) mpi::send(rank, Tag::kUnits, "");
    }
    // What they have still sent must be received, or they would wait for that.
    while (state_->left.size() + 1 < count()) {
      auto m = mpi::receive(ended);
      if (!m) std::_Exit(EXIT_FAILURE);
      if (m->tag == Tag::kLeft) state_->left.insert(m->from);
    }
  }
  MPI_Finalize();
}

}  // namespace pet
