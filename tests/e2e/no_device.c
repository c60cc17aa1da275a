// A driver without a device, for gpu_compiled.py: cuInit() finds none, and all else is asked too early. cuDNN then compiles
// kernels into its plans and does not try to load them. The script adds what else the toolkit's driver exports.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

enum { OK = 0, NOT_INITIALIZED = 3, NO_DEVICE = 100, NOT_FOUND = 500 };

int cuInit(unsigned flags) {
  (void)flags;
  return NO_DEVICE;
}

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return OK;
}

int cuGetErrorString(int error, const char** text) {
  (void)error;
  *text = "no CUDA-capable device is detected";
  return OK;
}

int cuGetErrorName(int error, const char** text) {
  (void)error;
  *text = "CUDA_ERROR_NO_DEVICE";
  return OK;
}

int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags, int* status) {
  Dl_info here;
  (void)version;
  (void)flags;
  dladdr((void*)&cuInit, &here);
  *function = dlsym(dlopen(here.dli_fname, RTLD_LAZY), name);
  if (status) *status = *function ? 0 : 1;
  return *function ? OK : NOT_FOUND;
}

int cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
