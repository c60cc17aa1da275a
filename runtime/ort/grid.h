#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "ir/expr.h"

namespace pet {

/// At which shapes rules are timed: a file that people write and review (runtime/ort/grid.json).
class Grid {
 public:
  /// Errors: kUsage, with the file and what is wrong in it.
  static Expected<Grid> parse(std::string_view text, const std::string& file);

  /// Values of a pattern's symbols, in the order of the file: the most informative first. The pattern's own points,
  /// where the file has some, with the other symbols tied to them ("W" = "H"), then those of the pattern that it says
  /// this one is like; else the product of the values that the file has for each symbol. No point stands twice.
  std::vector<Bindings> points(std::string_view pattern, const std::vector<std::string>& symbols) const;

  /// The opsets in which a pattern is timed: those from which on an engine runs it, or what replaces it, in another
  /// way. Empty: nothing is said of it.
  std::set<int> opsets(std::string_view pattern) const;

 private:
  /// Values of a symbol that are tried in turn, in terms of symbols that stand before it.
  struct Values {
    std::string symbol;
    std::vector<Expr> each;
  };
  struct PatternGrid {
    std::vector<Values> ties;
    std::vector<Bindings> points;
    std::string like = {};  ///< a pattern whose points come after these,
    size_t first = 0;       ///< so many of them; 0: all
    std::set<int> opsets;
  };
  struct Reader;

  std::map<std::string, PatternGrid, std::less<>> patterns_;
  std::vector<Values> otherwise_;
};

}  // namespace pet
