#include "judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool proof_has_failed(const proof_world *world)
{
    return world->failure[0] != '\0';
}

void proof_fail(proof_world *world, const char *format, ...)
{
    if (proof_has_failed(world))
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(world->failure, PROOF_TEXT, format, arguments);
    va_end(arguments);
}

void proof_expect_native(proof_world *world, gp_sim_result result, const char *call)
{
    if (result != 0)
        proof_fail(world, "the program's own %s returned %d", call, result);
}

/* ---- calls of gp ---- */

void proof_enter_gp(proof_world *world)
{
    world->is_faulty = false;
    for (unsigned i = 0; i < PROOF_FAULTS; i++) {
        const proof_fault *fault = &world->faults[i];
        if (fault->calls_left == 0)
            continue;
        world->device->fail(fault->function, fault->nth, fault->count, fault->code);
        world->is_faulty = true;
    }
}

static void disarm(proof_world *world)
{
    for (unsigned i = 0; i < PROOF_FAULTS; i++) {
        proof_fault *fault = &world->faults[i];
        if (fault->calls_left == 0)
            continue;
        world->device->fail(fault->function, 0, 0, 0);
        fault->calls_left--;
    }
}

static bool leave(proof_world *world, gp_status status, const char *call, bool may_be_full)
{
    world->has_acted = true;
    if (world->is_faulty)
        disarm(world);
    if (status == GP_OK)
        return true;
    bool is_full = status == GP_ERR_OUT_OF_MEMORY || status == GP_ERR_LIMIT;
    bool is_allowed = world->is_faulty || (may_be_full && is_full && world->plan->is_tight);
    if (!is_allowed || status == GP_ERR_INTERNAL || gp_last_error()[0] == '\0')
        proof_fail(world, "%s returned \"%s\": %s", call, gp_status_string(status),
                   gp_last_error());
    return false;
}

bool proof_leave_gp(proof_world *world, gp_status status, const char *call)
{
    return leave(world, status, call, false);
}

bool proof_leave_gp_full(proof_world *world, gp_status status, const char *call)
{
    return leave(world, status, call, true);
}

/* ---- after steps ---- */

void proof_judge_order(proof_world *world)
{
    const proof_device *device = world->device;
    if (device->hazard_count() > 0) {
        gp_sim_hazard hazard;
        char text[512] = "";
        if (device->get_hazards(&hazard, 1) == 1)
            (void)device->describe_hazard(&hazard, text, sizeof(text));
        proof_fail(world, "hazard: %s", text);
    }
    if (device->dead_handle_count() > 0)
        proof_fail(world, "a dead handle was named");
}

void proof_judge_counts(proof_world *world, unsigned pool)
{
    const proof_pool *of = &world->pools[pool];
    gp_pool_stats stats = {.struct_bytes = sizeof(stats)};
    if (of->handle == NULL)
        return;
    gp_status status = gp_pool_get_stats(of->handle, &stats);
    if (status != GP_OK)
        proof_fail(world, "gp_pool_get_stats: %s", gp_last_error());
    else if (stats.live_bytes - stats.arena_bytes != of->live_bytes ||
             stats.live_blocks != of->live_blocks)
        proof_fail(world, "pool %u counts %llu bytes in %llu blocks, the program %llu in %llu",
                   pool, (unsigned long long)stats.live_bytes,
                   (unsigned long long)stats.live_blocks, (unsigned long long)of->live_bytes,
                   (unsigned long long)of->live_blocks);
    else if (stats.overruns + stats.late_writes + stats.unordered_frees != 0)
        proof_fail(world, "pool %u: debug aids found what is not there", pool);
    else if (stats.reserved_bytes != stats.live_bytes + stats.cached_bytes)
        proof_fail(world, "pool %u: reserved %llu is not live %llu and cached %llu", pool,
                   (unsigned long long)stats.reserved_bytes, (unsigned long long)stats.live_bytes,
                   (unsigned long long)stats.cached_bytes);
}

void proof_judge_pool(proof_world *world, unsigned pool)
{
    gp_pool *of = world->pools[pool].handle;
    if (of != NULL && gp_pool_check(of) != GP_OK)
        proof_fail(world, "gp_pool_check: %s", gp_last_error());
}

void proof_judge_end(proof_world *world)
{
    const proof_device *device = world->device;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    proof_expect_native(world, device->device_synchronize(), "device_synchronize");
    proof_expect_native(world, device->mem_get_info(&free_bytes, &total_bytes), "mem_get_info");
    if (free_bytes != total_bytes)
        proof_fail(world, "%zu bytes were not given back to the device", total_bytes - free_bytes);
    if (device->live_events() + device->live_pools() + device->live_streams() != 0)
        proof_fail(world, "%zu events, %zu native pools, %zu streams are left",
                   device->live_events(), device->live_pools(), device->live_streams());
    proof_judge_order(world);
}
