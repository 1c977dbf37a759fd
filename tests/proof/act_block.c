/* Blocks: allocated, touched, freed, on streams that do not capture. */
#include "actions.h"
#include "judge.h"

/* Half of the legacy stream's calls name it by its other name. */
static cudaStream_t handle_of(const proof_world *world, uint8_t stream, uint8_t choice)
{
    if (stream == PROOF_LEGACY && choice % 2 != 0)
        return GP_SIM_STREAM_LEGACY;
    return world->streams[stream].handle;
}

/* ---- allocate ---- */

void proof_judge_block(proof_world *world, unsigned slot, size_t alignment)
{
    proof_block *block = &world->blocks[slot];
    gp_status status = gp_usable_size(block->address, &block->usable);
    unsigned other = proof_find_overlap(world, block->address, block->usable, slot);
    if (status != GP_OK)
        proof_fail(world, "gp_usable_size: %s", gp_last_error());
    else if (block->usable < block->bytes)
        proof_fail(world, "%zu bytes are usable of %zu", block->usable, block->bytes);
    else if ((uintptr_t)block->address % alignment != 0)
        proof_fail(world, "%p is not aligned to %zu", (void *)block->address, alignment);
    else if (other != PROOF_NONE)
        proof_fail(world, "the block at %p lies over that of slot %u", (void *)block->address,
                   other);
}

static size_t choose_alignment(const proof_step *step)
{
    return step->choice < 32 ? (size_t)256 << step->choice % 14 : 1;
}

static gp_status call_alloc(void **address, const proof_step *step, gp_pool *pool,
                            cudaStream_t stream)
{
    size_t alignment = choose_alignment(step);
    return alignment > 1
               ? gp_alloc_aligned_from_pool_async(address, step->amount, alignment, pool, stream)
               : gp_alloc_from_pool_async(address, step->amount, pool, stream);
}

static void alloc_eager(proof_world *world, const proof_step *step, proof_block *block)
{
    proof_pool *pool = &world->pools[step->pool];
    void *address = NULL;
    proof_enter_gp(world);
    gp_status status =
        call_alloc(&address, step, pool->handle, handle_of(world, step->stream, step->choice));
    if (!proof_leave_gp_full(world, status, "gp_alloc_from_pool_async"))
        return;

    *block = (proof_block){.state = PROOF_BLOCK_LIVE,
                           .address = address,
                           .bytes = step->amount,
                           .life = ++world->last_life,
                           .pool = step->pool};
    proof_take_over(world, step->stream, block);
    size_t alignment = choose_alignment(step);
    const size_t least = world->plan->pool.alignment;
    proof_judge_block(world, step->block, alignment > least ? alignment : least);
    pool->live_bytes += block->usable;
    pool->live_blocks++;
}

void proof_alloc(proof_world *world, const proof_step *step)
{
    proof_block *block = &world->blocks[step->block];
    if (block->state != PROOF_BLOCK_NONE || world->pools[step->pool].handle == NULL ||
        !proof_is_nameable(world, step->stream))
        return;
    if (proof_is_eager(world, step->stream))
        alloc_eager(world, step, block);
    else
        proof_alloc_captured(world, step, block);
}

/* ---- touch ---- */

void proof_launch(proof_world *world, uint8_t stream, const gp_sim_access *accesses, size_t count,
                  uint64_t duration_ns)
{
    world->has_acted = true;
    proof_expect_native(
        world, world->device->launch(world->streams[stream].handle, accesses, count, duration_ns),
        "launch");
}

static bool is_live(const proof_block *block)
{
    return block->state == PROOF_BLOCK_LIVE || block->state == PROOF_BLOCK_LAUNCHED;
}

static uint64_t duration_of(const proof_step *step)
{
    return (uint64_t)100 << step->choice % 8;
}

static bool can_write(const proof_world *world, const proof_step *step, const proof_block *block)
{
    return is_live(block) && proof_can_follow_block(world, step->stream, block);
}

static gp_sim_access whole(const proof_block *block, bool writes)
{
    return (gp_sim_access){.base = block->address, .bytes = block->bytes, .writes = writes};
}

/* One kernel that writes one block, or two. */
static void write_eager(proof_world *world, const proof_step *step, proof_block *block)
{
    proof_block *more = &world->blocks[step->more];
    gp_sim_access accesses[2];
    size_t count = 0;
    if (!can_write(world, step, block))
        return;
    proof_follow_block(world, step->stream, block);
    accesses[count++] = whole(block, true);
    bool both = more != block && step->choice % 4 == 0 && can_write(world, step, more);
    if (both) {
        proof_follow_block(world, step->stream, more);
        accesses[count++] = whole(more, true);
    }
    proof_launch(world, step->stream, accesses, count, duration_of(step));
    proof_take_over(world, step->stream, block);
    if (both)
        more->write = block->write;
    if (both)
        more->read_count = 0;
}

void proof_write(proof_world *world, const proof_step *step)
{
    if (!proof_is_nameable(world, step->stream))
        return;
    if (proof_is_eager(world, step->stream))
        write_eager(world, step, &world->blocks[step->block]);
    else
        proof_touch_captured(world, step, &world->blocks[step->block]);
}

static void record_on(proof_world *world, uint8_t stream, proof_block *block, unsigned offset);

static proof_point *read_place(proof_block *block, uint8_t stream)
{
    for (unsigned i = 0; i < block->read_count; i++) {
        if (block->reads[i].stream == stream)
            return &block->reads[i];
    }
    return block->read_count < PROOF_READS ? &block->reads[block->read_count++] : NULL;
}

