/* A simulated machine with two streams and a piece of native memory to cut up. */
#ifndef GP_TESTS_HAZARD_FIXTURE_H
#define GP_TESTS_HAZARD_FIXTURE_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "gp/sim.h"

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)

typedef struct hazard_fixture {
    cudaStream_t a; /* both are non-blocking */
    cudaStream_t b;
    uint64_t a_id;
    uint64_t b_id;
    cudaMemPool_t pool;
    void *segment; /* 1 MiB of native memory that everybody may use */
} hazard_fixture;

extern hazard_fixture fixture;

void open_fixture(void);

void write_on(cudaStream_t stream, void *base, size_t bytes);
void read_on(cudaStream_t stream, void *base, size_t bytes);

/* Order `to` after all that was queued on `from`. */
void order(cudaStream_t from, cudaStream_t to);

/* An address in the segment. */
void *at(size_t offset);

/* The one hazard that was found. */
gp_sim_hazard only_hazard(void);

#endif
