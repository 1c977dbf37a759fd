/* Hints to the compiler, and the assertions of checked builds. */
#ifndef GP_SRC_COMPILER_H
#define GP_SRC_COMPILER_H

#include <assert.h>
#include <stdlib.h>

#ifndef GP_CHECKS
#define GP_CHECKS 0
#endif

#define GP_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define GP_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define GP_NOINLINE __attribute__((noinline))
#define GP_ALWAYS_INLINE static inline __attribute__((always_inline))

/* Keeps what threads write apart from what other threads write. */
#define GP_CACHE_LINE 64

/* Under ThreadSanitizer, which knows no fences and no membarrier. */
#if defined(__SANITIZE_THREAD__)
#define GP_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GP_TSAN 1
#endif
#endif
#ifndef GP_TSAN
#define GP_TSAN 0
#endif

/*
 * A broken invariant of gp itself. Compiled out of release builds (GP_CHECKS 0),
 * where nothing in gp ends the process.
 */
#if GP_CHECKS >= 1
#define GP_ASSERT(condition) assert(condition)
#else
#define GP_ASSERT(condition) ((void)sizeof(condition))
#endif

#endif
