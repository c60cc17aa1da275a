#include "ir/pbqp.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace pet {

int Pbqp::variable(std::vector<double> costs) {
  assert(!costs.empty());
  variables_.push_back(std::move(costs));
  return static_cast<int>(variables_.size()) - 1;
}

void Pbqp::alone(int variable, int alternative, double cost) {
  variables_[static_cast<size_t>(variable)][static_cast<size_t>(alternative)] += cost;
}

void Pbqp::together(int a, int alternativeOfA, int b, int alternativeOfB, double cost) {
  assert(a != b);
  if (a > b) {
    std::swap(a, b);
    std::swap(alternativeOfA, alternativeOfB);
  }
  size_t rows = variables_[static_cast<size_t>(a)].size(), columns = variables_[static_cast<size_t>(b)].size();
  Matrix& m = edges_.try_emplace({a, b}, rows, std::vector<double>(columns, 0.0)).first->second;
  m[static_cast<size_t>(alternativeOfA)][static_cast<size_t>(alternativeOfB)] += cost;
}

double Pbqp::cost(const std::vector<int>& choice) const {
  double sum = 0;
  for (size_t v = 0; v < variables_.size(); ++v)
    sum += variables_[v][static_cast<size_t>(choice[v])];
  for (const auto& [pair, m] : edges_) {
    size_t row = static_cast<size_t>(choice[static_cast<size_t>(pair.first)]);
    sum += m[row][static_cast<size_t>(choice[static_cast<size_t>(pair.second)])];
  }
  return sum;
}

/// Takes variables out one by one, and then decides them in the opposite order, when their neighbours are decided.
class Pbqp::Reducer {
 public:
  explicit Reducer(const Pbqp& problem)
      : costs_(problem.variables_), neighbours_(problem.variables_.size()), decide_(problem.variables_.size()) {
    for (const auto& [pair, m] : problem.edges_) {
      auto [a, b] = pair;
      neighbours_[static_cast<size_t>(a)][b] = m;
      neighbours_[static_cast<size_t>(b)][a] = transposed(m);
    }
    for (int v = 0; v < static_cast<int>(costs_.size()); ++v)
      open_.emplace(degree(v), v);
  }

  Solution run() {
    Solution solution{std::vector<int>(costs_.size(), 0), 0, true};
    std::vector<int> order;
    for (size_t left = costs_.size(); left > 0; --left) {
      int v = next();
      if (neighbours_[static_cast<size_t>(v)].size() > 2) {
        solution.exact = false;
        fix(v);
      } else {
        fold(v);
      }
      order.push_back(v);
    }
    for (auto v = order.rbegin(); v != order.rend(); ++v)
      solution.choice[static_cast<size_t>(*v)] = decide_[static_cast<size_t>(*v)](solution.choice);
    return solution;
  }

 private:
  static Matrix transposed(const Matrix& m) {
    Matrix t(m[0].size(), std::vector<double>(m.size()));
    for (size_t i = 0; i < m.size(); ++i) {
      for (size_t j = 0; j < m[i].size(); ++j)
        t[j][i] = m[i][j];
    }
    return t;
  }
  static int least(const std::vector<double>& costs) {
    return static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin());
  }

  /// The one with the fewest neighbours, if these are at most two; else the one with the most. Ties: the first.
  int next() const {
    if (open_.begin()->first <= 2) return open_.begin()->second;
    return open_.lower_bound({open_.rbegin()->first, 0})->second;
  }
  size_t degree(int v) const { return neighbours_[static_cast<size_t>(v)].size(); }
  /// Changes the neighbours of an open variable.
  template <class Change>
  void change(int v, const Change& apply) {
    open_.erase({degree(v), v});
    apply(neighbours_[static_cast<size_t>(v)]);
    open_.emplace(degree(v), v);
  }

  /// For each alternative, its own cost and those with the neighbours' alternatives, which are given.
  static std::vector<double> given(std::vector<double> own,
                                   const std::vector<std::pair<int, Matrix>>& edges,
                                   const std::vector<int>& choice) {
    for (size_t i = 0; i < own.size(); ++i) {
      for (const auto& [u, m] : edges)
        own[i] += m[i][static_cast<size_t>(choice[static_cast<size_t>(u)])];
    }
    return own;
  }

  /// R0, RI and RII: whatever the neighbours choose, the best answer to it becomes part of their costs.
  void fold(int v) {
    std::vector<std::pair<int, Matrix>> edges = remove(v);
    const auto& own = costs_[static_cast<size_t>(v)];
    if (edges.size() == 1) {
      auto& to = costs_[static_cast<size_t>(edges[0].first)];
      for (size_t j = 0; j < to.size(); ++j)
        to[j] += best(own, [&](size_t i) { return edges[0].second[i][j]; });
    } else if (edges.size() == 2) {
      const auto& [a, ma] = edges[0];
      const auto& [b, mb] = edges[1];
      Matrix folded(costs_[static_cast<size_t>(a)].size(), std::vector<double>(costs_[static_cast<size_t>(b)].size()));
      for (size_t j = 0; j < folded.size(); ++j) {
        for (size_t k = 0; k < folded[j].size(); ++k)
          folded[j][k] = best(own, [&, &x = ma, &y = mb](size_t i) { return x[i][j] + y[i][k]; });
      }
      add(a, b, folded);
    }
    decide_[static_cast<size_t>(v)] = [own, edges = std::move(edges)](const std::vector<int>& choice) {
      return least(given(own, edges, choice));
    };
  }
  template <class More>
  static double best(const std::vector<double>& own, const More& more) {
    double result = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < own.size(); ++i)
      result = std::min(result, own[i] + more(i));
    return result;
  }

  /// RN: the best alternative where each neighbour answers by itself.
  void fix(int v) {
    std::vector<std::pair<int, Matrix>> edges = remove(v);
    std::vector<double> with = costs_[static_cast<size_t>(v)];
    for (size_t i = 0; i < with.size(); ++i) {
      for (const auto& edge : edges) {
        const std::vector<double>& row = edge.second[i];
        with[i] += best(costs_[static_cast<size_t>(edge.first)], [&](size_t j) { return row[j]; });
      }
    }
    int chosen = least(with);
    for (const auto& [u, m] : edges) {
      auto& to = costs_[static_cast<size_t>(u)];
      for (size_t j = 0; j < to.size(); ++j)
        to[j] += m[static_cast<size_t>(chosen)][j];
    }
    decide_[static_cast<size_t>(v)] = [chosen](const std::vector<int>&) { return chosen; };
  }

  /// The variable's edges, seen from it; they are gone afterwards.
  std::vector<std::pair<int, Matrix>> remove(int v) {
    auto& own = neighbours_[static_cast<size_t>(v)];
    open_.erase({own.size(), v});
    std::vector<std::pair<int, Matrix>> edges(own.begin(), own.end());
    for (const auto& edge : edges)
      change(edge.first, [&](auto& neighbours) { neighbours.erase(v); });
    own.clear();
    return edges;
  }

  void add(int a, int b, const Matrix& more) {
    auto into = [&](int from, int to, const Matrix& m) {
      bool isNew = false;
      change(from, [&](auto& neighbours) { isNew = neighbours.try_emplace(to, m).second; });
      if (isNew) return;
      auto it = neighbours_[static_cast<size_t>(from)].find(to);
      for (size_t i = 0; i < m.size(); ++i) {
        for (size_t j = 0; j < m[i].size(); ++j)
          it->second[i][j] += m[i][j];
      }
    };
    into(a, b, more);
    into(b, a, transposed(more));
  }

  std::vector<std::vector<double>> costs_;
  std::vector<std::map<int, Matrix>> neighbours_;  ///< rows: alternatives of the variable itself
  std::set<std::pair<size_t, int>> open_;          ///< variables that are still in: how many neighbours, which
  std::vector<std::function<int(const std::vector<int>&)>> decide_;
};

