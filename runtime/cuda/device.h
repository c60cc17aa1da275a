#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "runtime/cuda/generate/kernel_source.h"
#include "runtime/plan/epilogue.h"

namespace pet::cuda {

/// In the memory of a device.
using Address = char*;

/// How a model's sums of products are computed, and what lies in memory between operators.
enum class Precision {
  kFp32,  ///< float, exactly
  kTf32,  ///< float in memory; factors are rounded to 11 bits
  kFp16,
  kBf16,
};
/// "fp32", "tf32", …
std::string_view nameOf(Precision precision);
Storage storageOf(Precision precision);
int64_t bytesOf(Storage storage);

/// A tensor as libraries want it described: strides in elements.
struct TensorForm {
  Extents extents;
  std::vector<int64_t> strides;
};

/// y = activation(conv(x, w) + bias + added). Pointers: y, x, w, then bias and added where they are.
struct ConvCall {
  TensorForm x, w, y;
  Extents strides, dilations, before, after;  ///< of the spatial dimensions; dilations from 1
  int64_t group = 1;
  bool transposed = false;  ///< ConvTranspose: w is [in, out / group, taps…]
  bool bias = false;        ///< of y's channels, dimension 1
  std::optional<TensorForm> added;
  std::optional<plan::Activation> activation;
  /// The numbers of w, of which x has one channel: a row for each of y's; empty: w is no table (isTable()).
  std::vector<float> table = {};
};

/// y[b, m, n] = activation(Σ_k left[b, m, k] · right[b, k, n] + bias[n]). Pointers: y, left, right, then bias. A batch
/// stride of 0 is a broadcast; rows or columns of each are neighbours; all begin on borders of 16 bytes.
struct ProductCall {
  TensorForm left, right, y;  ///< of rank 3
  bool bias = false;
  std::optional<plan::Activation> activation;
  /// The numbers of left, one matrix for the whole batch; empty: it is no table (isTable()).
  std::vector<float> table = {};
};

/// y[b, h, i, e] = Σ_j softmax_j(scale · Σ_d q[b, h, i, d] · k[b, h, j, d] + bias[b, h, i, j]) · v[b, h, j, e], without
/// the scores in memory. Heads of k and v may be one for all of q's, batches and heads of the bias one for all of the
/// scores'. Elements along the last dimension are neighbours, all else begins on borders of 16 bytes. Pointers: y, q,
/// k, v, then bias.
struct AttentionCall {
  TensorForm q, k, v, y;  ///< of rank 4
  float scale = 1;
  std::optional<TensorForm> bias;
  bool causal = false;  ///< query i sees the keys 0 to i alone
};

/// y = the largest of x's elements in each window, or their mean. Pointers: y, x.
struct PoolCall {
  TensorForm x, y;
  Extents kernel, strides, dilations, before, after;  ///< of the spatial dimensions; dilations from 1
  bool isMax = false;
  bool countsPads = false;  ///< a mean is over pads, too, as far as `before` and `after` go
};

/// y = (x - mean) · scale / √(variance + epsilon) + shift, mean and variance of each row: of dimension 1 or, of
/// kInstance, of the dimensions from 2 on. kRms: without the mean. One number of scale and shift for each position of
/// dimension 1. Pointers: y, x, scale, then shift.
struct NormCall {
  enum class Kind { kLayer, kRms, kInstance };
  Kind kind;
  TensorForm x, y;  ///< of equal extents, of rank 3 and more
  float epsilon = 0;
  bool shift = false;

  /// Those that a row runs over.
  std::vector<size_t> rowDimensions() const {
    if (kind != Kind::kInstance) return {1};
    std::vector<size_t> dimensions(x.extents.size() - 2);
    std::iota(dimensions.begin(), dimensions.end(), size_t{2});
    return dimensions;
  }
};

/// What a device does with pointers: a library's plan, or a kernel of ours. Queued; it does not wait for the end.
class Call {
 public:
  virtual ~Call() = default;
  /// `workspace`: of workspaceBytes().
  virtual void run(std::span<const Address> pointers, Address workspace) = 0;
  virtual int64_t workspaceBytes() const { return 0; }
  /// The plan's name, for notes.
  virtual std::string name() const = 0;
  /// What a library makes this call of again, in another process; "": it does not.
  virtual std::string kept() const { return ""; }

