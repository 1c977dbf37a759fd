/* gp with any policy, its streams attached or checked. */
#include "contender.h"

#include "gp/gp.h"

#include <stdlib.h>
#include <string.h>

#define MAX_POLICIES 32
#define NAME_CHARS 64

typedef struct gp_contender {
    bench_contender base; /* must be first */
    gp_pool *pool;
    bench_mode mode;
} gp_contender;

/* The table hands out the base, which is the first member. */
static gp_contender *self_of(bench_contender *contender)
{
    return (gp_contender *)(void *)contender;
}

/* At most `max_bytes` reserved; 0: no limit. */
static int gp_contender_open_limited(const bench_contender_ops *ops, bench_contender **contender,
                                     const device_ops *device, bench_mode mode, size_t max_bytes)
{
    gp_contender *self = calloc(1, sizeof(*self));
    if (self == NULL)
        return GP_ERR_OUT_OF_HOST_MEMORY;

    gp_pool_config config;
    gp_pool_config_init(&config);
    config.backend = device->kind;
    config.policy = ops->context;
    config.max_bytes = max_bytes;
    gp_status status = gp_pool_create(&self->pool, &config);
    if (status != GP_OK) {
        free(self);
        return (int)status;
    }
    self->base = (bench_contender){.ops = ops, .device = device};
    self->mode = mode;
    *contender = &self->base;
    return 0;
}

static int gp_contender_open(const bench_contender_ops *ops, bench_contender **contender,
                             const device_ops *device, bench_mode mode)
{
    return gp_contender_open_limited(ops, contender, device, mode, 0);
}

static bool gp_contender_is_refusal(int code)
{
    return code == GP_ERR_LIMIT || code == GP_ERR_OUT_OF_MEMORY;
}

static void gp_contender_close(bench_contender *contender)
{
    gp_contender *self = self_of(contender);
    /* Forced: after a failed run blocks may be live, and the run has said so. */
    gp_status ignored = gp_pool_destroy_forced(self->pool);
    (void)ignored;
    free(self);
}

static int gp_contender_warm(bench_contender *contender, const char *path)
{
    return (int)gp_pool_warm_from_trace(self_of(contender)->pool, path);
}

static int gp_contender_enter(bench_contender *contender, cudaStream_t stream)
{
    gp_contender *self = self_of(contender);
    return self->mode == BENCH_MODE_ATTACHED ? (int)gp_stream_attach(self->pool, stream) : 0;
}

static int gp_contender_leave(bench_contender *contender, cudaStream_t stream)
{
    gp_contender *self = self_of(contender);
    return self->mode == BENCH_MODE_ATTACHED ? (int)gp_stream_detach(self->pool, stream) : 0;
}

static inline int gp_contender_alloc(bench_contender *contender, void **ptr, size_t bytes,
                                     cudaStream_t stream)
{
    return (int)gp_alloc_from_pool_async(ptr, bytes, self_of(contender)->pool, stream);
}

static inline int gp_contender_free(bench_contender *contender, void *ptr, size_t bytes,
                                    cudaStream_t stream)
{
    (void)bytes;
    (void)contender;
    return (int)gp_free_async(ptr, stream);
}

static int gp_contender_run_pairs(bench_contender *contender, bench_pairs *pairs, size_t count,
                                  cudaStream_t stream)
{
    return bench_pairs_run(pairs, count, gp_contender_alloc, gp_contender_free, contender, stream);
}

static int gp_contender_get_usage(bench_contender *contender, bench_usage *usage)
{
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    gp_status status = gp_pool_get_stats(self_of(contender)->pool, &stats);
    if (status != GP_OK)
        return (int)status;

    *usage = (bench_usage){
        .reserved_bytes = stats.native_reserved_bytes,
        .reserved_bytes_high = stats.native_reserved_bytes_high,
        .pool_bytes_high = stats.reserved_bytes_high,
        .l1_hits = stats.l1_hits,
        .l2_hits = stats.l2_hits,
        .shared_hits = stats.shared_hits,
        .refills = stats.l1_refills,
        .flushes = stats.l1_flushes,
        .queries = stats.event_queries,
        .records = stats.event_records,
        .waits = stats.stream_waits,
        .native_allocs = stats.native_allocs,
        .native_frees = stats.native_frees,
        .native_trims = stats.native_trims,
    };
    return 0;
}

