/* Two devices under one test, each with a pool: gpu_fixture.h's on device 0, `second` on device 1.
 */
#ifndef GP_TESTS_GPU2_FIXTURE_H
#define GP_TESTS_GPU2_FIXTURE_H

#include "gpu_fixture.h"

extern gp_pool *second;

/* As GPU_TEST(), with both devices; device 0 is current at the start and has to be at the end. */
#define GPU2_TEST(suite, name)                                                                     \
    static void suite##_##name##_body(void);                                                       \
    Test(suite, name)                                                                              \
    {                                                                                              \
        gpu2_open();                                                                               \
        suite##_##name##_body();                                                                   \
        gpu2_close();                                                                              \
    }                                                                                              \
    static void suite##_##name##_body(void)

void gpu2_open(void);
void gpu2_close(void);

gp_pool *pool_of(int number); /* of the device with this ordinal */
void *alloc_on(int number, size_t bytes, cudaStream_t stream);
gp_pool_stats stats_of(int number);

#endif
