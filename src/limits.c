#include "limits.h"

#include "request.h"

/* A step of growth is no more than this share of the room. What lies free in a segment beside a
 * live block is lost to the rest: with a few large steps more of it than a limit of a tenth above
 * what is live has to spare. */
#define STEP_SHARE 64

/* A pool is near its limit once less room is left than this share of the limit, and than so many
 * segments; and far from it again with three times that. */
#define NEAR_SHARE 4
#define NEAR_SEGMENTS 32
#define FAR_ROOMS 3

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

static void choose_near(gp_limits *limits, size_t segment_bytes)
{
    const size_t room = lower(limits->max_bytes / NEAR_SHARE, NEAR_SEGMENTS * segment_bytes);
    const bool is_limited = limits->max_bytes != SIZE_MAX;
    limits->near_bytes = is_limited ? limits->max_bytes - room : SIZE_MAX;
    limits->far_bytes = is_limited ? limits->max_bytes - FAR_ROOMS * room : SIZE_MAX;
}

void gp_limits_init(gp_limits *limits, const gp_pool_config *config, gp_backend *backend)
{
    const size_t total = device_bytes(backend);
    limits->max_bytes =
        lower(bound(config->max_bytes), bound(part_of(total, config->max_fraction)));
    choose_near(limits, config->segment_bytes);
    limits->soft_bytes = bound(config->soft_bytes);
    limits->headroom_bytes = part_of(total, config->headroom_fraction);
}

size_t gp_limits_step(const gp_limits *limits, uint64_t reserved, size_t step)
{
    const uint64_t room = reserved < limits->max_bytes ? limits->max_bytes - reserved : 0;
    while (step > GP_PAGE_BYTES && step > room / STEP_SHARE)
        step /= 2;
    return step;
}

/* A device that does not say how much is free may have all of it. */
static size_t free_beyond_headroom(const gp_limits *limits, gp_backend *backend)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (backend->ops->mem_info(backend, &free_bytes, &total_bytes) != GP_OK)
        free_bytes = device_bytes(backend);
    return free_bytes > limits->headroom_bytes ? free_bytes - limits->headroom_bytes : 0;
}

/* Rounding up needs room for it. */
static size_t whole_segments(size_t bytes, size_t room, size_t segment_bytes)
{
    const size_t up = gp_round_up(bytes, segment_bytes);
    return up <= room ? up : room & ~(GP_LARGE_STEP_BYTES - 1);
}

size_t gp_limits_initial(const gp_limits *limits, const gp_pool_config *config, gp_backend *backend)
{
    const size_t share = part_of(device_bytes(backend), config->initial_fraction);
    const size_t asked = config->initial_bytes > share ? config->initial_bytes : share;
    if (asked == 0)
        return 0;
    const size_t room = lower(limits->max_bytes, free_beyond_headroom(limits, backend));
    return whole_segments(lower(asked, room), room, config->segment_bytes);
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
