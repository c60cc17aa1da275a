#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pet {

/// The best that an engine achieves on a machine; 0: not known.
struct Rates {
  double gemm = 0;  ///< FLOP/s of a product of matrices
  double conv = 0;  ///< FLOP/s of a dense Conv
  double copy = 0;  ///< bytes/s, read and written, of what comes from memory
  friend bool operator==(const Rates&, const Rates&) = default;
};

struct EngineRates {
  std::string device, engine, version;  ///< as in a timing sample
  int threads = 1;
  Rates rates;
  bool derived = false;  ///< from what was timed of rules, which is at most the rate; else by a calibration
  friend bool operator==(const EngineRates&, const EngineRates&) = default;
};

/// What programs run on. Where a machine comes from, /proc or a file, is no concern of those who use it.
struct Machine {
  std::string vendor = "";              ///< "AuthenticAMD"; "": not known
  int family = 0, model = 0;            ///< as the vendor counts; 0: not known
  std::string cpu = "";                 ///< the processor's name, for people
  std::string isa = "";                 ///< "avx512": the instruction set that float kernels are chosen by
  int64_t l1d = 0, l2 = 0, l3 = 0;      ///< bytes of the caches that one core reaches; 0: not known, or there is none
  std::vector<EngineRates> rates = {};  ///< one for each device, engine, version and number of threads, in this order

  /// What samples refer to: "AuthenticAMD-26-2-avx512"; what is not known is left out.
  std::string name() const;
  /// "AMD EPYC (AuthenticAMD family 26 model 2, avx512)".
  std::string str() const;
  /// Of a device, with so many threads, the latest version's; unknown ones where there are none.
  Rates ratesOn(std::string_view device, int threads) const;
  /// Adds rates, in place of those of the same setting.
  void add(EngineRates more);
  friend bool operator==(const Machine&, const Machine&) = default;
};

/// The same kind of processor: vendor, family, model and ISA agree, of which a model may be unknown. Caches and rates
/// do not count: they differ between hosts of one processor.
bool isSameCpu(const Machine& a, const Machine& b);

}  // namespace pet
