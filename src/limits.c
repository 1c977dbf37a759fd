#include "limits.h"

static size_t device_bytes(gp_backend *backend)
{
    gp_device_info info = {.struct_bytes = sizeof(info)};
    backend->ops->describe(backend, &info);
    return info.total_bytes;
}

static size_t part_of(size_t bytes, double fraction)
{
    return (size_t)((double)bytes * fraction);
}

/* Zero stands for no limit. */
static size_t bound(size_t bytes)
{
    return bytes == 0 ? SIZE_MAX : bytes;
}

static size_t lower(size_t a, size_t b)
{
    return a < b ? a : b;
}

void gp_limits_init(gp_limits *limits, const gp_pool_config *config, gp_backend *backend)
{
    const size_t total = device_bytes(backend);
    limits->max_bytes =
        lower(bound(config->max_bytes), bound(part_of(total, config->max_fraction)));
    limits->soft_bytes = bound(config->soft_bytes);
    limits->headroom_bytes = part_of(total, config->headroom_fraction);
}

bool gp_limits_leave_headroom(const gp_limits *limits, gp_backend *backend, size_t bytes)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (limits->headroom_bytes == 0 ||
        backend->ops->mem_info(backend, &free_bytes, &total_bytes) != GP_OK || free_bytes < bytes)
        return true;
    return free_bytes - bytes >= limits->headroom_bytes;
}
