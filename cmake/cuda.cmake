# The engine for NVIDIA GPUs. Its plans and the kernels that it generates need no CUDA (pet_cuda); what talks to CUDA, cuDNN
# and cuBLAS is a library of its own, libpet_cuda.so, which programs load when a GPU is asked for.

pet_library(pet_cuda FOLDERS runtime/cuda runtime/cuda/generate PUBLIC pet_plan PRIVATE "${CMAKE_DL_LIBS}")
pet_library(pet_cuda_host FOLDERS runtime/cuda/host PUBLIC pet_cuda)

# libpet_cuda.so is a part of the program that loads it: static libraries in it are the same code. So is what stands for it
# in tests.
set_target_properties(pet_cuda pet_cuda_host pet_plan pet_runtime pet_ir PROPERTIES POSITION_INDEPENDENT_CODE ON)

set(PET_CUDA AUTO CACHE STRING "libpet_cuda.so: AUTO (where CUDA, cuDNN and cudnn-frontend are found), ON or OFF")
set_property(CACHE PET_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PET_HAS_CUDA OFF)
if(NOT PET_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit 13 QUIET)
  # Header-only; tools/setup.sh installs it from its wheel.
  file(GLOB frontends "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/include")
  find_path(CUDNN_FRONTEND_INCLUDE cudnn_frontend.h HINTS ${frontends})
  find_path(CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
  set(missing "")
  foreach(found CUDAToolkit_FOUND CUDNN_FRONTEND_INCLUDE CUDNN_INCLUDE CUDNN_LIBRARY)
    if(NOT ${found})
      list(APPEND missing ${found})
    endif()
  endforeach()
  if(NOT missing)
    set(PET_HAS_CUDA ON)
  elseif(PET_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PET_CUDA=ON, but not found: ${missing}. CUDA 13, cuDNN 9 and cudnn-frontend are needed.")
  endif()
endif()
message(STATUS "CUDA: ${PET_HAS_CUDA}")

if(PET_HAS_CUDA)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/runtime/cuda/gpu/*.cc")
  add_library(pet_cuda_gpu MODULE ${sources})
  set_target_properties(pet_cuda_gpu PROPERTIES OUTPUT_NAME pet_cuda LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
    CXX_VISIBILITY_PRESET hidden UNITY_BUILD OFF)
  target_link_libraries(pet_cuda_gpu PRIVATE pet_cuda nlohmann_json::nlohmann_json
    CUDA::cudart CUDA::cublasLt CUDA::nvrtc "${CUDNN_LIBRARY}")
  target_include_directories(pet_cuda_gpu SYSTEM PRIVATE "${CUDNN_FRONTEND_INCLUDE}" "${CUDNN_INCLUDE}")
  target_compile_definitions(pet_cuda_gpu PRIVATE PET_CUDA_INCLUDE="${CUDAToolkit_INCLUDE_DIRS}")
  # The graph API's headers take half a minute to compile with optimisation, and nothing in them runs long.
  set_source_files_properties(runtime/cuda/gpu/cudnn_plan.cc PROPERTIES COMPILE_OPTIONS "-O0")
  install(TARGETS pet_cuda_gpu LIBRARY DESTINATION lib COMPONENT tools)
endif()
