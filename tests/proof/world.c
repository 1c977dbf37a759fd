#include "world.h"

#include "judge.h"

/* ---- points ---- */

proof_point proof_next_point(proof_world *world, uint8_t stream)
{
    proof_stream *of = &world->streams[stream];
    return (proof_point){.stream = stream, .position = ++of->position};
}

bool proof_covers(const proof_world *world, uint8_t stream, proof_point point)
{
    return point.position == 0 || point.stream == stream ||
           world->streams[stream].clock.positions[point.stream] >= point.position ||
           world->observed.positions[point.stream] >= point.position;
}

static void join(proof_clock *clock, const proof_clock *other)
{
    for (unsigned i = 0; i < PROOF_STREAMS; i++) {
        if (clock->positions[i] < other->positions[i])
            clock->positions[i] = other->positions[i];
    }
}

void proof_observe(proof_world *world, uint8_t stream)
{
    const proof_stream *of = &world->streams[stream];
    join(&world->observed, &of->clock);
    world->observed.positions[stream] = of->position;
}

/* ---- streams ---- */

bool proof_is_nameable(const proof_world *world, uint8_t stream)
{
    return world->streams[stream].exists &&
           (stream < PROOF_OWN || stream == PROOF_OWN + world->thread);
}

bool proof_is_eager(const proof_world *world, uint8_t stream)
{
    return proof_is_nameable(world, stream) && world->streams[stream].capture == PROOF_NONE;
}

bool proof_can_order(const proof_world *world, uint8_t earlier, uint8_t later)
{
    return proof_is_nameable(world, earlier) && proof_is_nameable(world, later) &&
           world->streams[earlier].capture == world->streams[later].capture;
}

void proof_order(proof_world *world, uint8_t earlier, uint8_t later)
{
    const proof_device *device = world->device;
    proof_stream *from = &world->streams[earlier];
    proof_stream *to = &world->streams[later];
    gp_sim_event event = NULL;
    proof_expect_native(world, device->event_create(&event), "event_create");
    proof_expect_native(world, device->event_record(event, from->handle), "event_record");
    proof_expect_native(world, device->stream_wait_event(to->handle, event), "stream_wait_event");
    proof_expect_native(world, device->event_destroy(event), "event_destroy");
    join(&to->clock, &from->clock);
    to->clock.positions[earlier] = from->position;
}

bool proof_can_follow(const proof_world *world, uint8_t later, proof_point point)
{
    return proof_covers(world, later, point) || proof_can_order(world, point.stream, later);
}

void proof_follow(proof_world *world, uint8_t later, proof_point point)
{
    if (!proof_covers(world, later, point))
        proof_order(world, point.stream, later);
}

/* ---- blocks ---- */

bool proof_can_follow_block(const proof_world *world, uint8_t stream, const proof_block *block)
{
    bool can = proof_can_follow(world, stream, block->write);
    for (unsigned i = 0; i < block->read_count; i++)
        can = can && proof_can_follow(world, stream, block->reads[i]);
    return can;
}

void proof_follow_block(proof_world *world, uint8_t stream, const proof_block *block)
{
    proof_follow(world, stream, block->write);
    for (unsigned i = 0; i < block->read_count; i++)
        proof_follow(world, stream, block->reads[i]);
}

void proof_take_over(proof_world *world, uint8_t stream, proof_block *block)
{
    block->write = proof_next_point(world, stream);
    block->read_count = 0;
}

unsigned proof_find_overlap(const proof_world *world, const char *address, size_t bytes,
                            unsigned except)
{
    for (unsigned i = 0; i < PROOF_BLOCKS; i++) {
        const proof_block *block = &world->blocks[i];
        if (i != except && block->state != PROOF_BLOCK_NONE && block->address < address + bytes &&
            address < block->address + block->usable)
            return i;
    }
    return PROOF_NONE;
}

static void move_point(proof_point *point, uint8_t stream, proof_point to)
{
    if (point->position == 0 || point->stream != stream)
        return;
    point->stream = to.stream;
    point->position = to.position;
}

void proof_inherit(proof_world *world, uint8_t stream, uint8_t heir)
{
    const proof_point to = proof_next_point(world, heir);
    for (unsigned i = 0; i < PROOF_BLOCKS; i++) {
        proof_block *block = &world->blocks[i];
        move_point(&block->write, stream, to);
        for (unsigned read = 0; read < block->read_count; read++)
            move_point(&block->reads[read], stream, to);
    }
    for (unsigned i = 0; i < PROOF_STREAMS; i++)
        move_point(&world->graphs[i].launch, stream, to);
    world->streams[stream].clock = (proof_clock){{0}};
}
