#include "contender.h"

#include <string.h>

typedef const bench_contender_ops *(*contender_accessor)(void);

static const contender_accessor contenders[] = {
    bench_contender_cache_first,
    bench_contender_native,
};

#define CONTENDER_COUNT (sizeof(contenders) / sizeof(contenders[0]))

const bench_contender_ops *bench_contender_find(const char *name)
{
    for (size_t i = 0; i < CONTENDER_COUNT; i++) {
        const bench_contender_ops *ops = contenders[i]();
        if (strcmp(ops->name, name) == 0)
            return ops;
    }
    return NULL;
}

const char *bench_contender_names(void)
{
    static char names[256];
    names[0] = '\0';
    for (size_t i = 0; i < CONTENDER_COUNT; i++) {
        if (i > 0)
            strncat(names, ", ", sizeof(names) - strlen(names) - 1);
        strncat(names, contenders[i]()->name, sizeof(names) - strlen(names) - 1);
    }
    return names;
}

const char *bench_mode_name(bench_mode mode)
{
    return mode == BENCH_MODE_ATTACHED ? "attached" : "checked";
}
