#include "pool_config.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "idle.h"

#define MIB ((size_t)1 << 20)
#define MOST_WINDOW_MS 3600000u

static bool is_set_in_environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && strcmp(value, "1") == 0;
}

/* Anything but a level leaves the default. */
static gp_trace_level trace_level_in_environment(void)
{
    const char *value = getenv("GP_TRACE_LEVEL");
    if (value == NULL || value[0] < '0' || value[0] > '0' + GP_TRACE_ALL || value[1] != '\0')
        return GP_TRACE_SLOW;
    return (gp_trace_level)(value[0] - '0');
}

void gp_pool_config_init(gp_pool_config *config)
{
    if (config == NULL)
        return;
    *config = (gp_pool_config){
        .struct_bytes = sizeof(*config),
        .backend = GP_BACKEND_AUTO,
        .share = GP_SHARE_WAIT,
        .capture = GP_CAPTURE_NATIVE,
        .alignment = 512,
        .large_bytes = MIB / 2,
        .segment_bytes = 32 * MIB,
        .headroom_fraction = 0.10,
        .idle_window_ms = 1000,
        .release_idle_percent = 80,
        .release_to_percent = 50,
        .release_windows = 3,
        .l1_bytes = 4 * MIB,
        .l1_depth = 64,
        .l1_refill_percent = 20,
        .visible_order = is_set_in_environment("GP_VISIBLE_ORDER"),
        .annotate_memory = is_set_in_environment("GP_ANNOTATE_MEMORY"),
        .trace_level = trace_level_in_environment(),
        .trace_sample_us = 100,
        .pass_through = is_set_in_environment("GP_PASS_THROUGH"),
    };
}

static void fill_zeros(gp_pool_config *config)
{
    gp_pool_config defaults;
    gp_pool_config_init(&defaults);
    if (config->policy == NULL)
        config->policy = gp_policy_cache_first();
    if (config->alignment == 0)
        config->alignment = defaults.alignment;
    if (config->large_bytes == 0)
        config->large_bytes = defaults.large_bytes;
    if (config->segment_bytes == 0)
        config->segment_bytes = defaults.segment_bytes;
    if (config->growth_bytes == 0)
        config->growth_bytes = config->segment_bytes;
    if (config->idle_window_ms == 0)
        config->idle_window_ms = defaults.idle_window_ms;
    if (config->release_windows == 0)
        config->release_windows = defaults.release_windows;
    if (config->l1_bytes == 0)
        config->l1_bytes = defaults.l1_bytes;
    if (config->l1_depth == 0)
        config->l1_depth = defaults.l1_depth;
    if (config->trace_sample_us == 0)
        config->trace_sample_us = defaults.trace_sample_us;
}

static bool is_power_of_two_within(size_t value, size_t least, size_t most)
{
    return value >= least && value <= most && (value & (value - 1)) == 0;
}

static gp_status bad_field(const char *name, const char *range)
{
    return gp_error_set(GP_ERR_INVALID_CONFIG, "gp_pool_config.%s must be %s", name, range);
}

static gp_status check_enums(const gp_pool_config *config)
{
    if (config->device < 0)
        return bad_field("device", "0 or more");
    if ((unsigned)config->backend > GP_BACKEND_SIM)
        return bad_field("backend", "a gp_backend_kind");
    if ((unsigned)config->share > GP_SHARE_NEVER)
        return bad_field("share", "a gp_share_mode");
    if ((unsigned)config->capture > GP_CAPTURE_ARENA)
        return bad_field("capture", "a gp_capture_mode");
    if ((unsigned)config->trace_level > GP_TRACE_ALL)
        return bad_field("trace_level", "a gp_trace_level");
    return GP_OK;
}

