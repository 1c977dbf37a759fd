/* What the checker is told by whoever cuts native allocations into blocks. */
#include "sim_hazard.h"
#include "sim_machine.h"
#include "sim_memory.h"
#include "sim_stream.h"

#include <stdlib.h>

/* Take the lock and find the stream of a note. A note gets a position of its own,
 * so that an event recorded before it does not order after it. Nothing is noted
 * of a capturing stream: its memory nodes speak for themselves. */
static gp_sim_stream *note_begin(gp_sim_call *call, cudaStream_t handle)
{
    gp_sim_stream *stream = NULL;
    if (gp_sim_enter(call, GP_SIM_FN_NONE) != GP_SIM_SUCCESS || !call->machine->checker.is_on ||
        gp_sim_stream_find(call, handle, &stream) != GP_SIM_SUCCESS || stream->capture != NULL)
        return NULL;

    gp_sim_stream_join_legacy_order(call->machine, stream);
    if (gp_sim_stream_submit(call->machine, stream, (gp_sim_task){0}) != GP_SIM_SUCCESS)
        gp_sim_checker_give_up(&call->machine->checker);
    return stream;
}

static void end_life(gp_sim_checker *checker, gp_sim_life *life, const gp_sim_side *free_side)
{
    gp_sim_ended_add(&checker->ended, free_side);
    gp_sim_tree_remove(&checker->noted, &life->by_address);
    gp_sim_life_clear_uses(life);
    free(life);
}

static gp_sim_side side_at(const gp_sim_stream *stream, uint64_t base, size_t bytes, uint64_t life)
{
    gp_sim_moment moment = gp_sim_stream_moment(stream);
    return (gp_sim_side){.stream_id = moment.stream_id,
                         .position = moment.position,
                         .life = life,
                         .base = (uintptr_t)base,
                         .bytes = bytes};
}

/* ---- begin ---- */

static void remove_overlapped(gp_sim_checker *checker, const gp_sim_side *begin)
{
    bool is_reported = false;
    gp_sim_life *life = gp_sim_life_above(&checker->noted, begin->base);
    while (life != NULL && gp_sim_life_base(life) < begin->base + begin->bytes) {
        gp_sim_side other = gp_sim_life_begin_side(life);
        if (!is_reported)
            gp_sim_hazard_report(checker, GP_SIM_HAZARD_OVERLAP, &other, begin);
        is_reported = true;
        end_life(checker, life, &other);
        life = gp_sim_life_above(&checker->noted, begin->base);
    }
}

/* The native allocation now consists of announced lives. */
static void mark_block(gp_sim_machine *machine, const gp_sim_side *begin)
{
    gp_sim_life *life = gp_sim_life_at(&machine->blocks, begin->base);
    if (life == NULL || gp_sim_life_end(life) < begin->base + begin->bytes) {
        gp_sim_side ended = gp_sim_ended_find(&machine->checker.ended, begin->base, begin->bytes);
        gp_sim_hazard_report(&machine->checker, GP_SIM_HAZARD_AFTER_FREE, &ended, begin);
        return;
    }
    gp_sim_block_mark_noted(gp_sim_block_of_life(life));
}

static void note_alloc(gp_sim_machine *machine, const gp_sim_stream *stream, uint64_t base,
                       size_t bytes)
{
    gp_sim_checker *checker = &machine->checker;
    gp_sim_life *life = calloc(1, sizeof(*life));
    if (life == NULL) {
        gp_sim_checker_give_up(checker);
        return;
    }

    gp_sim_side begin = side_at(stream, base, bytes, ++checker->last_life);
    remove_overlapped(checker, &begin);
    mark_block(machine, &begin);
    life->by_address.key = base;
    life->bytes = bytes;
    life->number = begin.life;
    life->stream_id = begin.stream_id;
    life->position = begin.position;
    gp_sim_tree_insert(&checker->noted, &life->by_address);
}

void gp_sim_note_alloc(const void *ptr, size_t bytes, cudaStream_t stream)
{
    gp_sim_call call;
    const gp_sim_stream *found = note_begin(&call, stream);
    if (found != NULL && bytes > 0)
        note_alloc(call.machine, found, (uintptr_t)ptr, bytes);
    (void)gp_sim_leave(GP_SIM_SUCCESS);
}

/* ---- end ---- */

static void note_free(gp_sim_machine *machine, const gp_sim_stream *stream, uint64_t base)
{
    gp_sim_checker *checker = &machine->checker;
    gp_sim_life *life = gp_sim_life_at(&checker->noted, base);
    if (life == NULL || gp_sim_life_base(life) != base) {
        gp_sim_side nothing = side_at(stream, base, 0, 0);
        gp_sim_side ended = gp_sim_ended_find(&checker->ended, base, 1);
        gp_sim_hazard_report(checker, GP_SIM_HAZARD_AFTER_FREE, &ended, &nothing);
        return;
    }

    gp_sim_moment moment = gp_sim_stream_moment(stream);
    gp_sim_side side = side_at(stream, base, life->bytes, life->number);
    gp_sim_hazard_check_free(machine, life, &moment, &side);
    end_life(checker, life, &side);
}

void gp_sim_note_free(const void *ptr, cudaStream_t stream)
{
    gp_sim_call call;
    const gp_sim_stream *found = note_begin(&call, stream);
    if (found != NULL)
        note_free(call.machine, found, (uintptr_t)ptr);
    (void)gp_sim_leave(GP_SIM_SUCCESS);
}

void gp_sim_note_use(const void *ptr, cudaStream_t stream)
{
    gp_sim_call call;
    const gp_sim_stream *found = note_begin(&call, stream);
    gp_sim_life *life =
        found != NULL ? gp_sim_life_at(&call.machine->checker.noted, (uintptr_t)ptr) : NULL;
    if (life != NULL) {
        gp_sim_moment moment = gp_sim_stream_moment(found);
        if (!gp_sim_life_add_use(life, &moment))
            gp_sim_checker_give_up(&call.machine->checker);
    }
    (void)gp_sim_leave(GP_SIM_SUCCESS);
}
