#include "runtime/cuda/layouts.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "ir/pbqp.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/planner.h"

namespace pet::cuda {
namespace {

/// Of the two alternatives of a variable.
constexpr int kRowMajorChoice = 0, kChannelsLastChoice = 1;

/// Both orders are the same memory.
bool isOneOrder(const Extents& extents) {
  return extents.size() < 3 || extents[1] == 1 ||
         std::all_of(extents.begin() + 2, extents.end(), [](int64_t e) { return e == 1; });
}

class Problem {
 public:
  explicit Problem(const Planner& planner) : p_(planner), constant_(constantNodes(planner.program())) {
    const auto& nodes = p_.program().nodes();
    for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
      if (constant_[static_cast<size_t>(n)]) continue;
      addVariable(n);
      for (Value v : nodes[static_cast<size_t>(n)].operands)
        addCopy(v, n);
    }
    for (Value v : p_.program().outputs())
      addCopy(v, -1);
  }

  Orders solve() const {
    const std::vector<int> choice = pbqp_.solve().choice;
    Orders orders;
    for (const auto& [n, cost] : p_.orderCosts) {
      const bool isRowMajor = choice[static_cast<size_t>(variables_.at(n))] == kRowMajorChoice;
      orders[n] = isRowMajor ? Order::kRowMajor : Order::kChannelsLast;
    }
    return orders;
  }

 private:
  void addVariable(int n) {
    static const std::set<std::string_view> kAnyOrder{"Concat", "MaxPool", "AveragePool"};
    const auto timed = p_.orderCosts.find(n);
    if (timed != p_.orderCosts.end())
      variables_[n] = pbqp_.variable({timed->second.rowMajor, timed->second.channelsLast});
    else if (p_.fuses(n) || kAnyOrder.contains(p_.node(n).op->name))
      variables_[n] = pbqp_.variable({0, 0});
  }

  /// What it costs that `reader`, or the program where it is -1, wants a value in another order than it is in.
  void addCopy(Value v, int reader) {
    if (constant_[static_cast<size_t>(v.node)] || isOneOrder(p_.extents(v))) return;
    const int64_t bytes = elementCount(p_.extents(v)) * p_.elementBytes();
    const double cost = copySeconds(p_.device(), bytes);
    const auto from = variables_.find(v.node), to = variables_.find(reader);
    const bool fromAny = from != variables_.end(), toAny = to != variables_.end();
    if (fromAny && toAny && from->second != to->second) {
      pbqp_.together(from->second, kRowMajorChoice, to->second, kChannelsLastChoice, cost);
      pbqp_.together(from->second, kChannelsLastChoice, to->second, kRowMajorChoice, cost);
    } else if (fromAny != toAny) {
      pbqp_.alone(fromAny ? from->second : to->second, kChannelsLastChoice, cost);
    }
  }

  const Planner& p_;
  const std::vector<bool> constant_;  ///< per node
  Pbqp pbqp_;
  std::map<int, int> variables_;  ///< per node that has a choice
};

}  // namespace

/// To begin, and for each byte that is read and written.
double copySeconds(const Device& device, int64_t bytes) {
  constexpr double kBeginSeconds = 3e-6;
  return kBeginSeconds + static_cast<double>(2 * bytes) / device.bytesPerSecond();
}

Orders fastestOrders(const Planner& planner) {
  if (planner.orderCosts.empty()) return {};
  Orders orders = Problem(planner).solve();
  const bool isPlanned = std::all_of(orders.begin(), orders.end(), [&](const auto& each) {
    return planner.orderCosts.at(each.first).planned == each.second;
  });
  return isPlanned ? Orders() : orders;
}

}  // namespace pet::cuda