static gp_status check_sizes(const gp_pool_config *config)
{
    if (!is_power_of_two_within(config->alignment, 256, 2 * MIB))
        return bad_field("alignment", "a power of two from 256 to 2 MiB");
    if (!is_power_of_two_within(config->large_bytes, MIB / 16, 64 * MIB))
        return bad_field("large_bytes", "a power of two from 64 KiB to 64 MiB");
    if (!is_power_of_two_within(config->segment_bytes, 2 * MIB, 1024 * MIB))
        return bad_field("segment_bytes", "a power of two from 2 MiB to 1 GiB");
    if (config->annotate_memory && (config->native_pool != NULL || config->pass_through ||
                                    config->capture == GP_CAPTURE_ARENA))
        return bad_field("annotate_memory",
                         "false with native_pool, pass_through or GP_CAPTURE_ARENA");
    if (config->guard_bytes % GP_GRANULE_BYTES != 0 || config->guard_bytes > MIB / 16)
        return bad_field("guard_bytes", "a multiple of 512 up to 64 KiB");
    if (!is_power_of_two_within(config->growth_bytes, config->segment_bytes, 1024 * MIB))
        return bad_field("growth_bytes", "a power of two from segment_bytes to 1 GiB");
    if (config->idle_window_ms > MOST_WINDOW_MS)
        return bad_field("idle_window_ms", "1 to 3600000");
    if (config->l1_depth > 256)
        return bad_field("l1_depth", "1 to 256");
    if (config->l1_refill_percent > 90)
        return bad_field("l1_refill_percent", "0 to 90");
    if (config->trace_sample_us > 1000000)
        return bad_field("trace_sample_us", "1 to 1000000");
    return GP_OK;
}

static gp_status check_release(const gp_pool_config *config)
{
    if (config->release_idle_percent > 100)
        return bad_field("release_idle_percent", "0 to 100");
    if (config->release_to_percent > 99 ||
        (config->release_idle_percent != 0 &&
         config->release_to_percent >= config->release_idle_percent))
        return bad_field("release_to_percent", "0 to 99, and below release_idle_percent");
    if (config->release_windows > GP_IDLE_WINDOWS)
        return bad_field("release_windows", "1 to 64");
    return GP_OK;
}

/* Not a number is in no range. */
static gp_status check_fractions(const gp_pool_config *config)
{
    if (!(config->max_fraction >= 0.0 && config->max_fraction <= 1.0))
        return bad_field("max_fraction", "0 to 1");
    if (!(config->initial_fraction >= 0.0 && config->initial_fraction <= 1.0))
        return bad_field("initial_fraction", "0 to 1");
    if (!(config->headroom_fraction >= 0.0 && config->headroom_fraction < 1.0))
        return bad_field("headroom_fraction", "0 to less than 1");
    return GP_OK;
}

gp_status gp_pool_config_complete(gp_pool_config *config, const gp_pool_config *given)
{
    if (given == NULL) {
        gp_pool_config_init(config);
    } else {
        if (given->struct_bytes != sizeof(*config))
            return gp_error_set(GP_ERR_VERSION_MISMATCH,
                                "gp_pool_config.struct_bytes is %u, this library knows %zu",
                                given->struct_bytes, sizeof(*config));
        *config = *given;
    }
    fill_zeros(config);
    /* These know each block by its own bounds. */
    if (config->poison || config->guard_bytes > 0 || config->quarantine_bytes > 0 ||
        config->watch_order)
        config->pass_through = true;
    gp_status status = check_enums(config);
    if (status == GP_OK)
        status = check_sizes(config);
    if (status == GP_OK)
        status = check_fractions(config);
    if (status == GP_OK)
        status = check_release(config);
    /* Blocks are made of 512-byte granules, so none is aligned to less. */
    if (config->alignment < GP_GRANULE_BYTES)
        config->alignment = GP_GRANULE_BYTES;
    return status;
}

/* ---- policies ------------------------------------------------------------------ */

static bool always_valid(const void *state)
{
    (void)state;
    return true;
}

gp_status gp_policy_ops_complete(gp_policy_ops *ops, const gp_policy_ops *given)
{
    /* The first version of the table ends with is_valid. */
    if (given->struct_bytes < offsetof(gp_policy_ops, is_valid) ||
        given->struct_bytes > sizeof(*ops))
        return gp_error_set(GP_ERR_VERSION_MISMATCH,
                            "gp_policy_ops.struct_bytes is %u, this library knows %zu",
                            given->struct_bytes, sizeof(*ops));

    memset(ops, 0, sizeof(*ops));
    memcpy(ops, given, given->struct_bytes);
    if (ops->name == NULL || ops->create == NULL || ops->destroy == NULL ||
        ops->add_segment == NULL || ops->remove_segment == NULL || ops->segment_is_free == NULL ||
        ops->take == NULL || ops->give == NULL || ops->usage == NULL)
        return gp_error_set(GP_ERR_INVALID_CONFIG, "a required slot of gp_policy_ops is NULL");
    if (ops->is_valid == NULL)
        ops->is_valid = always_valid;
    return GP_OK;
}
