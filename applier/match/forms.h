#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rules/rule.h"

namespace pet {

/// A pattern as it may stand in a model: in normal form, at its own rank or with other batch dimensions. One that is a
/// single operator that views read away (rules/rewrite/normal_form.h) as it is written.
struct Form {
  std::shared_ptr<const Program> program;
  bool isWritten = false;  ///< not in normal form: it stands among MatchIndex::written()
  int pieces = 1;          ///< operators of which the pattern makes what is one in normal form (rules/rewrite/idioms.h)
  std::string batch;       ///< the symbol that is the product of `dims`; empty: the pattern itself
  std::vector<std::string> dims = {};
};

/// The forms of patterns, each made when it is first asked for. Patterns stay where they are.
class Forms {
 public:
  const std::vector<Form>& of(const Pattern& pattern);

 private:
  std::map<const Pattern*, std::vector<Form>> known_;
};

}  // namespace pet
