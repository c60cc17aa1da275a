# libpet: pet-apply and sessions as a library (include/pet/), and its CMake package. It exports the C interface and nothing else, so that
# it meets no other copy of what it links; the C++ interface is inline over it.

set(parts pet_ir pet_rules pet_pack pet_gain pet_runtime pet_onnx_schema pet_onnx pet_infer pet_applier pet_session pet_tools pet_tools_apply)
if(PET_APPLY_ENGINE)
  list(APPEND parts pet_plan pet_onednn)
endif()
foreach(part IN LISTS parts)
  if(TARGET ${part}_loops)
    list(APPEND parts ${part}_loops)
  endif()
endforeach()
set_target_properties(${parts} PROPERTIES
  POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

add_library(pet SHARED library/pet.cc library/session.cc)
target_link_libraries(pet PRIVATE pet_tools_apply pet_session)
if(PET_APPLY_ENGINE)
  target_link_libraries(pet PRIVATE pet_onednn)
  target_compile_definitions(pet PRIVATE PET_APPLY_ENGINE)
endif()
target_compile_definitions(pet PRIVATE PET_BUILDS_LIBRARY)
target_include_directories(pet PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>")
target_link_options(pet PRIVATE "-Wl,--version-script=${PROJECT_SOURCE_DIR}/library/pet.map")
set_target_properties(pet PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib" VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  CXX_VISIBILITY_PRESET hidden LINK_DEPENDS "${PROJECT_SOURCE_DIR}/library/pet.map")

include(CMakePackageConfigHelpers)
set(package lib/cmake/pet)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/petConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(TARGETS pet EXPORT pet LIBRARY DESTINATION lib COMPONENT library)
install(EXPORT pet NAMESPACE pet:: FILE petConfig.cmake DESTINATION ${package} COMPONENT library)
install(FILES "${CMAKE_BINARY_DIR}/petConfigVersion.cmake" DESTINATION ${package} COMPONENT library)
install(FILES include/pet/pet.h include/pet/apply.h include/pet/session.h DESTINATION include/pet COMPONENT library)
