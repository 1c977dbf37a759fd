#include "fail.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void example_fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "inference_pipeline: %s: %s\n", what, why);
    /* Not exit(): other threads may be in the middle of a request. */
    _Exit(EXIT_FAILURE);
}
