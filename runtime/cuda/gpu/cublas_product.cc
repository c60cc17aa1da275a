// Row-major products through a library that thinks in columns: the transposed of y = left · right is right' · left',
// and the transposed of a row-major matrix is the same memory, read by columns.

#include "runtime/cuda/gpu/cublas_product.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include <cublasLt.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/cuda/problem.h"

namespace pet::cuda {
namespace {

constexpr uint64_t kWorkspace = 32 << 20;
constexpr uint32_t kBorder = 16;  ///< bytes, of ProductCall's pointers

void check(cublasStatus_t status, std::string_view what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(fmt::format("cuBLASLt: {}: {}", what, cublasLtGetStatusString(status)));
}

cudaDataType_t typeOf(Precision precision) {
  return precision == Precision::kFp16 ? CUDA_R_16F : precision == Precision::kBf16 ? CUDA_R_16BF : CUDA_R_32F;
}

/// A row-major matrix as columns: `transposed` where not its rows but its columns are neighbours.
struct Columns {
  bool transposed = false;
  int64_t leading = 0;
};

std::optional<Columns> columnsOf(const TensorForm& form) {
  const int64_t row = form.strides[1], column = form.strides[2];
  if (column == 1 || form.extents[2] == 1) return Columns{false, std::max(row, form.extents[2])};
  if (row == 1 || form.extents[1] == 1) return Columns{true, std::max(column, form.extents[1])};
  return std::nullopt;
}

std::optional<cublasLtEpilogue_t> epilogueOf(const ProductCall& call) {
  using plan::Function;
  if (!call.activation) return call.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (call.activation->isRelu()) return call.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  if (call.activation->function == Function::kGeluTanh)
    return call.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  return std::nullopt;
}

class Layout {
 public:
  Layout(cudaDataType_t type, const TensorForm& form, const Columns& columns, int64_t batch) {
    const auto rows = static_cast<uint64_t>(columns.transposed ? form.extents[1] : form.extents[2]);
    const auto across = static_cast<uint64_t>(columns.transposed ? form.extents[2] : form.extents[1]);
    check(cublasLtMatrixLayoutCreate(&layout_, type, rows, across, columns.leading), "a matrix");
    const auto count = static_cast<int32_t>(batch);
    const int64_t stride = form.extents[0] == 1 ? 0 : form.strides[0];
    check(cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
          "a batch");
    check(
        cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
        "a batch");
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(layout_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

/// A product as cuBLASLt has it described, whatever its algorithm.
class Description {
 public:
  Description(const ProductCall& call, Precision precision, cublasLtEpilogue_t epilogue)
      : right(typeOf(precision), call.right, *columnsOf(call.right), call.y.extents[0]),
        left(typeOf(precision), call.left, *columnsOf(call.left), call.y.extents[0]),
        y(typeOf(precision), call.y, *columnsOf(call.y), call.y.extents[0]),
        hasBias(call.bias) {
    check(cublasLtMatmulDescCreate(
              &what_, precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, operationOf(call.right));
    set(CUBLASLT_MATMUL_DESC_TRANSB, operationOf(call.left));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (call.bias) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, typeOf(precision));
  }
  ~Description() { cublasLtMatmulDescDestroy(what_); }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  cublasLtMatmulDesc_t get() const { return what_; }
  void setBias(const void* bias) { set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }

  const Layout right, left, y;
  const bool hasBias;

 private:
  static cublasOperation_t operationOf(const TensorForm& form) {
    return columnsOf(form)->transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check(cublasLtMatmulDescSetAttribute(what_, attribute, &value, sizeof value), "an attribute of a product");
  }

  cublasLtMatmulDesc_t what_ = nullptr;
};

/// What is kept of an algorithm: the library's own words, of which it says that they can be stored.
std::string textOf(const cublasLtMatmulAlgo_t& algorithm) {
  return fmt::format("{:016x}", fmt::join(algorithm.data, " "));
}

std::optional<cublasLtMatmulAlgo_t> algorithmIn(const std::string& text) {
  cublasLtMatmulAlgo_t algorithm{};
  std::istringstream words(text);
  for (uint64_t& word : algorithm.data)
    words >> std::hex >> word;
  return words ? std::optional(algorithm) : std::nullopt;
}

class CublasCall final : public Call {
 public:
  CublasCall(std::shared_ptr<Description> product,
             const cublasLtMatmulHeuristicResult_t& algorithm,
             const CublasTarget& target)
      : product_(std::move(product)), algorithm_(algorithm), target_(target) {}

  void run(std::span<const Address> pointers, Address workspace) override {
    if (!target_.handle) throw std::runtime_error("cuBLASLt has no device");
    if (product_->hasBias) product_->setBias(pointers[3]);
    const float one = 1, zero = 0;
    check(cublasLtMatmul(static_cast<cublasLtHandle_t>(target_.handle), product_->get(), &one, pointers[2],
                         product_->right.get(), pointers[1], product_->left.get(), &zero, pointers[0],
                         product_->y.get(), pointers[0], product_->y.get(), &algorithm_.algo, workspace,
                         algorithm_.workspaceSize, static_cast<cudaStream_t>(target_.stream)),
          "a product failed");
  }
  int64_t workspaceBytes() const override { return static_cast<int64_t>(algorithm_.workspaceSize); }
  std::string name() const override { return "cuBLASLt"; }
  std::string kept() const override { return target_.handle ? textOf(algorithm_.algo) : ""; }

 private:
  std::shared_ptr<Description> product_;
  cublasLtMatmulHeuristicResult_t algorithm_;
  const CublasTarget& target_;
};

class CublasPlans final : public Plans {
 public:
  CublasPlans(const ProductCall& call, Precision precision, const CublasTarget& target, cublasLtEpilogue_t epilogue)
      : call_(call),
        precision_(precision),
        target_(target),
        product_(std::make_shared<Description>(call, precision, epilogue)) {}

  std::string problem() const override {
    return fmt::format("cuBLASLt {}, form {}: {}", cublasLtGetVersion(), kForm, problemOf(call_, precision_));
  }
  std::vector<int64_t> elements() const override { return elementsOf(call_); }

  /// Without a device, one that only describes the product.
  Expected<size_t> count() override {
    found_.resize(1);
    if (!target_.handle) return size_t{1};
    try {
      found_ = algorithms();
    } catch (const std::runtime_error& e) {
      return fail(ErrorKind::kUnsupported, e.what());
    }
    if (found_.empty()) return fail(ErrorKind::kUnsupported, "cuBLASLt has no algorithm for a product");
    return found_.size();
  }
  Expected<std::unique_ptr<Call>> build(size_t i) override {
    return std::make_unique<CublasCall>(product_, found_[i], target_);
  }
  Expected<std::unique_ptr<Call>> restore(const std::string& kept) override {
    const auto algorithm = algorithmIn(kept);
    cublasLtMatmulHeuristicResult_t found{};
    if (!algorithm || !target_.handle ||
        cublasLtMatmulAlgoCheck(handle(), product_->get(), product_->right.get(), product_->left.get(),
                                product_->y.get(), product_->y.get(), &*algorithm, &found) != CUBLAS_STATUS_SUCCESS)
      return fail(ErrorKind::kUnsupported, "no algorithm of cuBLASLt's for this product");
    found.algo = *algorithm;
    return std::make_unique<CublasCall>(product_, found, target_);
  }

 private:
  /// Raised when a kept algorithm is no longer one of the product that Description makes.
  static constexpr int kForm = 2;
  static constexpr int kMost = 16;

  cublasLtHandle_t handle() const { return static_cast<cublasLtHandle_t>(target_.handle); }

  /// The heuristics' choices, for operands and a result as ProductCall has them.
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms() {
    cublasLtMatmulPreference_t wanted = nullptr;
    check(cublasLtMatmulPreferenceCreate(&wanted), "a preference");
    cublasLtMatmulPreferenceSetAttribute(wanted, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
                                         sizeof kWorkspace);
    for (auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      cublasLtMatmulPreferenceSetAttribute(wanted, attribute, &kBorder, sizeof kBorder);
    std::vector<cublasLtMatmulHeuristicResult_t> found(kMost);
    int count = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle(), product_->get(), product_->right.get(), product_->left.get(),
                                       product_->y.get(), product_->y.get(), wanted, kMost, found.data(), &count);
    cublasLtMatmulPreferenceDestroy(wanted);
    check(status, "no algorithm");
    found.resize(static_cast<size_t>(count));
    std::erase_if(found, [](const auto& f) { return f.state != CUBLAS_STATUS_SUCCESS; });
    return found;
  }

  ProductCall call_;
  Precision precision_;
  const CublasTarget& target_;
  std::shared_ptr<Description> product_;
  std::vector<cublasLtMatmulHeuristicResult_t> found_;
};

}  // namespace

Expected<std::unique_ptr<Plans>> cublasProduct(const ProductCall& call,
                                               Precision precision,
                                               const CublasTarget& target) {
  if (!columnsOf(call.left) || !columnsOf(call.right) || !columnsOf(call.y))
    return fail(ErrorKind::kUnsupported, "neither rows nor columns are neighbours");
  const auto epilogue = epilogueOf(call);
  if (!epilogue) return fail(ErrorKind::kUnsupported, "a function that cuBLASLt has not behind a product");
  try {
    return std::make_unique<CublasPlans>(call, precision, target, *epilogue);
  } catch (const std::runtime_error& e) {
    return fail(ErrorKind::kUnsupported, e.what());
  }
}

}  // namespace pet::cuda
