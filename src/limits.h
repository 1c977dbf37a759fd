/*
 * Limits: how much a pool may reserve, and how much of the device it leaves to others.
 *
 *     0 ───────── soft ─────────── max     of what the pool reserves
 *        grows     │  shares and    │  GP_ERR_LIMIT
 *                  │  gives back    │
 *                  │  before it     │
 *                  │  grows         │
 *
 *     0 ─────────────── near ───── max
 *        in steps, which  │  by just what is asked for (near_limit.h)
 *        get shorter      │
 *
 * The headroom is a part of the device that stays free, whoever took the rest of it. How much
 * that is now is asked at growth only: the question costs 5 us, growth 30 us at the least.
 */
#ifndef GP_SRC_LIMITS_H
#define GP_SRC_LIMITS_H

#include "backend.h"

typedef struct gp_limits {
    size_t max_bytes;      /* SIZE_MAX: no limit. */
    size_t near_bytes;     /* Above them the pool is near it; likewise. */
    size_t far_bytes;      /* Below them no more; likewise. */
    size_t soft_bytes;     /* SIZE_MAX: none. */
    size_t headroom_bytes; /* 0: none. */
} gp_limits;

/* Those of a config that was checked, on a device. */
void gp_limits_init(gp_limits *limits, const gp_pool_config *config, gp_backend *backend);

/* May a pool that has `reserved` bytes reserve so many more, as far as it alone is concerned? */
static inline bool gp_limits_allow(const gp_limits *limits, uint64_t reserved, size_t bytes)
{
    return bytes <= limits->max_bytes && reserved <= limits->max_bytes - bytes;
}

/* How large a step a pool that has `reserved` bytes grows by: `step`, a power of two, or so much
 * less that it is a small part of the room that the limit leaves. */
size_t gp_limits_step(const gp_limits *limits, uint64_t reserved, size_t step);

/*
 * Would the device have its headroom left after so many bytes more? A driver that does not say
 * how much is free, or has less than is asked for, is to answer for itself.
 */
bool gp_limits_leave_headroom(const gp_limits *limits, gp_backend *backend, size_t bytes);

/* What a new pool is to reserve at once: what its config asks for in whole segments, but no more
 * than the limits and the headroom have room for. */
size_t gp_limits_initial(const gp_limits *limits, const gp_pool_config *config,
                         gp_backend *backend);

#endif
