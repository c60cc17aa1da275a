// Sessions of the C interface (include/pet/pet.h) over session::ModelSession.

#include <charconv>
#include <string>
#include <vector>

#include <pet/pet.h>

#include "library/call.h"
#ifdef PET_APPLY_ENGINE
#include "runtime/onednn/onednn_engines.h"
#endif
#include "session/model_session.h"

namespace pet::library {

/// What a pet_tensor points to.
struct Declared {
  std::string name;
  int type = 0;
  std::vector<int64_t> extents;

  pet_tensor tensor(const void* data = nullptr, size_t size = 0) const {
    return {name.c_str(), type, extents.data(), extents.size(), data, size};
  }
};

}  // namespace pet::library

struct pet_session {
  std::string message;
  std::unique_ptr<pet::session::ModelSession> model;
  std::vector<pet::library::Declared> inputs, outputs;
};

struct pet_values {
  std::string message;
  std::vector<pet::library::Declared> declared;
  std::vector<pet::Constant> values;
};

namespace {

using namespace pet;
using library::call;

struct OpenOptions {
  int64_t threads = 1, plans = 4, winograd = 1;
};

Expected<OpenOptions> readOptions(const pet_option* options, size_t count) {
  OpenOptions read;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = options[i].name ? options[i].name : "", value = options[i].value ? options[i].value : "";
    int64_t* into = name == "threads" ? &read.threads : name == "plans" ? &read.plans : nullptr;
    if (name == "winograd") into = &read.winograd;
    if (!into) return fail(ErrorKind::kUsage, "is no option of a session", name, "there are threads, plans, winograd");
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *into);
    const bool isFlag = name == "winograd";
    const bool fits = *into >= (isFlag ? 0 : 1) && *into <= (isFlag ? 1 : 1024);
    if (error != std::errc() || end != value.data() + value.size() || !fits)
      return fail(ErrorKind::kUsage,
                  fmt::format("'{}' is no number from {} to {}", value, isFlag ? 0 : 1, isFlag ? 1 : 1024), name);
  }
  return read;
}

Engines enginesOf([[maybe_unused]] const OpenOptions& options) {
#ifdef PET_APPLY_ENGINE
  OneDnnOptions engine;
  engine.threads = static_cast<int>(options.threads);
  engine.winograd = options.winograd != 0;
  return oneDnnEngines(engine);
#else
  return {referenceEngine()};
#endif
}

std::vector<library::Declared> declaredBy(const std::vector<session::Port>& ports) {
  std::vector<library::Declared> result;
  for (const session::Port& port : ports) {
    result.push_back({port.name, static_cast<int>(port.element), {}});
    for (const auto& extent : port.extents)
      result.back().extents.push_back(extent.value_or(-1));
  }
  return result;
}

Expected<void> openModel(
    Expected<Model> model, const std::string& name, const pet_option* options, size_t count, pet_session& session) {
  auto read = readOptions(options, count);
  if (!read) return tl::unexpected(read.error());
  if (!model) return tl::unexpected(model.error());
  auto opened = session::ModelSession::of(*model, name, enginesOf(*read), {.plans = static_cast<size_t>(read->plans)});
  if (!opened) return tl::unexpected(opened.error());
  session.model = std::move(*opened);
  session.inputs = declaredBy(session.model->inputs());
  session.outputs = declaredBy(session.model->outputs());
  return {};
}

/// The caller's bytes, which outlive the call.
Expected<session::Feeds> feedsOf(const pet_tensor* inputs, size_t count) {
  session::Feeds feeds;
  for (size_t i = 0; i < count; ++i) {
    const pet_tensor& t = inputs[i];
    const std::string name = t.name ? t.name : "";
    if ((!t.extents && t.rank > 0) || (!t.data && t.size > 0))
      return fail(ErrorKind::kUsage, "it has no extents, or no data", name);
    Constant value{static_cast<ElementType>(t.type), Extents(t.extents, t.extents + t.rank), nullptr};
    for (int64_t extent : value.extents) {
      if (extent < 0) return fail(ErrorKind::kUsage, "it has an extent below 0", name);
    }
    const auto* data = static_cast<const char*>(t.data ? t.data : "");
    value.bytes = Bytes(std::string_view(data, t.size), std::shared_ptr<const void>(data, [](const void*) {}));
    if (!feeds.emplace(name, std::move(value)).second) return fail(ErrorKind::kUsage, "it is given twice", name);
  }
  return feeds;
}

/// An output may be an input, whose bytes are the caller's.
Constant owned(const Constant& value, const pet_tensor* inputs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const auto* data = static_cast<const char*>(inputs[i].data);
    const bool borrowed = data && value.bytes->data() >= data && value.bytes->data() < data + inputs[i].size;
    if (borrowed) return {value.element, value.extents, std::string(*value.bytes)};
  }
  return value;
}

Expected<void> runSession(pet_session& session, const pet_tensor* inputs, size_t count, pet_values& values) {
  if (!session.model) return fail(ErrorKind::kUsage, "the session was not opened");
  auto feeds = feedsOf(inputs, count);
  if (!feeds) return tl::unexpected(feeds.error());
  auto results = session.model->run(*feeds);
  if (!results) return tl::unexpected(results.error());
  for (size_t i = 0; i < results->size(); ++i) {
    values.values.push_back(owned((*results)[i], inputs, count));
    const Constant& value = values.values.back();
    values.declared.push_back({session.outputs[i].name, static_cast<int>(value.element), value.extents});
  }
  return {};
}

}  // namespace

pet_status pet_session_open(const char* model, const pet_option* options, size_t option_count, pet_session** session) {
  return call(session, [&](pet_session& s) {
    const std::string path = model ? model : "";
    return openModel(load(path), path, options, option_count, s);
  });
}

pet_status pet_session_open_bytes(
    const void* model, size_t size, const pet_option* options, size_t option_count, pet_session** session) {
  return call(session, [&](pet_session& s) {
    const Bytes bytes(std::string(static_cast<const char*>(model), size));
    return openModel(parseModel(bytes, "the model"), "the model", options, option_count, s);
  });
}

const char* pet_session_message(const pet_session* session) {
  return session->message.c_str();
}

size_t pet_session_input_count(const pet_session* session) {
  return session->inputs.size();
}

pet_tensor pet_session_input(const pet_session* session, size_t i) {
  return session->inputs.at(i).tensor();
}

size_t pet_session_output_count(const pet_session* session) {
  return session->outputs.size();
}

pet_tensor pet_session_output(const pet_session* session, size_t i) {
  return session->outputs.at(i).tensor();
}

int64_t pet_session_arena_bytes(const pet_session* session) {
  return session->model ? session->model->arenaBytes() : 0;
}

pet_status pet_session_run(pet_session* session, const pet_tensor* inputs, size_t input_count, pet_values** values) {
  return call(values, [&](pet_values& v) { return runSession(*session, inputs, input_count, v); });
}

const char* pet_values_message(const pet_values* values) {
  return values->message.c_str();
}

size_t pet_values_count(const pet_values* values) {
  return values->values.size();
}

pet_tensor pet_values_at(const pet_values* values, size_t i) {
  const pet::Constant& value = values->values.at(i);
  return values->declared[i].tensor(value.bytes->data(), value.bytes->size());
}

void pet_values_free(pet_values* values) {
  delete values;
}

void pet_session_free(pet_session* session) {
  delete session;
}
