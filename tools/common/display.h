#pragma once

#include <string>
#include <string_view>

// Text on a terminal.
namespace pet::tool {

/// How many columns a text of UTF-8 takes: two for a wide character, none for one that is put on top of the one before.
size_t columnsOf(std::string_view text);
/// The longest beginning of a text that takes no more columns, whole characters only.
std::string_view cutTo(std::string_view text, size_t columns);

/// The text in bold where standard output is a terminal and NO_COLOR is not set.
std::string bold(std::string_view text);

}  // namespace pet::tool
