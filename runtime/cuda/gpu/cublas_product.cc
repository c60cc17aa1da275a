// Row-major products through a library that thinks in columns: the transposed of y = left · right is right' · left',
// and the transposed of a row-major matrix is the same memory, read by columns.

#include "runtime/cuda/gpu/cublas_product.h"

#include <algorithm>
#include <stdexcept>

#include <cublasLt.h>
#include <fmt/format.h>

namespace pet::cuda {
namespace {

constexpr uint64_t kWorkspace = 32 << 20;

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

class CublasCall final : public Call {
 public:
  CublasCall(const ProductCall& call, Precision precision, const CublasTarget& target, cublasLtEpilogue_t epilogue)
      : target_(target),
        bias_(call.bias),
        elementBytes_(static_cast<uint32_t>(bytesOf(storageOf(precision)))),
        right_(typeOf(precision), call.right, *columnsOf(call.right), call.y.extents[0]),
        left_(typeOf(precision), call.left, *columnsOf(call.left), call.y.extents[0]),
        y_(typeOf(precision), call.y, *columnsOf(call.y), call.y.extents[0]) {
    check(cublasLtMatmulDescCreate(
              &what_, precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, operationOf(call.right));
    set(CUBLASLT_MATMUL_DESC_TRANSB, operationOf(call.left));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (bias_) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, typeOf(precision));
    if (target_.handle) choose();
  }
  ~CublasCall() override { cublasLtMatmulDescDestroy(what_); }
  CublasCall(const CublasCall&) = delete;
  CublasCall& operator=(const CublasCall&) = delete;

  void run(std::span<const Address> pointers, Address workspace) override {
    if (!target_.handle) throw std::runtime_error("cuBLASLt has no device");
    if (bias_) {
      const void* bias = pointers[3];
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    const float one = 1, zero = 0;
    check(
        cublasLtMatmul(static_cast<cublasLtHandle_t>(target_.handle), what_, &one, pointers[2], right_.get(),
                       pointers[1], left_.get(), &zero, pointers[0], y_.get(), pointers[0], y_.get(), &algorithm_.algo,
                       workspace, algorithm_.workspaceSize, static_cast<cudaStream_t>(target_.stream)),
        "a product failed");
  }
  int64_t workspaceBytes() const override { return static_cast<int64_t>(algorithm_.workspaceSize); }
  std::string name() const override { return "cuBLASLt"; }

 private:
  static cublasOperation_t operationOf(const TensorForm& form) {
    return columnsOf(form)->transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check(cublasLtMatmulDescSetAttribute(what_, attribute, &value, sizeof value), "an attribute of a product");
  }

  /// The heuristics' first choice, for operands on any element.
  void choose() {
    cublasLtMatmulPreference_t wanted = nullptr;
    check(cublasLtMatmulPreferenceCreate(&wanted), "a preference");
    const uint32_t alignment = elementBytes_;
    cublasLtMatmulPreferenceSetAttribute(wanted, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
                                         sizeof kWorkspace);
    for (auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES})
      cublasLtMatmulPreferenceSetAttribute(wanted, attribute, &alignment, sizeof alignment);
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(static_cast<cublasLtHandle_t>(target_.handle), what_, right_.get(), left_.get(),
                                       y_.get(), y_.get(), wanted, 1, &algorithm_, &found);
    cublasLtMatmulPreferenceDestroy(wanted);
    check(status, "no algorithm");
    if (found == 0) throw std::runtime_error("cuBLASLt has no algorithm for a product");
  }

  const CublasTarget& target_;
  bool bias_;
  uint32_t elementBytes_;
  Layout right_, left_, y_;
  cublasLtMatmulDesc_t what_ = nullptr;
  cublasLtMatmulHeuristicResult_t algorithm_{};
};

}  // namespace

Expected<std::unique_ptr<Call>> cublasProduct(const ProductCall& call,
                                              Precision precision,
                                              const CublasTarget& target) {
  if (!columnsOf(call.left) || !columnsOf(call.right) || !columnsOf(call.y))
    return fail(ErrorKind::kUnsupported, "neither rows nor columns are neighbours");
  const auto epilogue = epilogueOf(call);
  if (!epilogue) return fail(ErrorKind::kUnsupported, "a function that cuBLASLt has not behind a product");
  try {
    return std::make_unique<CublasCall>(call, precision, target, *epilogue);
  } catch (const std::runtime_error& e) {
    return fail(ErrorKind::kUnsupported, e.what());
  }
}

}  // namespace pet::cuda
