# page_files.h: the files that the report's page is made of, as text in the binary.
set(page_folder "${PROJECT_SOURCE_DIR}/tools/apply/page")
set(page_header "${PROJECT_BINARY_DIR}/embedded/tools/apply/page/page_files.h")
set(page_files "${page_folder}/page.html" "${page_folder}/page.css" "${page_folder}/page.js")
add_custom_command(
  OUTPUT "${page_header}"
  COMMAND "${CMAKE_COMMAND}" -DFOLDER=${page_folder} -DOUT=${page_header} -P "${PROJECT_SOURCE_DIR}/cmake/write_page_files.cmake"
  DEPENDS ${page_files} "${PROJECT_SOURCE_DIR}/cmake/write_page_files.cmake"
  VERBATIM)
target_sources(pet_tools_apply PRIVATE "${page_header}")
target_include_directories(pet_tools_apply PRIVATE "${PROJECT_BINARY_DIR}/embedded")
