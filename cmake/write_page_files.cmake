# Writes OUT, a header with the text of page.html, page.css and page.js of FOLDER.
set(header "#pragma once\n\n#include <string_view>\n\nnamespace pet::tool {\n\n")
foreach(part Html Css Js)
  string(TOLOWER "${part}" extension)
  file(READ "${FOLDER}/page.${extension}" text)
  string(APPEND header "inline constexpr std::string_view kPage${part} = R\"page(${text})page\";\n")
endforeach()
file(WRITE "${OUT}" "${header}\n}  // namespace pet::tool\n")
