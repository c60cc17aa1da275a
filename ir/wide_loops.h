#pragma once

// Loops of one function in vectors as wide as the processor has, chosen when the program runs, where the compiler can
// do that. What they call is to be inlined.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PET_WIDE_LOOPS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PET_WIDE_LOOPS
#endif
