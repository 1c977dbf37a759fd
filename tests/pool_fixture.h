/*
 * A pool on the simulated device, for tests of what gp promises to its callers.
 *
 * Every test that uses it ends in pool_close(): the pool's invariants hold, no
 * access was out of order, no dead handle was named, and once the pool is gone the
 * device has every byte, event, stream and native pool back.
 */
#ifndef GP_TESTS_POOL_FIXTURE_H
#define GP_TESTS_POOL_FIXTURE_H

#include "gp/gp.h"
#include "gp/sim.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define KIB(n) ((size_t)1024 * (n))
#define MIB(n) ((size_t)1024 * 1024 * (n))
#define GIB(n) ((size_t)1024 * 1024 * 1024 * (n))

/* A call that succeeds, on gp and on the simulated device; one that fails so. */
#define GP(call) cr_assert(eq(int, (int)(call), (int)GP_OK), "%s: %s", #call, gp_last_error())
#define SIM(call) cr_assert(eq(int, (call), 0), "%s", #call)
#define FAILS(expected, call)                                                                      \
    cr_assert(eq(int, (int)(call), (int)(expected)), "%s: %s", #call, gp_last_error())

extern gp_pool *pool;

/* Suite's .init and .fini. The device has 4 GiB in granules of 2 MiB. */
void pool_open(void);
void pool_close(void);

/* What pool_open() makes; change a field and hand it to pool_reopen(). */
gp_sim_config pool_machine(void);
gp_pool_config pool_config(void);

/* Another pool in place of the present one, on another machine if one is given. */
void pool_reopen(const gp_sim_config *machine, const gp_pool_config *config);

/* All work of all devices is complete; no access was out of order. */
void pool_settle(void);

/* The test itself named a destroyed stream: such calls up to now are no fault. */
void pool_forgive_dead_handles(void);

cudaStream_t pool_stream(void);
cudaStream_t pool_attached_stream(void);
void pool_drop_stream(cudaStream_t stream);
uint64_t pool_stream_id(cudaStream_t stream);

void *pool_alloc(size_t bytes, cudaStream_t stream);
void pool_free(void *block, cudaStream_t stream);

/* Queue work of 1 us that writes, or only reads, a block. */
void pool_write(void *block, size_t bytes, cudaStream_t stream);
void pool_read(const void *block, size_t bytes, cudaStream_t stream);

/* A block of the stream that was written to and freed. */
void pool_use(size_t bytes, cudaStream_t stream);

/* `later` waits for what is queued on `earlier` so far. */
void pool_order(cudaStream_t earlier, cudaStream_t later);

/* Work queued on the stream from here on waits for the gate to open. */
gp_sim_gate pool_close_gate(cudaStream_t stream);
void pool_open_gate(gp_sim_gate gate);

gp_pool_stats pool_stats(void);

/* Nothing that a caller can see has changed since `before`. */
void pool_expect_unchanged(const gp_pool_stats *before);

/* Run a function in another thread, which ends with it. */
void pool_in_thread(void (*function)(void *), void *argument);

#endif
