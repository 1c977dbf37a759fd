#include "names.h"

#include <search.h>
#include <stdlib.h>

typedef struct bench_name {
    uint64_t name; /* First, so that a key may be one of which only this is set. */
    uint64_t value;
} bench_name;

static int compare(const void *left, const void *right)
{
    uint64_t a = ((const bench_name *)left)->name;
    uint64_t b = ((const bench_name *)right)->name;
    return (a > b) - (a < b);
}

uint64_t *bench_names_find(const bench_names *names, uint64_t name)
{
    bench_name key = {.name = name};
    bench_name **found = tfind(&key, &names->tree, compare);
    return found != NULL ? &(*found)->value : NULL;
}

bool bench_names_add(bench_names *names, uint64_t name, uint64_t value)
{
    bench_name *added = malloc(sizeof(*added));
    if (added == NULL)
        return false;
    *added = (bench_name){.name = name, .value = value};
    if (tsearch(added, &names->tree, compare) == NULL) {
        free(added);
        return false;
    }
    names->count++;
    return true;
}

bool bench_names_index(bench_names *names, uint64_t name, uint64_t *index)
{
    const uint64_t *known = bench_names_find(names, name);
    *index = known != NULL ? *known : names->count;
    return known != NULL || bench_names_add(names, name, names->count);
}

void bench_names_destroy(bench_names *names)
{
    tdestroy(names->tree, free);
    *names = (bench_names){0};
}
