/* Pools come and go, threads end, native calls are made to fail. */
#include "actions.h"
#include "judge.h"

#define MIB(n) ((size_t)1024 * 1024 * (n))

void proof_trim(proof_world *world, const proof_step *step)
{
    static const size_t keeps[] = {0, MIB(4), MIB(64), SIZE_MAX};
    gp_pool *pool = world->pools[step->pool].handle;
    if (pool == NULL)
        return;
    proof_enter_gp(world);
    (void)proof_leave_gp(world, gp_pool_trim_to(pool, keeps[step->choice % 4]), "gp_pool_trim_to");
}

void proof_reserve(proof_world *world, const proof_step *step)
{
    const gp_reserve_entry plan = {.bytes = step->amount, .count = 1u + step->choice % 4};
    gp_pool *pool = world->pools[step->pool].handle;
    if (pool == NULL || !proof_is_eager(world, step->stream))
        return;
    proof_enter_gp(world);
    gp_status status = gp_pool_reserve(pool, world->streams[step->stream].handle, &plan, 1);
    (void)proof_leave_gp_full(world, status, "gp_pool_reserve");
}

/* ---- pools ---- */

void proof_create_pool(proof_world *world, const proof_step *step)
{
    proof_pool *pool = &world->pools[step->pool];
    if (pool->handle != NULL)
        return;
    gp_pool *made = NULL;
    gp_pool_config config = world->plan->pool;
    config.backend = world->device->backend;
    proof_enter_gp(world);
    gp_status status = gp_pool_create(&made, &config);
    if (proof_leave_gp(world, status, "gp_pool_create"))
        *pool = (proof_pool){.handle = made};
}

static bool has_captured_block(const proof_world *world, unsigned pool)
{
    for (unsigned i = 0; i < PROOF_STREAMS; i++) {
        if (world->graphs[i].arenas[pool] != NULL)
            return true;
    }
    for (unsigned i = 0; i < PROOF_BLOCKS; i++) {
        const proof_block *block = &world->blocks[i];
        if (block->pool == pool && block->state > PROOF_BLOCK_LIVE)
            return true;
    }
    return false;
}

static void free_all_of(proof_world *world, unsigned pool)
{
    for (unsigned i = 0; i < PROOF_BLOCKS; i++) {
        proof_block *block = &world->blocks[i];
        if (block->state == PROOF_BLOCK_LIVE && block->pool == pool)
            (void)proof_free_on(world, block->write.stream, block);
    }
}

static void forget_pool(proof_world *world, unsigned pool)
{
    world->pools[pool] = (proof_pool){.handle = NULL};
    for (unsigned i = 0; i < PROOF_STREAMS; i++)
        world->streams[i].is_attached[pool] = false;
    for (unsigned i = 0; i < PROOF_BLOCKS; i++) {
        if (world->blocks[i].state == PROOF_BLOCK_LIVE && world->blocks[i].pool == pool)
            world->blocks[i].state = PROOF_BLOCK_NONE;
    }
}

/* Its blocks are freed first, or not at all. With work under way the clock has to be one that can
 * be waited for, in case gp must. */
void proof_destroy_pool(proof_world *world, const proof_step *step)
{
    proof_pool *pool = &world->pools[step->pool];
    if (pool->handle == NULL || world->captures > 0 || has_captured_block(world, step->pool))
        return;
    for (unsigned i = 0; i < PROOF_FAULTS; i++)
        world->faults[i].calls_left = 0;
    bool is_forced = step->choice % 8 == 0;
    if (!is_forced)
        free_all_of(world, step->pool);
    if (is_forced || world->gates > 0 || world->plan->machine.clock == GP_SIM_CLOCK_MANUAL)
        (void)proof_settle(world);

    bool is_busy = pool->live_blocks > 0 && !is_forced;
    world->has_acted = true;
    gp_status status =
        is_forced ? gp_pool_destroy_forced(pool->handle) : gp_pool_destroy(pool->handle);
    if (status != (is_busy ? GP_ERR_BUSY : GP_OK))
        proof_fail(world, "gp_pool_destroy returned \"%s\": %s", gp_status_string(status),
                   gp_last_error());
    if (status == GP_OK)
        forget_pool(world, step->pool);
}

/* ---- faults ---- */

/* Those that a driver may let fail and gp has to live with. */
static const gp_sim_function fallible[] = {
    GP_SIM_FN_MALLOC,
    GP_SIM_FN_MALLOC,
    GP_SIM_FN_EVENT_CREATE,
    GP_SIM_FN_EVENT_RECORD,
    GP_SIM_FN_EVENT_RECORD,
    GP_SIM_FN_EVENT_QUERY,
    GP_SIM_FN_STREAM_WAIT,
    GP_SIM_FN_STREAM_WAIT,
    GP_SIM_FN_STREAM_QUERY,
    GP_SIM_FN_STREAM_CREATE,
    GP_SIM_FN_POOL_TRIM,
    GP_SIM_FN_POOL_CREATE,
    GP_SIM_FN_STREAM_IS_CAPTURING,
    GP_SIM_FN_STREAM_GET_ID,
    GP_SIM_FN_POOL_GET_USAGE,
};

void proof_plan_fault(proof_world *world, const proof_step *step)
{
    static const gp_sim_result codes[] = {2, 999, 719};
    static const uint32_t nths[] = {1, 1, 1, 1, 1, 2, 2, 3};
    const unsigned all = sizeof(fallible) / sizeof(fallible[0]);
    proof_fault *fault = &world->faults[step->choice % PROOF_FAULTS];
    gp_sim_function function = fallible[step->amount % all];
    for (unsigned i = 0; i < PROOF_FAULTS; i++) {
        if (world->faults[i].calls_left > 0 && world->faults[i].function == function)
            return;
    }
    world->has_acted = true;
    *fault = (proof_fault){.function = function,
                           .nth = nths[(step->amount >> 8) % 8],
                           .count = 1u << (step->amount >> 12) % 4,
                           .code = codes[(step->amount >> 16) % 3],
                           .calls_left = (uint8_t)(1 + (step->amount >> 20) % 16)};
}

/* ---- threads ---- */

static bool owns_capture(const proof_world *world)
{
    for (unsigned i = 0; i < PROOF_STREAMS; i++) {
        if (world->graphs[i].is_capturing && world->graphs[i].thread == world->thread)
            return true;
    }
    return false;
}

/* Its own stream goes with it. */
void proof_end_thread(proof_world *world, const proof_step *step)
{
    uint8_t own = (uint8_t)(PROOF_OWN + world->thread);
    if (owns_capture(world) || !proof_can_retire(world, own, step->stream))
        return;
    proof_retire(world, own, step->stream);
    world->ends_thread = true;
}

/* ---- looking on ---- */

static bool count_live(const gp_walk_entry *entry, void *user)
{
    uint64_t *live = user;
    *live += entry->kind == GP_WALK_LIVE ? 1 : 0;
    return true;
}

void proof_look(proof_world *world, const proof_step *step)
{
    const proof_pool *pool = &world->pools[step->pool];
    uint64_t live = 0;
    if (pool->handle == NULL)
        return;
    world->has_acted = true;
    if (gp_pool_walk(pool->handle, count_live, &live) != GP_OK || live != pool->live_blocks)
        proof_fail(world, "a walk finds %llu live blocks, not %llu", (unsigned long long)live,
                   (unsigned long long)pool->live_blocks);
    if (step->choice % 4 == 0 && gp_pool_reset_peak(pool->handle) != GP_OK)
        proof_fail(world, "gp_pool_reset_peak: %s", gp_last_error());
}
