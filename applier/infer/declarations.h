#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "applier/infer/infer.h"
#include "applier/infer/sizes.h"

namespace pet {

/// What a file declares of values, against what is inferred of them. The inference counts. Where it knows nothing, or
/// an extent that depends on data, the declaration does. A name of which the inputs say nothing stands for the extent
/// at which it is declared first.
class Declarations {
 public:
  using Report = std::function<void(std::string)>;

  /// `inputs`: whose extents callers choose. `isMain`: what a subgraph declares of such an extent, nobody is told.
  Declarations(const Graph& graph, Sizes& sizes, bool isMain);

  /// A type as it is declared. `least`: of an extent that has neither value nor name.
  InferredType typeOf(const ValueType& declared, int64_t least = 0);
  /// What is known of a value in all. `report` takes what cannot be, or what is not relied on, to be read behind
  /// "its result 'y' ".
  InferredType merged(const ValueType& declared, InferredType inferred, const Report& report);

 private:
  void mergeExtent(Dim& d, const ValueType& declared, size_t i, const Report& report);
  void reportOnce(const Dim& d, const Dim& declared, size_t i, const Report& report);

  Sizes& sizes_;
  bool isMain_;
  std::set<std::string, std::less<>> ofInputs_;  ///< names
  std::set<std::string> reported_;
};

}  // namespace pet