void Pbqp::improve(std::vector<int>& choice) const {
  using Edge = decltype(edges_)::value_type;
  std::vector<std::vector<const Edge*>> of(variables_.size());
  for (const Edge& edge : edges_) {
    of[static_cast<size_t>(edge.first.first)].push_back(&edge);
    of[static_cast<size_t>(edge.first.second)].push_back(&edge);
  }
  auto costOfPair = [&](const Edge& edge) {
    const auto [a, b] = edge.first;
    return edge.second[static_cast<size_t>(choice[static_cast<size_t>(a)])]
                      [static_cast<size_t>(choice[static_cast<size_t>(b)])];
  };
  // What depends on variables; pairs of them count once.
  auto costOf = [&](const std::vector<size_t>& changed) {
    double sum = 0;
    std::set<std::pair<int, int>> counted;
    for (size_t v : changed) {
      sum += variables_[v][static_cast<size_t>(choice[v])];
      for (const Edge* edge : of[v]) {
        if (changed.size() == 1 || counted.insert(edge->first).second) sum += costOfPair(*edge);
      }
    }
    return sum;
  };
  auto takeBest = [&](size_t v) {
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (choice[v] = 0; choice[v] < static_cast<int>(variables_[v].size()); ++choice[v]) {
      if (const double cost = costOf({v}); cost < least) std::tie(least, best) = std::pair(cost, choice[v]);
    }
    choice[v] = best;
  };
  // By more than rounding, so that this comes to an end.
  auto isLess = [](double now, double before) {
    return std::isinf(before) ? now < before : now < before - 1e-12 * std::abs(before);
  };
  // Takes an alternative; what it excludes gives way.
  auto tries = [&](size_t v, int alternative) {
    std::vector<size_t> changed{v};
    std::vector<int> before{std::exchange(choice[v], alternative)};
    for (const Edge* edge : of[v]) {
      if (!std::isinf(costOfPair(*edge))) continue;
      const auto [a, b] = edge->first;
      changed.push_back(static_cast<size_t>(static_cast<size_t>(a) == v ? b : a));
      before.push_back(choice[changed.back()]);
    }
    for (size_t u = 1; u < changed.size(); ++u)
      takeBest(changed[u]);
    const double now = costOf(changed);
    auto exchangeAll = [&] {
      for (size_t u = 0; u < changed.size(); ++u)
        std::swap(choice[changed[u]], before[u]);
    };
    exchangeAll();
    if (!isLess(now, costOf(changed))) return false;
    exchangeAll();
    return true;
  };
  for (bool changed = true; std::exchange(changed, false);) {
    for (size_t v = 0; v < choice.size(); ++v) {
      for (int alternative = 0; alternative < static_cast<int>(variables_[v].size()); ++alternative)
        changed = (alternative != choice[v] && tries(v, alternative)) || changed;
    }
  }
}

Pbqp::Solution Pbqp::solve() const {
  Solution solution = Reducer(*this).run();
  if (!solution.exact) improve(solution.choice);
  solution.cost = cost(solution.choice);
  return solution;
}

}  // namespace pet
