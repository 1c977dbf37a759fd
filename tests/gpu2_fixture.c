/* Opens both devices; two simulated ones come with a machine of their own. */
#include "gpu2_fixture.h"

#include "gp/sim.h"

#include <stdlib.h>
#include <string.h>

gp_pool *second;

static void make_two_simulated_devices(void)
{
    gp_sim_config machine;
    gp_sim_config_init(&machine);
    machine.device_count = 2;
    GP(gp_sim_reset(&machine));
}

void gpu2_open(void)
{
    const char *name = getenv("GP_TEST_DEVICE");
    if (name != NULL && strcmp(name, "sim") == 0)
        make_two_simulated_devices();
    gpu_open();
    RUN(device->open(1));
    gp_pool_config config = gpu_config();
    config.device = 1;
    GP(gp_pool_create(&second, &config));
    RUN(device->set_current(0));
}

void gpu2_close(void)
{
    RUN(device->set_current(1));
    RUN(device->synchronize());
    GP(gp_pool_check(second));
    GP(gp_pool_destroy(second));
    device->close(1);
    RUN(device->set_current(0));
    gpu_close();
}

gp_pool *pool_of(int number)
{
    return number == 0 ? pool : second;
}

void *alloc_on(int number, size_t bytes, cudaStream_t stream)
{
    void *block = NULL;
    GP(gp_alloc_from_pool_async(&block, bytes, pool_of(number), stream));
    return block;
}

gp_pool_stats stats_of(int number)
{
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    GP(gp_pool_get_stats(pool_of(number), &stats));
    return stats;
}
