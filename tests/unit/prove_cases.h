#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pet::testing_support {

/// The files of tests/prove, a folder for each family, in the order of their names.
inline std::vector<std::filesystem::path> proveCases() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PET_SOURCE_DIR "/tests/prove")) {
    if (entry.path().extension() == ".pet") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end(), [](auto& a, auto& b) { return a.filename() < b.filename(); });
  return files;
}

/// The file of a case, "add-commutes"; a missing one fails the test.
inline std::filesystem::path proveCase(const std::string& name) {
  for (const auto& file : proveCases()) {
    if (file.stem() == name) return file;
  }
  ADD_FAILURE() << "no case " << name << " in tests/prove";
  return {};
}

/// The files of rules in tests/data, by name, then those of tests/prove.
inline std::vector<std::string> ruleFiles() {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(PET_SOURCE_DIR "/tests/data")) {
    if (entry.path().extension() == ".pet") result.push_back(entry.path());
  }
  std::sort(result.begin(), result.end());
  for (const auto& file : proveCases())
    result.push_back(file);
  return result;
}

/// Of a test that has a file as its parameter: the file's name without its folder, as gtest allows it.
inline std::string nameOfFile(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).stem();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace pet::testing_support
