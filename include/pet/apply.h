// pet rewrites ONNX models with proved rules: the C++ interface of the library, for C++17 and later.
//
//     pet::RewriteResult done = pet::apply("model.onnx", pet::RewriteOptions().set("min-gain", "1.1"));
//     if (!done) std::cerr << done.message() << "\n";      // one line: where, what, what to do
//     else std::cout << done.output() << "\n" << done.report();
//
// It does what the command pet-apply does, by the same code: rewrites the model, checks the result by execution, and
// writes it. A failure writes nothing. All of it is inline over the C interface (pet/pet.h), which says more about
// options, files and threads: so the library may be built by another compiler than the program. Nothing throws but
// std::bad_alloc.
#ifndef PET_APPLY_H
#define PET_APPLY_H

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pet/pet.h>

namespace pet {

/// Options of the command line, by their names without the dashes (docs/command-line.md).
class RewriteOptions {
 public:
  /// The pack of rules; without it, the default pack.
  RewriteOptions& pack(std::string path) {
    pack_ = std::move(path);
    return *this;
  }
  /// {"all"} is --all, {"only", "conv/x"} is --only conv/x. What takes several values may be set several times. An
  /// unknown name or a wrong value is an error of apply().
  RewriteOptions& set(std::string name, std::string value = "") {
    options_.emplace_back(std::move(name), std::move(value));
    return *this;
  }

  const std::string& pack() const { return pack_; }
  const std::vector<std::pair<std::string, std::string>>& options() const { return options_; }

 private:
  std::string pack_;
  std::vector<std::pair<std::string, std::string>> options_;
};

/// What apply() did, or why it failed.
class RewriteResult {
 public:
  RewriteResult(pet_status status, pet_result* result) : status_(status), result_(result) {
    if (!result) throw std::bad_alloc();
  }

  explicit operator bool() const { return status_ == PET_OK; }
  pet_status status() const { return status_; }
  /// Why it failed; "" where it did not.
  std::string message() const { return pet_result_message(result_.get()); }
  /// JSON (docs/command-line.md, The report).
  std::string report() const { return pet_result_report(result_.get()); }
  /// The file that was written.
  std::string output() const { return pet_result_output(result_.get()); }
  /// Of applyToBytes(), the rewritten model. It lives as long as the result.
  std::string_view model() const {
    size_t size = 0;
    const void* bytes = pet_result_model(result_.get(), &size);
    return bytes ? std::string_view(static_cast<const char*>(bytes), size) : std::string_view();
  }

 private:
  struct Free {
    void operator()(pet_result* result) const { pet_result_free(result); }
  };
  pet_status status_;
  std::unique_ptr<pet_result, Free> result_;
};

namespace detail {

inline std::vector<pet_option> optionsOf(const RewriteOptions& options) {
  std::vector<pet_option> all;
  for (const auto& [name, value] : options.options())
    all.push_back({name.c_str(), value.c_str()});
  return all;
}

}  // namespace detail

/// Rewrites the model in a file and writes the result: to the file that the option "output" names, else beside the
/// model, model.onnx to model.pet.onnx.
inline RewriteResult apply(const std::string& model, const RewriteOptions& options = {}) {
  const auto all = detail::optionsOf(options);
  pet_result* result = nullptr;
  const pet_status status = pet_apply(model.c_str(), options.pack().c_str(), all.data(), all.size(), &result);
  return RewriteResult(status, result);
}

/// The same from memory to memory: the bytes of an ONNX file without external data, at most 2 GB.
inline RewriteResult applyToBytes(std::string_view model, const RewriteOptions& options = {}) {
  const auto all = detail::optionsOf(options);
  pet_result* result = nullptr;
  const pet_status status =
      pet_apply_bytes(model.data(), model.size(), options.pack().c_str(), all.data(), all.size(), &result);
  return RewriteResult(status, result);
}

}  // namespace pet

#endif  // PET_APPLY_H
