// A device that says what it was asked for, and fails where a test wants it to.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/unit/forwarding_device.h"

namespace pet::testing_support {

/// What a program did on a device.
struct Watched {
  std::vector<cuda::KernelSource> kernels;  ///< of ours, as they were asked for
  int launches = 0;                         ///< of these, recorded ones as well
  int recordings = 0, replays = 0;
  bool failsRecording = false;  ///< what is recorded fails at its end
  int recordsBefore = 0;        ///< so many recordings do not
  bool recordsNothing = false;  ///< recordings are empty
};

class WatchedDevice final : public ForwardingDevice<cuda::Device> {
 public:
  WatchedDevice(std::shared_ptr<cuda::Device> other, Watched& watched)
      : ForwardingDevice(std::move(other)), watched_(watched) {}

  std::unique_ptr<cuda::Call> kernel(cuda::KernelSource source) override {
    watched_.kernels.push_back(source);
    return std::make_unique<Launch>(ForwardingDevice::kernel(std::move(source)), watched_);
  }
  std::unique_ptr<cuda::Recording> record(const std::function<void()>& calls) override {
    ++watched_.recordings;
    auto recorded = ForwardingDevice::record([&] {
      if (!watched_.recordsNothing) calls();
      if (watched_.failsRecording && watched_.recordings > watched_.recordsBefore)
        throw std::runtime_error("the launch of a kernel failed");
    });
    return std::make_unique<Replay>(std::move(recorded), watched_);
  }

 private:
  class Launch final : public cuda::Call {
   public:
    Launch(std::unique_ptr<cuda::Call> call, Watched& watched) : call_(std::move(call)), watched_(watched) {}
    void run(std::span<const cuda::Address> pointers, cuda::Address workspace) override {
      ++watched_.launches;
      call_->run(pointers, workspace);
    }
    std::string name() const override { return call_->name(); }

   private:
    std::unique_ptr<cuda::Call> call_;
    Watched& watched_;
  };
  class Replay final : public cuda::Recording {
   public:
    Replay(std::unique_ptr<cuda::Recording> recording, Watched& watched)
        : recording_(std::move(recording)), watched_(watched) {}
    void run() override {
      ++watched_.replays;
      recording_->run();
    }

   private:
    std::unique_ptr<cuda::Recording> recording_;
    Watched& watched_;
  };

  Watched& watched_;
};

}  // namespace pet::testing_support
