#include "crowd.h"

#include "actions.h"
#include "judge.h"
#include "stage.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOXES = 8 };

/* A block on its way to whichever thread looks into the box. */
typedef struct parcel {
    proof_block block; /* state NONE: the box is empty */
    gp_sim_event ready;
} parcel;

typedef struct member {
    proof_world world;
    proof_plan plan;
    char failure[PROOF_TEXT];
    pthread_t id;
} member;

static struct {
    pthread_mutex_t lock;
    parcel boxes[BOXES];
} post = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- parcels ---- */

static parcel swap_parcel(unsigned box, parcel sent)
{
    (void)pthread_mutex_lock(&post.lock);
    parcel found = post.boxes[box];
    post.boxes[box] = sent;
    (void)pthread_mutex_unlock(&post.lock);
    return found;
}

static bool can_send(const proof_world *world, const proof_block *block)
{
    return block->state == PROOF_BLOCK_LIVE && proof_is_eager(world, block->write.stream) &&
           proof_can_follow_block(world, block->write.stream, block);
}

/* The sender's pool no longer counts it; the receiver's does. */
static parcel pack(proof_world *world, proof_block *block)
{
    const proof_device *device = world->device;
    parcel sent = {.block = *block};
    proof_follow_block(world, block->write.stream, block);
    proof_expect_native(world, device->event_create(&sent.ready), "event_create");
    proof_expect_native(
        world, device->event_record(sent.ready, world->streams[block->write.stream].handle),
        "event_record");
    world->pools[block->pool].live_bytes -= block->usable;
    world->pools[block->pool].live_blocks--;
    block->state = PROOF_BLOCK_NONE;
    return sent;
}

static void unpack(proof_world *world, uint8_t stream, proof_block *block, const parcel *received)
{
    const proof_device *device = world->device;
    proof_expect_native(world,
                        device->stream_wait_event(world->streams[stream].handle, received->ready),
                        "stream_wait_event");
    proof_expect_native(world, device->event_destroy(received->ready), "event_destroy");
    *block = received->block;
    block->life = ++world->last_life;
    proof_take_over(world, stream, block);
    world->pools[block->pool].live_bytes += block->usable;
    world->pools[block->pool].live_blocks++;
}

/* Send the block if there is one, and take what lies in the box into its slot. */
void proof_exchange(proof_world *world, const proof_step *step)
{
    proof_block *block = &world->blocks[step->block];
    parcel sent = {.block = {.state = PROOF_BLOCK_NONE}};
    if (!proof_is_eager(world, step->stream))
        return;
    if (block->state != PROOF_BLOCK_NONE && !can_send(world, block))
        return;
    if (block->state != PROOF_BLOCK_NONE)
        sent = pack(world, block);
    const parcel received = swap_parcel(step->choice % BOXES, sent);
    if (received.block.state != PROOF_BLOCK_NONE)
        unpack(world, step->stream, block, &received);
    world->has_acted = true;
}

/* ---- threads ---- */

static void *run_member(void *started)
{
    member *self = started;
    proof_world *world = &self->world;
    if (world->device->set_context != NULL)
        world->device->set_context(world->thread % 2 == 0);
    for (size_t i = 0; i < self->plan.count && !proof_has_failed(world); i++) {
        const proof_step *step = &self->plan.steps[i];
        if (!proof_is_idle(world, step))
            proof_act(world, step);
        if (world->has_acted)
            proof_judge_order(world);
    }
    if (!proof_has_failed(world))
        proof_stage_leave(world);
    return NULL;
}

static bool prepare(member *self, uint8_t thread, const proof_plan *plan,
                    const proof_limits *limits)
{
    if (!proof_generate(proof_program_seed(plan->seed, thread), limits, &self->plan))
        return false;
    self->plan.machine = plan->machine;
    self->plan.pool = plan->pool;
    self->plan.is_tight = plan->is_tight;
    self->world.plan = &self->plan;
    self->world.thread = thread;
    self->world.in_crowd = true;
    self->world.failure = self->failure;
    return true;
}

/* ---- the whole ---- */

/* What nobody fetched is freed, and the members' blocks and bytes have to add up to none. */
static void clear_boxes(proof_world *world)
{
    for (unsigned i = 0; i < BOXES; i++) {
        parcel left = swap_parcel(i, (parcel){.block = {.state = PROOF_BLOCK_NONE}});
        if (left.block.state != PROOF_BLOCK_NONE)
            unpack(world, PROOF_LEGACY, &world->blocks[i], &left);
    }
}

static void add_up(proof_world *world, const member *members, proof_result *result)
{
    for (unsigned i = 0; i < PROOF_THREADS; i++) {
        const proof_world *other = &members[i].world;
        if (members[i].failure[0] != '\0')
            proof_fail(world, "thread %u: %s", i, members[i].failure);
        for (unsigned pool = 0; pool < PROOF_POOLS; pool++) {
            world->pools[pool].live_bytes += other->pools[pool].live_bytes;
            world->pools[pool].live_blocks += other->pools[pool].live_blocks;
        }
        result->operations += other->operations;
    }
}

void proof_play_crowd(const proof_device *device, const proof_plan *plan,
                      const proof_limits *limits, proof_result *result)
{
    static member members[PROOF_THREADS];
    static proof_world first; /* opens and closes */
    memset(members, 0, sizeof(members));
    memset(&first, 0, sizeof(first));
    memset(result, 0, sizeof(*result));
    first.failure = result->failure;
    if (device->set_context != NULL)
        device->set_context(true);
    proof_stage_open(&first, device, plan);
    for (unsigned i = 0; i < PROOF_THREADS && !proof_has_failed(&first); i++) {
        if (!prepare(&members[i], (uint8_t)i, plan, limits))
            proof_fail(&first, "no memory for a program");
        proof_stage_join(&members[i].world, &first);
    }
    for (unsigned i = 0; i < PROOF_THREADS && !proof_has_failed(&first); i++) {
        if (pthread_create(&members[i].id, NULL, run_member, &members[i]) != 0)
            proof_fail(&first, "a thread could not be started");
    }
    for (unsigned i = 0; i < PROOF_THREADS && !proof_has_failed(&first); i++)
        (void)pthread_join(members[i].id, NULL);
    add_up(&first, members, result);
    if (!proof_has_failed(&first)) {
        clear_boxes(&first);
        proof_stage_clear(&first);
        proof_stage_close(&first);
    }
    for (unsigned i = 0; i < PROOF_THREADS; i++)
        proof_plan_clear(&members[i].plan);
}
