// Kills the process at its Nth change of a file, a write in its midst: LD_PRELOAD=kill_at.so PET_KILL_AT=N. For
// external_data.py; with -DDATABASES, what SQLite calls counts as well, for gpu_plans_kept.py.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int isLast(void) {
  static atomic_long count;
  const char* at = getenv("PET_KILL_AT");
  return at && atomic_fetch_add(&count, 1) + 1 == atol(at);
}

static void end(void) {
  kill(getpid(), SIGKILL);
  pause();
}

ssize_t write(int fd, const void* bytes, size_t size) {
  if (isLast()) {
    NEXT(write)(fd, bytes, size / 2);
    end();
  }
  return NEXT(write)(fd, bytes, size);
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  if (isLast()) {
    NEXT(pwrite)(fd, bytes, size / 2, offset);
    end();
  }
  return NEXT(pwrite)(fd, bytes, size, offset);
}

int rename(const char* from, const char* to) {
  if (isLast()) end();
  return NEXT(rename)(from, to);
}

int fsync(int fd) {
  if (isLast()) end();
  return NEXT(fsync)(fd);
}

int unlink(const char* path) {
  if (isLast()) end();
  return NEXT(unlink)(path);
}

int remove(const char* path) {
  if (isLast()) end();
  return NEXT(remove)(path);
}

#ifdef DATABASES
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  if (isLast()) {
    NEXT(pwrite64)(fd, bytes, size / 2, offset);
    end();
  }
  return NEXT(pwrite64)(fd, bytes, size, offset);
}

int fdatasync(int fd) {
  if (isLast()) end();
  return NEXT(fdatasync)(fd);
}

int ftruncate64(int fd, off64_t size) {
  if (isLast()) end();
  return NEXT(ftruncate64)(fd, size);
}
#endif