static void read_eager(proof_world *world, const proof_step *step, proof_block *block)
{
    if (!is_live(block) || !proof_can_follow(world, step->stream, block->write))
        return;
    proof_point *place = read_place(block, step->stream);
    if (place == NULL)
        return;
    *place = (proof_point){.stream = step->stream};
    proof_follow(world, step->stream, block->write);
    const gp_sim_access access = whole(block, false);
    proof_launch(world, step->stream, &access, 1, duration_of(step));
    *place = proof_next_point(world, step->stream);
    if (step->choice % 2 == 0)
        record_on(world, step->stream, block, step->amount);
}

void proof_read(proof_world *world, const proof_step *step)
{
    if (!proof_is_nameable(world, step->stream))
        return;
    if (proof_is_eager(world, step->stream))
        read_eager(world, step, &world->blocks[step->block]);
    else
        proof_touch_captured(world, step, &world->blocks[step->block]);
}

/* ---- recorded uses ---- */

static void mark_recorded(proof_block *block, uint8_t stream)
{
    if (block->write.stream == stream)
        block->write.is_recorded = true;
    for (unsigned i = 0; i < block->read_count; i++) {
        if (block->reads[i].stream == stream)
            block->reads[i].is_recorded = true;
    }
}

static void record_on(proof_world *world, uint8_t stream, proof_block *block, unsigned offset)
{
    if (block->state != PROOF_BLOCK_LIVE)
        return;
    proof_enter_gp(world);
    gp_status status =
        gp_record_use(block->address + offset % block->bytes, world->streams[stream].handle);
    if (proof_leave_gp(world, status, "gp_record_use"))
        mark_recorded(block, stream);
}

void proof_record_use(proof_world *world, const proof_step *step)
{
    proof_block *block = &world->blocks[step->block];
    uint8_t stream = step->choice % 2 == 0 ? step->stream : block->write.stream;
    if (block->state == PROOF_BLOCK_LIVE && proof_is_eager(world, stream))
        record_on(world, stream, block, step->amount);
}

/* ---- free ---- */

static bool needs_no_wait(const proof_block *block, proof_point point)
{
    return point.is_recorded && block->state == PROOF_BLOCK_LIVE;
}

static bool can_free(const proof_world *world, uint8_t stream, const proof_block *block)
{
    if (!is_live(block) || !proof_is_eager(world, stream))
        return false;
    bool can = needs_no_wait(block, block->write) || proof_can_follow(world, stream, block->write);
    for (unsigned i = 0; i < block->read_count; i++)
        can = can && (needs_no_wait(block, block->reads[i]) ||
                      proof_can_follow(world, stream, block->reads[i]));
    return can;
}

static void follow_unrecorded(proof_world *world, uint8_t stream, const proof_block *block)
{
    if (!needs_no_wait(block, block->write))
        proof_follow(world, stream, block->write);
    for (unsigned i = 0; i < block->read_count; i++) {
        if (!needs_no_wait(block, block->reads[i]))
            proof_follow(world, stream, block->reads[i]);
    }
}

static void end_block(proof_world *world, proof_block *block)
{
    if (block->state == PROOF_BLOCK_LAUNCHED) {
        block->state = PROOF_BLOCK_RESTING;
        return;
    }
    world->pools[block->pool].live_bytes -= block->usable;
    world->pools[block->pool].live_blocks--;
    block->state = PROOF_BLOCK_NONE;
}

bool proof_free_on(proof_world *world, uint8_t stream, proof_block *block)
{
    if (!can_free(world, stream, block))
        return false;
    follow_unrecorded(world, stream, block);
    proof_enter_gp(world);
    gp_status status = gp_free_async(block->address, world->streams[stream].handle);
    bool is_free = proof_leave_gp(world, status, "gp_free_async");
    if (is_free) {
        /* The graph's next launch must come after this. */
        if (block->state == PROOF_BLOCK_LAUNCHED)
            world->graphs[block->graph].launch = proof_next_point(world, stream);
        end_block(world, block);
    }
    return is_free;
}

/* Where it was written last, as most programs do. */
void proof_free(proof_world *world, const proof_step *step)
{
    proof_block *block = &world->blocks[step->block];
    if (is_live(block))
        (void)proof_free_on(world, block->write.stream, block);
}

void proof_free_elsewhere(proof_world *world, const proof_step *step)
{
    proof_block *block = &world->blocks[step->block];
    if (!proof_is_nameable(world, step->stream) || block->state == PROOF_BLOCK_NONE)
        return;
    if (proof_is_eager(world, step->stream))
        (void)proof_free_on(world, step->stream, block);
    else
        proof_free_captured(world, step, block);
}

/* Callers' mistakes are refused and change nothing. */
void proof_bad_free(proof_world *world, const proof_step *step)
{
    const proof_block *block = &world->blocks[step->block];
    if (block->state != PROOF_BLOCK_LIVE || !proof_is_eager(world, step->stream))
        return;
    world->has_acted = true;
    gp_status status =
        gp_free_async(block->address + 1 + step->amount % (block->bytes > 1 ? block->bytes - 1 : 1),
                      world->streams[step->stream].handle);
    if (status != GP_ERR_INTERIOR_POINTER)
        proof_fail(world, "a free inside of a block returned \"%s\"", gp_status_string(status));
}
