/*
 * The device under a GPU test. Each test runs on a GPU and, where its logic does
 * not need one, a second time on the simulated device: GP_TEST_DEVICE=sim.
 *
 * What the pool did is asked of the device, not of the pool: patterns in memory
 * on a GPU, the hazard checker on the simulated device.
 */
#ifndef GP_TESTS_GPU_FIXTURE_H
#define GP_TESTS_GPU_FIXTURE_H

#include "device.h"

#include "gp/gp.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>

#define KIB(n) ((size_t)1024 * (n))
#define MIB(n) ((size_t)1024 * 1024 * (n))
#define GIB(n) ((size_t)1024 * 1024 * 1024 * (n))

/* Of test->device, of test->pool: in the main thread. */
#define RUN(call) cr_assert(eq(int, (call), DEVICE_OK), "%s", device_error())
#define GP(call) cr_assert(eq(int, (int)(call), GP_OK), "%s", gp_last_error())

/* The same in any thread: the first failure is kept for gpu_settle(). */
#define EXPECT_RUN(call) gpu_expect((call) == DEVICE_OK, #call, device_error())
#define EXPECT_GP(call) gpu_expect((call) == GP_OK, #call, gp_last_error())

extern const device_ops *device;
extern gp_pool *pool;

/*
 * A test that begins with a default pool on the device and ends with its check:
 * settled, sound, and destroyed with nothing live. In the test itself, since
 * Criterion lets a test pass whose .fini fails.
 */
#define GPU_TEST(suite, name)                                                                      \
    static void suite##_##name##_body(void);                                                       \
    Test(suite, name)                                                                              \
    {                                                                                              \
        gpu_open();                                                                                \
        suite##_##name##_body();                                                                   \
        gpu_close();                                                                               \
    }                                                                                              \
    static void suite##_##name##_body(void)

void gpu_open(void);
void gpu_close(void);

/* Replace the pool by one with another config. */
void gpu_reopen(const gp_pool_config *config);

/* A config on the device under test. */
gp_pool_config gpu_config(void);

/* Wait for the device; no byte may be wrong, no access out of order, no thread's
 * expectation have failed. */
void gpu_settle(void);

/* Returns `holds`. */
bool gpu_expect(bool holds, const char *what, const char *error);

cudaStream_t gpu_stream(void);          /* a new one that does not block */
cudaStream_t gpu_blocking_stream(void); /* a new one that legacy work waits for */
device_gate gpu_close_gate(cudaStream_t stream);
void gpu_open_gate(device_gate gate); /* then settle, and gpu_destroy_gate() */
void gpu_destroy_gate(device_gate gate);

/* `later` waits for what is queued on `earlier` so far. */
void gpu_order(cudaStream_t earlier, cudaStream_t later);

/* Wait for what is queued on the stream, which must not be behind a closed gate. No kernel may be
 * among it while another stream is: a memory checker ends none before the gate is open. */
void gpu_pass(cudaStream_t stream);

void *gpu_alloc(size_t bytes, cudaStream_t stream);
gp_pool_stats gpu_stats(void);

/* Run a function in another thread with the device current, and wait for it. */
void gpu_in_thread(void (*function)(void *), void *argument);

/* As gpu_in_thread() in two steps. */
typedef struct gpu_thread {
    pthread_t id;
    void (*function)(void *);
    void *argument;
} gpu_thread;
void gpu_thread_start(gpu_thread *thread, void (*function)(void *), void *argument);
void gpu_thread_join(gpu_thread *thread);

#endif
