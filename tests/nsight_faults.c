/*
 * A program with one fault, for Compute Sanitizer to find in a pool with annotate_memory; and one
 * whose kernel runs inside a range of gp, for Nsight Compute to select. script/nsight-verify runs
 * it under them.
 *
 *   nsight_faults clean|overrun|use-after-free|leak|pressure [cuda|sim]
 *
 * On the simulated device it finds out for itself what went wrong, so only what is sound runs
 * there.
 */
#include "device.h"

#include "gp/gp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No multiple of what gp rounds to: an overrun lands in the block, but not in what was asked for.
 */
#define BLOCK_BYTES 1000

static const device_ops *device;
static gp_pool *pool;
static cudaStream_t stream;

static void require(bool holds, const char *what, const char *error)
{
    if (holds)
        return;
    (void)fprintf(stderr, "nsight_faults: %s: %s\n", what, error);
    exit(1);
}

#define RUN(call) require((call) == DEVICE_OK, #call, device_error())
#define GP(call) require((call) == GP_OK, #call, gp_last_error())

static void *allocate(void)
{
    void *block = NULL;
    GP(gp_alloc_from_pool_async(&block, BLOCK_BYTES, pool, stream));
    return block;
}

/* A kernel writes to the block, and is done. */
static void write_to(void *block, size_t bytes)
{
    RUN(device->fill(stream, block, bytes, 0x5a));
    RUN(device->stream_synchronize(stream));
}

/* ---- what it may do ---- */

static void be_clean(void)
{
    for (int i = 0; i < 100; i++) {
        void *block = allocate();
        write_to(block, BLOCK_BYTES);
        GP(gp_free_async(block, stream));
    }
    GP(gp_pool_destroy(pool));
}

static void overrun(void)
{
    void *block = allocate();
    write_to(block, BLOCK_BYTES + 8);
    GP(gp_free_async(block, stream));
    GP(gp_pool_destroy(pool));
}

static void use_after_free(void)
{
    void *block = allocate();
    write_to(block, BLOCK_BYTES);
    GP(gp_free_async(block, stream));
    write_to(block, BLOCK_BYTES);
    GP(gp_pool_destroy(pool));
}

static void leak(void)
{
    write_to(allocate(), BLOCK_BYTES);
}

/* Inside a range of gp: the caller's own way out of pressure, with a kernel in it. */
static bool write_under_pressure(void *user, gp_pool *from, size_t bytes)
{
    (void)from;
    (void)bytes;
    write_to(user, BLOCK_BYTES);
    return false;
}

static void run_out(void)
{
    void *kept = allocate();
    void *none = NULL;
    gp_pool_config config;
    GP(gp_free_async(kept, stream));
    GP(gp_pool_destroy(pool));

    gp_pool_config_init(&config);
    config.backend = device->kind;
    config.max_bytes = (size_t)64 << 20;
    config.on_pressure = write_under_pressure;
    RUN(device->plain_alloc(&config.pressure_user, BLOCK_BYTES));
    GP(gp_pool_create(&pool, &config));
    require(gp_alloc_from_pool_async(&none, (size_t)1 << 30, pool, stream) == GP_ERR_LIMIT,
            "an allocation past the limit", "it was served");
    GP(gp_pool_destroy(pool));
    RUN(device->plain_free(config.pressure_user));
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"clean", be_clean}, {"overrun", overrun},  {"use-after-free", use_after_free},
    {"leak", leak},      {"pressure", run_out},
};

static void open_all(const char *device_name)
{
    gp_pool_config config;
    device = device_open(device_name, 0);
    require(device != NULL, device_name, device_error());
    gp_pool_config_init(&config);
    config.backend = device->kind;
    config.annotate_memory = true;
    GP(gp_pool_create(&pool, &config));
    RUN(device->stream_create(&stream, true));
    GP(gp_stream_attach(pool, stream));
}

int main(int argc, char **argv)
{
    size_t mode = 0;
    while (mode < sizeof(modes) / sizeof(modes[0]) && argc >= 2 &&
           strcmp(modes[mode].name, argv[1]) != 0)
        mode++;
    if (argc < 2 || argc > 3 || mode == sizeof(modes) / sizeof(modes[0])) {
        (void)fprintf(stderr, "nsight_faults: a mode and a device; see the top of its source\n");
        return 2;
    }
    open_all(argc == 3 ? argv[2] : "cuda");
    modes[mode].run();
    device->close(0);
    (void)printf("%s: done\n", modes[mode].name);
    return 0;
}
