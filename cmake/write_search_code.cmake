# Writes OUT, a source file with searchCode(): the digest of the files that LIST names, one a line, relative to ROOT.
file(STRINGS "${LIST}" sources)
set(all "")
foreach(source IN LISTS sources)
  file(SHA256 "${ROOT}/${source}" digest)
  string(APPEND all "${source} ${digest}\n")
endforeach()
string(SHA256 digest "${all}")
file(WRITE "${OUT}" "#include \"synth/scale/identity.h\"

namespace pet {

std::string searchCode() {
  return \"${digest}\";
}

}  // namespace pet
")
