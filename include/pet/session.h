// pet runs ONNX models on its own engine: the C++ interface of the library, for C++17 and later.
//
//     pet::Session session("model.onnx");
//     if (!session) std::cerr << session.message() << "\n";      // one line: where, what, what to do
//     std::vector<float> pixels(3 * 224 * 224);
//     pet::SessionValues values = session.run({pet::TensorView::of("input", {1, 3, 224, 224}, pixels.data())});
//     if (!values) std::cerr << values.message() << "\n";
//     else use(values[0].as<float>());
//
// All of it is inline over the C interface (pet/pet.h), which says what runs where, and more about threads and memory:
// so the library may be built by another compiler than the program. Nothing throws but std::bad_alloc.
#ifndef PET_SESSION_H
#define PET_SESSION_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <pet/pet.h>

namespace pet {

namespace detail {

/// ONNX's number of the type that T is in memory; 0: none. Of a truth value, bool.
template <class T>
constexpr int typeNumber() {
  if (std::is_same_v<T, float>) return PET_FLOAT;
  if (std::is_same_v<T, double>) return PET_DOUBLE;
  if (std::is_same_v<T, bool>) return PET_BOOL;
  if (!std::is_integral_v<T>) return 0;
  if (sizeof(T) == 1) return std::is_signed_v<T> ? PET_INT8 : PET_UINT8;
  if (sizeof(T) == 2) return std::is_signed_v<T> ? PET_INT16 : PET_UINT16;
  if (sizeof(T) == 4) return std::is_signed_v<T> ? PET_INT32 : PET_UINT32;
  return std::is_signed_v<T> ? PET_INT64 : PET_UINT64;
}

}  // namespace detail

/// A tensor of somebody's who outlives it: row-major; of an input or output that is only declared, without data.
struct TensorView {
  std::string name;
  int type = 0;                  ///< ONNX's number: PET_FLOAT, …
  std::vector<int64_t> extents;  ///< -1: the model leaves it open
  const void* data = nullptr;
  size_t bytes = 0;

  /// As many elements as the extents say.
  template <class T>
  static TensorView of(std::string name, std::vector<int64_t> extents, const T* data) {
    static_assert(detail::typeNumber<T>() != 0, "a type of ONNX's");
    size_t count = 1;
    for (int64_t e : extents)
      count *= static_cast<size_t>(e);
    return {std::move(name), detail::typeNumber<T>(), std::move(extents), data, count * sizeof(T)};
  }
  /// The elements; null where they are of another type.
  template <class T>
  const T* as() const {
    return type == detail::typeNumber<T>() ? static_cast<const T*>(data) : nullptr;
  }
};

namespace detail {

inline TensorView viewOf(const pet_tensor& t) {
  return {t.name, t.type, std::vector<int64_t>(t.extents, t.extents + t.rank), t.data, t.size};
}

}  // namespace detail

/// The outputs of a run, or why it failed. They may outlive the session.
class SessionValues {
 public:
  SessionValues(pet_status status, pet_values* values) : status_(status), values_(values) {
    if (!values) throw std::bad_alloc();
  }

  explicit operator bool() const { return status_ == PET_OK; }
  pet_status status() const { return status_; }
  /// Why it failed; "" where it did not.
  std::string message() const { return pet_values_message(values_.get()); }
  /// How many outputs there are: those of the model, or none.
  size_t size() const { return pet_values_count(values_.get()); }
  /// In the order of Session::outputs(); it points into these values.
  TensorView operator[](size_t i) const { return detail::viewOf(pet_values_at(values_.get(), i)); }

 private:
  struct Free {
    void operator()(pet_values* values) const { pet_values_free(values); }
  };
  pet_status status_;
  std::unique_ptr<pet_values, Free> values_;
};

/// How a session runs; see pet_session_open.
struct SessionSettings {
  int threads = 1;
  int plans = 4;
  bool winograd = true;
};

/// A model that is ready to run, or why it is not.
class Session {
 public:
  /// The model in a file.
  explicit Session(const std::string& model, const SessionSettings& settings = {}) {
    const Options options(settings);
    take([&](pet_session** s) { return pet_session_open(model.c_str(), options.all, Options::kCount, s); });
  }
  /// A model in memory, without external data.
  static Session ofBytes(std::string_view model, const SessionSettings& settings = {}) {
    const Options options(settings);
    Session session;
    session.take([&](pet_session** s) {
      return pet_session_open_bytes(model.data(), model.size(), options.all, Options::kCount, s);
    });
    return session;
  }

  explicit operator bool() const { return status_ == PET_OK; }
  pet_status status() const { return status_; }
  /// Why it is not ready; "" where it is.
  std::string message() const { return pet_session_message(session_.get()); }

  /// As the model declares them; none where it is not ready.
  std::vector<TensorView> inputs() const {
    std::vector<TensorView> all;
    for (size_t i = 0; i < pet_session_input_count(session_.get()); ++i)
      all.push_back(detail::viewOf(pet_session_input(session_.get(), i)));
    return all;
  }
  std::vector<TensorView> outputs() const {
    std::vector<TensorView> all;
    for (size_t i = 0; i < pet_session_output_count(session_.get()); ++i)
      all.push_back(detail::viewOf(pet_session_output(session_.get(), i)));
    return all;
  }
  /// Bytes of intermediate values; see pet_session_arena_bytes.
  int64_t arenaBytes() const { return pet_session_arena_bytes(session_.get()); }

  /// One tensor for each input, in any order.
  SessionValues run(const std::vector<TensorView>& inputs) {
    std::vector<pet_tensor> all;
    for (const TensorView& t : inputs)
      all.push_back({t.name.c_str(), t.type, t.extents.data(), t.extents.size(), t.data, t.bytes});
    pet_values* values = nullptr;
    const pet_status status = pet_session_run(session_.get(), all.data(), all.size(), &values);
    return SessionValues(status, values);
  }

 private:
  struct Options {
    static constexpr size_t kCount = 3;
    explicit Options(const SessionSettings& s)
        : threads(std::to_string(s.threads)),
          plans(std::to_string(s.plans)),
          all{{"threads", threads.c_str()}, {"plans", plans.c_str()}, {"winograd", s.winograd ? "1" : "0"}} {}
    Options(const Options&) = delete;
    std::string threads, plans;
    pet_option all[kCount];
  };
  struct Free {
    void operator()(pet_session* session) const { pet_session_free(session); }
  };

  Session() = default;
  template <class Open>
  void take(const Open& open) {
    pet_session* session = nullptr;
    status_ = open(&session);
    if (!session) throw std::bad_alloc();
    session_.reset(session);
  }

  pet_status status_ = PET_INTERNAL;
  std::unique_ptr<pet_session, Free> session_;
};

}  // namespace pet

#endif  // PET_SESSION_H