  std::optional<double> timed;  ///< seconds of one run, where a device timed them
  bool isOwn = false;           ///< a kernel of ours, as one of several plans
  bool isAlone = false;         ///< kernels of ours compute this, and no library does
};

/// An error where a value is returned otherwise. It leaves the folder as a value.
struct Failure {
  Error error;
};

/// How the calls of a device came about.
struct PlanCounts {
  int chosen = 0;                ///< plans that a library was asked for
  int timed = 0;                 ///< plans that were run for that
  double seconds = 0;            ///< that asking and running took
  int restored = 0;              ///< plans that were kept
  int compiled = 0, loaded = 0;  ///< files of kernels of ours: compiled, and kept
};

/// Calls that run again as one.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void run() = 0;
};

/// Where a program runs: the few things that the engine asks of a GPU and of its libraries. Refusals are errors that
/// say why (kUnsupported); what fails while a program runs is thrown as std::runtime_error.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  virtual Precision precision() const = 0;
  /// All of it that plans and their times depend on: the name, the driver.
  virtual std::string identity() const = 0;
  virtual PlanCounts planCounts() const = 0;
  /// The calls that follow on this thread are for this device.
  virtual void enter() = 0;

  virtual Expected<std::unique_ptr<Call>> conv(const ConvCall& call) = 0;
  virtual Expected<std::unique_ptr<Call>> product(const ProductCall& call) = 0;
  virtual Expected<std::unique_ptr<Call>> attention(const AttentionCall& call) = 0;
  /// Whether attention() makes calls of these extents and strides, as far as that is known without making one.
  virtual Expected<void> takes(const AttentionCall& call) = 0;
  virtual Expected<std::unique_ptr<Call>> pool(const PoolCall& call) = 0;
  virtual Expected<std::unique_ptr<Call>> norm(const NormCall& call) = 0;
  /// It can run once finish() has compiled all kernels.
  virtual std::unique_ptr<Call> kernel(KernelSource source) = 0;
  virtual Expected<void> finish() = 0;
  /// What kernel() was asked for since the last finish() is not needed.
  virtual void forget() = 0;

  /// Queues of work: what is in one waits for nothing of another's but for what it awaits. 1: there is but one.
  virtual int streams() const = 0;
  /// How many threads run at once: calls with fewer results leave a part of the device idle.
  virtual int64_t threads() const = 0;
  /// Of a copy of many bytes, those that it reads and writes in a second, estimated.
  virtual double bytesPerSecond() const = 0;
  /// Calls that follow go to this stream; until it is called, and where all else is queued: stream 0.
  virtual void use(int stream) = 0;
  /// Names what the stream in use has until now, a number from 0 on, for await(); a name may be given again.
  virtual void mark(int name) = 0;
  /// What follows in the stream in use waits for what was named so last.
  virtual void await(int name) = 0;

  /// For how long the plans of a call are timed; 0: not at all.
  virtual double searchSeconds() const = 0;
  /// What `calls` queues, and how long that took by the device's clock.
  virtual double secondsOf(const std::function<void()>& calls) = 0;
  /// The same of one call.
  virtual double seconds(Call& call, std::span<const Address> pointers, Address workspace) = 0;

  /// What `calls` queues, as one thing to queue. Null: the device has no such thing.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& calls) = 0;

  /// Of at least one byte, on a border of 256 bytes.
  virtual Expected<Address> allocate(int64_t bytes) = 0;
  virtual void release(Address address) = 0;
  virtual void upload(Address to, const void* from, int64_t bytes) = 0;
  /// Waits for all that is queued.
  virtual void download(void* to, Address from, int64_t bytes) = 0;
  virtual void wait() = 0;

  /// Of this process, and such that the device copies it by itself.
  virtual Expected<Address> allocatePinned(int64_t bytes) = 0;
  virtual void releasePinned(Address address) = 0;
  /// Queued: `pinned` is still read or written until wait().
  virtual void queueUpload(Address to, Address pinned, int64_t bytes) = 0;
  virtual void queueDownload(Address pinned, Address from, int64_t bytes) = 0;
};

}  // namespace pet::cuda
