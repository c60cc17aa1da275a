// Runs CUDA kernels on a processor: a kernel's source is compiled as plain C++ behind this header. Blocks run one after
// the other, and so do a block's threads, both in the order that is asked for; threads of kernels with barriers are
// fibers, and a barrier hands over to the next one. So __shared__ is static. A barrier that some of a block's threads
// never reach stops the program with a message.
#pragma once
#undef _FORTIFY_SOURCE  // its check of longjmp takes fibers for a broken stack

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include <setjmp.h>
#include <ucontext.h>

struct CpuIndex {
  unsigned x = 0, y = 0, z = 0;
};
inline CpuIndex threadIdx, blockIdx, blockDim, gridDim;

#undef __global__
#undef __device__
#undef __forceinline__
#undef __launch_bounds__
#undef __align__
#undef __shared__
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __restrict__ __restrict
#define __shared__ static

namespace cuda_on_cpu {

/// Numbers below `count`, each once. `order`: 0 forward, 1 backward, 2 shuffled, as `seed` says.
inline std::vector<unsigned> inOrder(unsigned count, int order, unsigned seed) {
  std::vector<unsigned> numbers(count);
  for (unsigned i = 0; i < count; ++i)
    numbers[i] = order == 1 ? count - 1 - i : i;
  if (order == 2) std::shuffle(numbers.begin(), numbers.end(), std::mt19937(seed));
  return numbers;
}

inline CpuIndex indexOf(unsigned number, const CpuIndex& size) {
  return {number % size.x, number / size.x % size.y, number / size.x / size.y};
}

/// Starts once and lives for all later blocks; it is left and entered by setjmp, which costs no call of the system.
struct Fiber {
  ucontext_t context;
  jmp_buf jump;
  std::unique_ptr<char[]> stack;
  bool done = false;
};

class Block {
 public:
  static Block& current() {
    static Block block;
    return block;
  }

  /// `order`: as inOrder() has it.
  void run(CpuIndex size, int order, std::function<void()> body) {
    const unsigned count = size.x * size.y * size.z, warps = (count + 31) / 32;
    while (fibers_.size() < count)
      fibers_.push_back(std::make_unique<Fiber>());
    body_ = std::move(body);
    values_.assign(count, 0);
    warpArrived_.assign(warps, 0);
    warpTurn_.assign(warps, 0);
    warpAlive_.assign(warps, 0);
    alive_ = count;
    atBarrier_ = 0;
    for (unsigned i = 0; i < count; ++i) {
      fibers_[i]->done = false;
      ++warpAlive_[i / 32];
    }
    order_ = inOrder(count, order, count + blockIdx.x);
    while (alive_ > 0) {
      const unsigned long before = progress_;
      for (unsigned i : order_) {
        if (fibers_[i]->done) continue;
        now_ = i;
        threadIdx = indexOf(i, size);
        resume();
      }
      if (alive_ == 0 || progress_ != before) continue;
      std::fprintf(stderr, "cuda_on_cpu: block %u: %u of %u threads wait at a barrier that the others never reach\n",
                   blockIdx.x, atBarrier_, alive_);
      std::abort();
    }
  }

  void barrier() {
    const unsigned long turn = turn_;
    ++atBarrier_;
    ++progress_;
    openBarrier();
    while (turn == turn_)
      yield();
  }

  template <class T>
  T exchange(T value, unsigned lane) {
    static_assert(sizeof(T) <= sizeof(uint64_t));
    std::memcpy(&values_[now_], &value, sizeof value);
    const unsigned from = now_ / 32 * 32 + lane % 32;
    warpBarrier();
    T read = value;
    if (from < values_.size()) std::memcpy(&read, &values_[from], sizeof read);
    warpBarrier();
    return read;
  }
  unsigned lane() const { return now_ % 32; }

 private:
  static constexpr size_t kStack = 64 * 1024;

  static void enter() {
    for (;;) {
      Block& block = current();
      block.body_();
      block.fibers_[block.now_]->done = true;
      --block.alive_;
      --block.warpAlive_[block.now_ / 32];
      ++block.progress_;
      block.openBarrier();
      block.yield();
    }
  }
  void yield() {
    if (!_setjmp(fibers_[now_]->jump)) _longjmp(home_, 1);
  }
  void resume() {
    Fiber& fiber = *fibers_[now_];
    if (_setjmp(home_)) return;
    if (fiber.stack) _longjmp(fiber.jump, 1);
    fiber.stack.reset(new char[kStack]);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &Block::enter, 0);
    setcontext(&fiber.context);
  }
  void openBarrier() {
    if (atBarrier_ == 0 || atBarrier_ != alive_) return;
    atBarrier_ = 0;
    ++turn_;
    ++progress_;
  }
  /// Of all of a warp's threads that are still there.
  void warpBarrier() {
    const unsigned warp = now_ / 32, turn = warpTurn_[warp];
    ++progress_;
    if (++warpArrived_[warp] >= warpAlive_[warp]) {
      warpArrived_[warp] = 0;
      ++warpTurn_[warp];
    }
    while (turn == warpTurn_[warp])
      yield();
  }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<unsigned> order_, warpArrived_, warpTurn_, warpAlive_;
  std::vector<uint64_t> values_;  ///< per thread: what it gives to others
  std::function<void()> body_;
  jmp_buf home_;
  unsigned now_ = 0, alive_ = 0, atBarrier_ = 0;
  unsigned long turn_ = 0, progress_ = 0;
};

template <class F>
void forBlocks(const unsigned* grid, const unsigned* block, int order, F each) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  const unsigned count = grid[0] * grid[1] * grid[2];
  for (unsigned number : inOrder(count, order, count)) {
    blockIdx = indexOf(number, gridDim);
    each();
  }
}

/// Of a kernel with barriers.
template <class F>
void launchTogether(const unsigned* grid, const unsigned* block, int order, F kernel) {
  forBlocks(grid, block, order, [&] { Block::current().run(blockDim, order, kernel); });
}

/// Of one whose threads do not wait for one another.
template <class F>
void launchApart(const unsigned* grid, const unsigned* block, int order, F kernel) {
  const unsigned count = block[0] * block[1] * block[2];
  const std::vector<unsigned> threads = inOrder(count, order, count);
  forBlocks(grid, block, order, [&] {
    for (unsigned number : threads) {
      threadIdx = indexOf(number, blockDim);
      kernel();
    }
  });
}

}  // namespace cuda_on_cpu

inline void __syncthreads() {
  cuda_on_cpu::Block::current().barrier();
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int by) {
  auto& block = cuda_on_cpu::Block::current();
  return block.exchange(value, block.lane() ^ static_cast<unsigned>(by));
}
inline float rsqrtf(float x) {
  return 1.0F / std::sqrt(x);
}
inline float __int_as_float(unsigned bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
