#include "contender.h"

const char *bench_mode_name(bench_mode mode)
{
    return mode == BENCH_MODE_ATTACHED ? "attached" : "checked";
}
