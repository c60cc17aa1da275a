#pragma once

namespace pet::check {

/// Unknown is never rounded up.
enum class Verdict { kProved, kRefuted, kUnknown };

}  // namespace pet::check
