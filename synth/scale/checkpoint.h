#pragma once

#include <memory>
#include <string>
#include <vector>

#include "synth/scale/outcomes.h"

namespace pet {

/// A file to which every outcome goes as soon as it is there, one write each: whenever the process ends, and however,
/// what was written stays and is not done again. One process at a time has it open.
class Checkpoint {
 public:
  /// A new one. kUsage: the file exists, cannot be written.
  static Expected<Checkpoint> create(const std::string& path, const SearchId& id, const Shard& shard);
  /// Goes on with one; where there is no such file, nothing has been done yet, and it is made. kUsage: of another
  /// search or shard, in use, cannot be written; kPack: damaged.
  static Expected<Checkpoint> resume(const std::string& path, const SearchId& id, const Shard& shard);

  Checkpoint(Checkpoint&&) noexcept = default;
  Checkpoint& operator=(Checkpoint&&) noexcept = default;

  /// What was there when it was opened; once.
  std::vector<UnitOutcome> takeDone() { return std::move(done_); }
  Expected<void> add(const UnitOutcome& outcome);

 private:
  struct File;
  Checkpoint(std::string path, std::shared_ptr<File> file) : path_(std::move(path)), file_(std::move(file)) {}
  static Expected<Checkpoint> open(const std::string& path);

  std::string path_;
  std::shared_ptr<File> file_;
  std::vector<UnitOutcome> done_;
};

}  // namespace pet
