// run_cpp MODEL [EXTENT]: runs a model of float inputs on ones, with this extent wherever the model leaves one open,
// and prints for each output its name, how many numbers it has, and their sum.

#include <cstdlib>
#include <iostream>
#include <numeric>
#include <vector>

#include <pet/session.h>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: run_cpp MODEL [EXTENT]\n";
    return PET_USAGE;
  }
  pet::Session session(argv[1]);
  if (!session) {
    std::cerr << session.message() << "\n";
    return session.status();
  }
  std::vector<std::vector<float>> ones;
  std::vector<pet::TensorView> inputs;
  for (const pet::TensorView& declared : session.inputs()) {
    std::vector<int64_t> extents = declared.extents;
    size_t count = 1;
    for (int64_t& extent : extents) {
      if (extent < 0) extent = argc > 2 ? std::atoll(argv[2]) : 1;
      count *= static_cast<size_t>(extent);
    }
    ones.emplace_back(count, 1.0F);
    inputs.push_back(pet::TensorView::of(declared.name, extents, ones.back().data()));
  }
  const pet::SessionValues values = session.run(inputs);
  if (!values) {
    std::cerr << values.message() << "\n";
    return values.status();
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const pet::TensorView value = values[i];
    const float* numbers = value.as<float>();
    const size_t count = value.bytes / sizeof(float);
    std::cout << value.name << " " << count << " " << (numbers ? std::accumulate(numbers, numbers + count, 0.0) : 0)
              << "\n";
  }
  return 0;
}
