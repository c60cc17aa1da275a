// A GPU that computes nothing, for gpu_driver.py: loaded before CUDA's libraries, in place of those of their calls that
// need a driver. Memory is this process's; kernels and products leave it as it is. Of streams it knows whether one is
// recorded, and refuses what CUDA refuses then.
//
//   IDLE_GPU_DRIVER  a file that stands for what the driver's module says of its version

#define _GNU_SOURCE
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int place;  // what handles point to
static cudaStream_t recorded;

FILE* fopen64(const char* path, const char* mode) {
  FILE* (*next)(const char*, const char*) = (FILE * (*)(const char*, const char*)) dlsym(RTLD_NEXT, "fopen64");
  const char* driver = getenv("IDLE_GPU_DRIVER");
  return next(driver && strcmp(path, "/sys/module/nvidia/version") == 0 ? driver : path, mode);
}

// ---- the device

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* properties, int device) {
  (void)device;
  memset(properties, 0, sizeof *properties);
  strcpy(properties->name, "NVIDIA H200");
  properties->major = 9;
  properties->multiProcessorCount = 132;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->totalGlobalMem = (size_t)1 << 36;
  properties->l2CacheSize = 1 << 20;
  return cudaSuccess;
}

// ---- memory

cudaError_t cudaMalloc(void** address, size_t bytes) {
  *address = calloc(1, bytes);
  return *address ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaMallocHost(void** address, size_t bytes) {
  return cudaMalloc(address, bytes);
}
cudaError_t cudaFree(void* address) {
  free(address);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* address) {
  return cudaFree(address);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)kind;
  if (stream == recorded) return cudaErrorStreamCaptureUnsupported;  // to and from pages of any kind
  memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  (void)stream;
  memset(to, value, bytes);
  return cudaSuccess;
}

// ---- streams, events, recordings

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  (void)flags;
  *stream = (cudaStream_t)malloc(1);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  free(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return stream == recorded ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  (void)stream, (void)event, (void)flags;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  (void)flags;
  *event = (cudaEvent_t)&place;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  (void)event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  (void)event, (void)stream;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  (void)event;
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  (void)begin, (void)end;
  *milliseconds = 0.01F;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  (void)mode;
  if (recorded) return cudaErrorIllegalState;
  recorded = stream;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (stream != recorded) return cudaErrorIllegalState;
  recorded = NULL;
  *graph = (cudaGraph_t)&place;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* recording, cudaGraph_t graph, unsigned long long flags) {
  (void)graph, (void)flags;
  *recording = (cudaGraphExec_t)&place;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  (void)graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t recording) {
  (void)recording;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t recording, cudaStream_t stream) {
  (void)recording;
  return stream == recorded ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

// ---- kernels

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, enum cudaJitOption* options, void** values,
                                unsigned count, enum cudaLibraryOption* more, void** moreValues, unsigned moreCount) {
  (void)code, (void)options, (void)values, (void)count, (void)more, (void)moreValues, (void)moreCount;
  *library = (cudaLibrary_t)&place;
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  (void)library, (void)name;
  *kernel = (cudaKernel_t)&place;
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  (void)library;
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  (void)kernel, (void)grid, (void)block, (void)arguments, (void)shared, (void)stream;
  return cudaSuccess;
}

// ---- libraries

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = (cudnnHandle_t)&place;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  (void)handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  (void)handle, (void)stream;
  return CUDNN_STATUS_SUCCESS;
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = (cublasLtHandle_t)&place;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  (void)handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t wanted, int most,
                                              cublasLtMatmulHeuristicResult_t found[], int* count) {
  (void)handle, (void)product, (void)a, (void)b, (void)c, (void)d, (void)wanted, (void)most;
  memset(found, 0, sizeof *found);
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulHeuristicResult_t* found) {
  (void)handle, (void)product, (void)a, (void)b, (void)c, (void)d, (void)algorithm;
  memset(found, 0, sizeof *found);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t la, const void* b, cublasLtMatrixLayout_t lb, const void* beta,
                              const void* c, cublasLtMatrixLayout_t lc, void* d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t bytes,
                              cudaStream_t stream) {
  (void)handle, (void)product, (void)alpha, (void)a, (void)la, (void)b, (void)lb, (void)beta, (void)c, (void)lc;
  (void)d, (void)ld, (void)algorithm, (void)workspace, (void)bytes, (void)stream;
  return CUBLAS_STATUS_SUCCESS;
}
