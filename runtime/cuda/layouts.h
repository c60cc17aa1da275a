#pragma once

#include <cstdint>
#include <map>

namespace pet::cuda {

class Device;
class Planner;

/// The order of dimensions in which a convolution's tensors lie in memory.
enum class Order { kRowMajor, kChannelsLast };

/// Per convolution, by its node.
using Orders = std::map<int, Order>;

/// Seconds that a convolution takes in each order, as they were timed.
struct OrderCost {
  double rowMajor = 0, channelsLast = 0;
  Order planned = Order::kRowMajor;  ///< the one that it has
};

/// What a copy of so many bytes takes on a device within a recording, estimated.
double copySeconds(const Device& device, int64_t bytes);

/// After plan(): the orders with which the program's convolutions, and the copies between them, take the least time: a
/// PBQP over convolutions that were timed in both orders, and over what computes in any order as fast (element-wise
/// operators, pooling). Empty: the plan has these orders.
Orders fastestOrders(const Planner& planner);

}  // namespace pet::cuda
