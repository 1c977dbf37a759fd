/*
 * Names: numbers that a file uses for something, each with a value of the reader's. Addresses
 * become blocks so, and stream handles small indexes.
 */
#ifndef GP_BENCH_NAMES_H
#define GP_BENCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: empty. */
typedef struct bench_names {
    void *tree; /* of tsearch() */
    size_t count;
} bench_names;

/* The value of a name, which stays where it is; NULL if the name is not known. */
uint64_t *bench_names_find(const bench_names *names, uint64_t name);

/* Enter a name that is not known. False: out of memory. */
bool bench_names_add(bench_names *names, uint64_t name, uint64_t value);

/* The index of a name among all, in the order of first appearance. False: out of memory. */
bool bench_names_index(bench_names *names, uint64_t name, uint64_t *index);

void bench_names_destroy(bench_names *names);

#endif
