/* What a request for a span asks for. */
#ifndef GP_SRC_FIT_H
#define GP_SRC_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gp_fit {
    size_t bytes;
    size_t alignment;
    bool chunk; /* For a chunk; else for a large block. */
} gp_fit;

/* Does a block serve as it is? */
static inline bool gp_fit_is_met(const gp_fit *fit, uintptr_t base, size_t bytes)
{
    return bytes == fit->bytes && (base & (fit->alignment - 1)) == 0;
}

#endif
