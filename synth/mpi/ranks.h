#pragma once

#include <memory>
#include <string>

#include "synth/search/search.h"

namespace pet {

/// The processes ("ranks") that mpirun has started. Rank 0 hands out units, a few at a time and to whoever is ready for
/// more, and gets every outcome as soon as it is there; the others compute.
class Ranks {
 public:
  Ranks(int argc, char** argv);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  bool first() const;
  size_t count() const;

  /// On rank 0: the UnitRunner that uses the other ranks. Errors: the sink's; a rank that could not go on, or is of
  /// another search; kInternal when mpirun ends the run, as it does when a rank has died.
  Expected<void> run(const Search& search,
                     const std::vector<size_t>& units,
                     const RunOptions& options,
                     const Sink& sink);

  /// On the others: runs what rank 0 hands out, until it has nothing more. std::bad_alloc is an error here.
  Expected<void> serve(const Search& search, const RunOptions& options);

  /// The last call, on every rank: rank 0 sends the others home, these say with which error, if any, they go.
  void finish(const std::string& error = "");

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pet
