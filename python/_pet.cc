// The module pet._pet: the C interface as one function. pet/__init__.py makes an interface for people of it.

#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pet/apply.h>

namespace nb = nanobind;

namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

pet::RewriteOptions optionsOf(const std::string& pack, const Options& options) {
  pet::RewriteOptions result;
  result.pack(pack);
  for (const auto& [name, value] : options)
    result.set(name, value);
  return result;
}

/// (status, message, report, output, model): of a path, `model` is empty; of bytes, `output`.
nb::tuple tupleOf(const pet::RewriteResult& done) {
  const std::string_view model = done.model();
  return nb::make_tuple(static_cast<int>(done.status()), done.message(), done.report(), done.output(),
                        nb::bytes(model.data(), model.size()));
}

nb::tuple applyToFile(const std::string& model, const std::string& pack, const Options& options) {
  const auto all = optionsOf(pack, options);
  nb::gil_scoped_release others;
  const auto done = pet::apply(model, all);
  nb::gil_scoped_acquire again;
  return tupleOf(done);
}

nb::tuple applyToBytes(const nb::bytes& model, const std::string& pack, const Options& options) {
  const auto all = optionsOf(pack, options);
  const std::string_view bytes(model.c_str(), model.size());
  nb::gil_scoped_release others;
  const auto done = pet::applyToBytes(bytes, all);
  nb::gil_scoped_acquire again;
  return tupleOf(done);
}

}  // namespace

NB_MODULE(_pet, module) {
  module.attr("version") = pet_version();
  module.def("apply_to_file", applyToFile);
  module.def("apply_to_bytes", applyToBytes);
}
