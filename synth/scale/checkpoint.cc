#include "synth/scale/checkpoint.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rules/pack/file.h"

namespace pet {
namespace {

tl::unexpected<Error> refused(const std::string& path, std::string what, std::string advice = "") {
  return fail(ErrorKind::kUsage, std::move(what), path, std::move(advice));
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

}  // namespace

struct Checkpoint::File {
  explicit File(int descriptor) : fd(descriptor) {}
  ~File() { ::close(fd); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd;
};

Expected<Checkpoint> Checkpoint::open(const std::string& path) {
  int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return refused(path, std::string("cannot write: ") + std::strerror(errno));
  Checkpoint checkpoint(path, std::make_shared<File>(fd));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return refused(path, "another process has this checkpoint open");
  return checkpoint;
}

Expected<Checkpoint> Checkpoint::create(const std::string& path, const SearchId& id, const Shard& shard) {
  if (exists(path)) {
    return refused(path, "exists already", "--resume goes on with it; else remove it, or name another");
  }
  // Renamed into its place: whoever finds a checkpoint finds its head.
  if (auto ok = writeFile(path, checkpointHead(id, shard)); !ok) return tl::unexpected(ok.error());
  return open(path);
}

Expected<Checkpoint> Checkpoint::resume(const std::string& path, const SearchId& id, const Shard& shard) {
  if (!exists(path)) return create(path, id, shard);
  auto checkpoint = open(path);
  if (!checkpoint) return checkpoint;
  auto bytes = readFile(path, ErrorKind::kPack);
  if (!bytes) return tl::unexpected(bytes.error());
  auto outcomes = readOutcomes(*bytes, path);
  if (!outcomes) return tl::unexpected(outcomes.error());
  std::string other = difference(outcomes->id, id);
  if (other.empty() && outcomes->ended) other = "the part that --shard wrote";
  if (other.empty() && outcomes->shard != shard) {
    other = fmt::format("part {}, not {}", outcomes->shard.str(), shard.str());
  }
  if (!other.empty()) return refused(path, "a checkpoint of another search: " + other, "name another, or none");
  // A line that a kill has cut off goes, so that the next one begins at the beginning of a line.
  if (::ftruncate(checkpoint->file_->fd, static_cast<off_t>(outcomes->size)) != 0)
    return refused(path, std::string("cannot write: ") + std::strerror(errno));
  checkpoint->done_ = std::move(outcomes->done);
  return checkpoint;
}

Expected<void> Checkpoint::add(const UnitOutcome& outcome) {
  std::string line = checkpointLine(outcome);
  for (std::string_view rest = line; !rest.empty();) {
    ssize_t n = ::write(file_->fd, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return refused(path_, std::string("cannot write: ") + std::strerror(errno),
                     "what is in it is whole; --resume goes on with it");
    }
    rest.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace pet
