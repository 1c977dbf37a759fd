/* The least a program does with gp. Without a GPU it runs on the simulated device. */
#include "gp/gp.h"

#include <stdio.h>

int main(void)
{
    gp_pool *pool;
    gp_device_info device = {.struct_bytes = sizeof(device)};
    cudaStream_t stream = NULL; /* The default stream; in general one of your own. */
    void *block;

    gp_status status = gp_default_pool(&pool, 0);
    if (status == GP_OK)
        status = gp_pool_get_device(pool, &device);
    if (status == GP_OK)
        status = gp_alloc_async(&block, (size_t)3 << 20, stream);
    if (status == GP_OK) {
        printf("3 MiB at %p on %s\n", block, device.name);
        /* What is launched on the stream here may use the block. */
        status = gp_free_async(block, stream);
    }
    if (status != GP_OK)
        (void)fprintf(stderr, "%s: %s\n", gp_status_string(status), gp_last_error());
    return status != GP_OK;
}