static int gp_contender_reset_peak(bench_contender *contender)
{
    return (int)gp_pool_reset_peak(self_of(contender)->pool);
}

static const char *gp_contender_error(int code)
{
    const char *text = gp_last_error();
    return text[0] != '\0' ? text : gp_status_string((gp_status)code);
}

/* ---- free memory ---- */

/* A walk in address order: what is free between two live blocks of a segment is one
 * hole, whether a cache keeps it or not. */
typedef struct hole_search {
    uintptr_t hole_start;  /* First byte after the last live block of the segment. */
    uintptr_t segment_end; /* 0 before the first segment. */
    bench_holes found;
} hole_search;

static void end_hole(hole_search *search, uintptr_t end)
{
    uint64_t bytes = end > search->hole_start ? end - search->hole_start : 0;
    search->found.free_bytes += bytes;
    if (bytes > search->found.largest_free_bytes)
        search->found.largest_free_bytes = bytes;
}

static bool visit(const gp_walk_entry *entry, void *user)
{
    hole_search *search = user;
    uintptr_t base = (uintptr_t)entry->address;
    bool is_chunk = base + entry->bytes <= search->segment_end;
    if (entry->kind == GP_WALK_SEGMENT && !is_chunk) {
        end_hole(search, search->segment_end);
        search->hole_start = base;
        search->segment_end = base + entry->bytes;
    }
    if (entry->kind == GP_WALK_LIVE) {
        end_hole(search, base);
        search->hole_start = base + entry->bytes;
    }
    return true;
}

static int gp_contender_get_holes(bench_contender *contender, bench_holes *holes)
{
    hole_search search = {0};
    gp_status status = gp_pool_walk(self_of(contender)->pool, visit, &search);
    if (status != GP_OK)
        return (int)status;
    end_hole(&search, search.segment_end);
    *holes = search.found;
    return 0;
}

/* ---- a recorded pool ---- */

/* To where it costs no more than the recording itself. The pool's end is that of the recording. */
static int gp_contender_open_recorded(const bench_contender_ops *ops, bench_contender **contender,
                                      const device_ops *device, bench_mode mode)
{
    int code = gp_contender_open(ops, contender, device, mode);
    if (code != 0)
        return code;
    gp_status status = gp_trace_start(self_of(*contender)->pool, "/dev/null");
    if (status != GP_OK)
        gp_contender_close(*contender);
    return (int)status;
}

/* ---- a table for each policy ---- */

typedef struct policy_contender {
    bench_contender_ops ops;
    char name[NAME_CHARS];
} policy_contender;

static const bench_contender_ops template_ops = {
    .struct_bytes = sizeof(bench_contender_ops),
    .has_modes = true,
    .open = gp_contender_open,
    .open_limited = gp_contender_open_limited,
    .is_refusal = gp_contender_is_refusal,
    .close = gp_contender_close,
    .warm = gp_contender_warm,
    .enter = gp_contender_enter,
    .leave = gp_contender_leave,
    .alloc = gp_contender_alloc,
    .free = gp_contender_free,
    .run_pairs = gp_contender_run_pairs,
    .get_usage = gp_contender_get_usage,
    .reset_peak = gp_contender_reset_peak,
    .get_holes = gp_contender_get_holes,
    .error = gp_contender_error,
};

static void name_contender(policy_contender *made, const gp_policy_ops *policy)
{
    size_t length = strnlen(policy->name, NAME_CHARS - 1);
    for (size_t i = 0; i < length; i++)
        made->name[i] = (char)(policy->name[i] == '_' ? '-' : policy->name[i]);
    made->ops.name = made->name;
}

const bench_contender_ops *bench_contender_gp(const gp_policy_ops *policy)
{
    static policy_contender contenders[MAX_POLICIES];
    static size_t count;
    for (size_t i = 0; i < count; i++) {
        if (contenders[i].ops.context == policy)
            return &contenders[i].ops;
    }
    if (count == MAX_POLICIES)
        return NULL;
    policy_contender *made = &contenders[count++];
    made->ops = template_ops;
    made->ops.context = policy;
    name_contender(made, policy);
    return &made->ops;
}

const bench_contender_ops *bench_contender_recorded(void)
{
    static bench_contender_ops ops;
    ops = template_ops;
    ops.name = "recorded";
    ops.context = gp_policy_cache_first();
    ops.open = gp_contender_open_recorded;
    ops.open_limited = NULL;
    return &ops;
}
