# The share folder: what the tools come with, build/share/pet while we build and share/pet once it is installed, beside the
# folder of the binaries either way (tools/common/share.h). Then what is installed, by component (docs/install.md).

set(share "${CMAKE_BINARY_DIR}/share/pet")
file(MAKE_DIRECTORY "${share}")
file(GLOB timings CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/packs/*.timings.jsonl")
foreach(file IN LISTS timings)
  get_filename_component(name "${file}" NAME)
  file(CREATE_LINK "${file}" "${share}/${name}" SYMBOLIC)
endforeach()
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/rules/patterns" "${share}/patterns" SYMBOLIC)
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/runtime/ort" "${share}/ort" SYMBOLIC)
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/runtime/cuda/devices" "${share}/cuda" SYMBOLIC)

# The default pack, and its digest as a source file: a library of its own, so that nothing else waits for the pack to be compiled.
add_executable(make_pack tools/build/make_pack.cc)
target_link_libraries(make_pack PRIVATE pet_pack)
set_target_properties(make_pack PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
set(default_text "${PROJECT_SOURCE_DIR}/packs/default.pet")
set(default_digest "${CMAKE_BINARY_DIR}/generated/default_pack.cc")
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/generated")
add_custom_command(
  OUTPUT "${share}/default.db" "${default_digest}"
  COMMAND make_pack "${share}/default.db" "${default_digest}" "${default_text}"
  DEPENDS make_pack "${default_text}"
  VERBATIM)
add_library(pet_default_pack STATIC "${default_digest}")
target_link_libraries(pet_default_pack PRIVATE pet_options)
set_target_properties(pet_default_pack PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
target_link_libraries(pet_tools_apply INTERFACE pet_default_pack)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME tools)
install(TARGETS pet-apply RUNTIME DESTINATION bin COMPONENT applier)
foreach(component applier library)
  install(FILES "${share}/default.db" ${timings} DESTINATION share/pet COMPONENT ${component})
  install(DIRECTORY runtime/ort/ DESTINATION share/pet/ort COMPONENT ${component}
    FILES_MATCHING REGEX "\\.(py|json)$" PATTERN __pycache__ EXCLUDE)
endforeach()
foreach(component applier library tools)
  install(DIRECTORY runtime/cuda/devices/ DESTINATION share/pet/cuda COMPONENT ${component})
endforeach()
if(PET_ALL)
  list(REMOVE_ITEM tools pet-apply)
  install(TARGETS ${tools} RUNTIME DESTINATION bin COMPONENT tools)
  install(DIRECTORY rules/patterns DESTINATION share/pet COMPONENT tools FILES_MATCHING PATTERN "*.pet")
endif()
