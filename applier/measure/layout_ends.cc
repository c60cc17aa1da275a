#include "applier/measure/layout_ends.h"

#include <algorithm>
#include <cassert>
#include <set>

#include "applier/view/view.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

class Ends {
 public:
  explicit Ends(const Program& program) : program_(program), readers_(readers(program)) {}

  LayoutEnds find() {
    LayoutEnds ends;
    for (Value input : program_.inputs())
      ends.openings.push_back(isConstant(program_, input) ? std::vector<int>{} : opening(input));
    for (Value output : program_.outputs())
      ends.closings.push_back(closing(output));
    return ends;
  }

 private:
  /// The only reader of a value: a node, -1 for an output; nothing where there are several or none.
  std::optional<int> onlyReader(Value v) const {
    auto it = readers_.find(v);
    return it != readers_.end() && it->second.size() == 1 ? std::optional(it->second[0]) : std::nullopt;
  }

  bool moves(int index) const {
    const Node& node = program_.nodes()[static_cast<size_t>(index)];
    return node.op->layout && node.operands.size() == 1 && node.names.size() == 1;
  }

  std::vector<int> opening(Value v) {
    std::vector<int> chain;
    for (auto reader = onlyReader(v); reader && *reader >= 0 && moves(*reader); reader = onlyReader({*reader, 0})) {
      chain.push_back(*reader);
      taken_.insert(*reader);
    }
    return chain;
  }

  std::vector<int> closing(Value v) const {
    std::vector<int> chain;
    while (onlyReader(v) && moves(v.node) && !taken_.contains(v.node)) {
      chain.insert(chain.begin(), v.node);
      v = program_.nodes()[static_cast<size_t>(v.node)].operands[0];
    }
    return chain;
  }

  const Program& program_;
  std::map<Value, std::vector<int>> readers_;
  std::set<int> taken_;
};

}  // namespace

LayoutEnds layoutEnds(const Program& program) {
  return Ends(program).find();
}

Program layoutChain(const Program& program, const std::vector<int>& nodes) {
  assert(!nodes.empty());
  ProgramBuilder builder;
  Value from = program.nodes()[static_cast<size_t>(nodes.front())].operands[0];
  Value at = builder.input(program.name(from), program.shape(from));
  for (int index : nodes) {
    const Node& node = program.nodes()[static_cast<size_t>(index)];
    auto next = builder.add(*node.op, {at}, node.attributes, node.names);
    assert(next && "it fitted before");
    at = *next;
  }
  return std::move(builder).finish({at});
}

}  // namespace pet
