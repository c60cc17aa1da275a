#include "applier/choose/pbqp.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <limits>
#include <utility>

namespace pet {

int Pbqp::variable(std::vector<double> costs) {
  assert(!costs.empty());
  variables_.push_back(std::move(costs));
  return static_cast<int>(variables_.size()) - 1;
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
    int fewest = -1, most = -1;
    for (size_t v = 0; v < costs_.size(); ++v) {
      if (taken(v)) continue;
      auto degree = [&](int u) { return neighbours_[static_cast<size_t>(u)].size(); };
      int i = static_cast<int>(v);
      if (fewest < 0 || degree(i) < degree(fewest)) fewest = i;
      if (most < 0 || degree(i) > degree(most)) most = i;
    }
    return neighbours_[static_cast<size_t>(fewest)].size() <= 2 ? fewest : most;
  }
  bool taken(size_t v) const { return decide_[v] != nullptr; }

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
    std::vector<std::pair<int, Matrix>> edges(own.begin(), own.end());
    for (const auto& edge : edges)
      neighbours_[static_cast<size_t>(edge.first)].erase(v);
    own.clear();
    return edges;
  }

  void add(int a, int b, const Matrix& more) {
    auto into = [&](int from, int to, const Matrix& m) {
      auto [it, isNew] = neighbours_[static_cast<size_t>(from)].try_emplace(to, m);
      if (isNew) return;
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
  std::vector<std::function<int(const std::vector<int>&)>> decide_;
};

void Pbqp::improve(std::vector<int>& choice) const {
  double least = cost(choice);
  for (bool changed = true; std::exchange(changed, false);) {
    for (size_t v = 0; v < choice.size(); ++v) {
      for (int alternative = 0; alternative < static_cast<int>(variables_[v].size()); ++alternative) {
        int before = std::exchange(choice[v], alternative);
        if (double now = cost(choice); now < least) {
          least = now;
          changed = true;
        } else {
          choice[v] = before;
        }
      }
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
