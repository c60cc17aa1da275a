# pet_onnx_schema: the ONNX protobuf classes, generated from the schema that the pinned PyPI wheel `onnx` carries in .venv
# (to build the applier alone, any other copy of it serves).
# Its header is "onnx/onnx-ml.pb.h", the namespace `onnx`, and its messages are of the lite runtime (no reflection, no text
# form): the schema says so itself. Only applier/onnx/ sees the header.

find_package(Protobuf 3.21 REQUIRED)

set(PET_ONNX_PROTO "" CACHE FILEPATH "onnx-ml.proto; empty: the one of .venv, else of the system (libonnx-dev)")
set(onnx_proto "${PET_ONNX_PROTO}")
if(NOT onnx_proto)
  file(GLOB onnx_proto "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/onnx/onnx-ml.proto")
endif()
if(NOT onnx_proto)
  find_file(PET_SYSTEM_ONNX_PROTO onnx/onnx-ml.proto)
  set(onnx_proto "${PET_SYSTEM_ONNX_PROTO}")
endif()
if(NOT EXISTS "${onnx_proto}")
  message(FATAL_ERROR
    "no onnx-ml.proto in .venv or in the system: run tools/setup.sh, install libonnx-dev, or name one with -DPET_ONNX_PROTO=")
endif()

set(generated "${PROJECT_BINARY_DIR}/generated")
configure_file("${onnx_proto}" "${generated}/onnx/onnx-ml.proto" COPYONLY)
add_custom_command(
  OUTPUT "${generated}/onnx/onnx-ml.pb.cc" "${generated}/onnx/onnx-ml.pb.h"
  COMMAND protobuf::protoc "--proto_path=${generated}" "--cpp_out=${generated}" onnx/onnx-ml.proto
  DEPENDS "${generated}/onnx/onnx-ml.proto"
  VERBATIM)

add_library(pet_onnx_schema STATIC "${generated}/onnx/onnx-ml.pb.cc" "${generated}/onnx/onnx-ml.pb.h")
target_include_directories(pet_onnx_schema SYSTEM PUBLIC "${generated}")
target_link_libraries(pet_onnx_schema PUBLIC protobuf::libprotobuf-lite)
target_compile_options(pet_onnx_schema PRIVATE -w)
set_target_properties(pet_onnx_schema PROPERTIES CXX_CLANG_TIDY "")
