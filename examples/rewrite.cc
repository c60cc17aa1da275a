// rewrite_cpp MODEL OUTPUT [OPTION[=VALUE]]...: rewrites a model in memory, and prints the report.

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include <pet/apply.h>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: rewrite_cpp MODEL OUTPUT [OPTION[=VALUE]]...\n";
    return PET_USAGE;
  }
  pet::RewriteOptions options;
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    options.set(word.substr(0, equals), equals == std::string::npos ? "" : word.substr(equals + 1));
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string model((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const pet::RewriteResult done = pet::applyToBytes(model, options);
  if (!done) {
    std::cerr << done.message() << "\n";
    return done.status();
  }
  std::ofstream(argv[2], std::ios::binary) << done.model();
  std::cout << done.report();
  return 0;
}
