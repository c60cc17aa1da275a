# searchCode(), for pet_scale: a digest of the sources that the outcomes of a search come from. Outcomes that another
# build has stored are not taken for this one's.
file(GLOB_RECURSE search_sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
     "${PROJECT_SOURCE_DIR}/ir/*.cc" "${PROJECT_SOURCE_DIR}/ir/*.h" "${PROJECT_SOURCE_DIR}/synth/*.cc"
     "${PROJECT_SOURCE_DIR}/synth/*.h")
file(GLOB rules_sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/rules/*.cc"
     "${PROJECT_SOURCE_DIR}/rules/*.h")
list(APPEND search_sources ${rules_sources})
list(SORT search_sources)
string(REPLACE ";" "\n" search_list "${search_sources}")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/search_code.list" CONTENT "${search_list}\n")
list(TRANSFORM search_sources PREPEND "${PROJECT_SOURCE_DIR}/")
add_custom_command(
  OUTPUT "${CMAKE_BINARY_DIR}/search_code.cc"
  COMMAND "${CMAKE_COMMAND}" -DROOT=${PROJECT_SOURCE_DIR} -DLIST=${CMAKE_BINARY_DIR}/search_code.list
          -DOUT=${CMAKE_BINARY_DIR}/search_code.cc -P "${PROJECT_SOURCE_DIR}/cmake/write_search_code.cmake"
  DEPENDS ${search_sources} "${CMAKE_BINARY_DIR}/search_code.list"
          "${PROJECT_SOURCE_DIR}/cmake/write_search_code.cmake"
  VERBATIM)
target_sources(pet_scale PRIVATE "${CMAKE_BINARY_DIR}/search_code.cc")
