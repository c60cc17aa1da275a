#pragma once

#include <map>
#include <optional>
#include <string>

#include "applier/onnx/spill.h"
#include "applier/view/view.h"

namespace pet {

/// How a constant in float is made of constants of a model: a program of its own, the same wherever it stands.
struct Derivation {
  Program program;                                  ///< with one output
  std::map<std::string, Constant, std::less<>> of;  ///< its inputs
  /// Equal for equal programs of the same bytes, while these live.
  std::string key() const;
  /// Errors are those of evaluate().
  Expected<Tensor<float>> evaluated() const;
};

/// Of a constant of the view. Nullopt: something it is made of is not in float.
std::optional<Derivation> derivationOf(const View& view, Value constant);
/// Of a constant of a program in float. `stands`: for which values of the view its inputs stand.
std::optional<Derivation> derivationOf(const View& view,
                                       const Program& program,
                                       const std::map<Value, Value>& stands,
                                       Value constant);

/// The weights that rules make, from the check of their sites until they are written: each is made once.
class NewWeights {
 public:
  /// `keep` says where they wait. Null: in memory.
  explicit NewWeights(KeepBytes keep = nullptr) : keep_(std::move(keep)) {}

  /// The same value, where new weights wait.
  Constant kept(Constant value) const;
  void enter(const Derivation& derivation, Constant value);
  /// A constant of the view that was entered; null: it was not.
  const Constant* find(const View& view, Value constant) const;

 private:
  struct Entry {
    std::map<std::string, Constant, std::less<>> of;  ///< lives as long as the key that names its bytes
    Constant value;
  };
  KeepBytes keep_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace pet
