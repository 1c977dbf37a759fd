#include "sim_hazard.h"

#include "sim_machine.h"
#include "sim_memory.h"
#include "sim_stream.h"

#include <stdlib.h>

/* ---- life and report ---- */

static void free_noted(gp_sim_checker *checker, gp_sim_life *life)
{
    gp_sim_tree_remove(&checker->noted, &life->by_address);
    gp_sim_life_clear_uses(life);
    free(life);
}

void gp_sim_checker_clear(gp_sim_checker *checker)
{
    gp_sim_life *life = gp_sim_life_above(&checker->noted, 0);
    while (life != NULL) {
        free_noted(checker, life);
        life = gp_sim_life_above(&checker->noted, 0);
    }
    gp_sim_history_clear(&checker->history);
}

void gp_sim_checker_give_up(gp_sim_checker *checker)
{
    checker->is_on = false;
}

void gp_sim_hazard_report(gp_sim_checker *checker, gp_sim_hazard_kind kind,
                          const gp_sim_side *earlier, const gp_sim_side *later)
{
    if (checker->hazard_count < GP_SIM_KEPT_HAZARDS)
        checker->hazards[checker->hazard_count] =
            (gp_sim_hazard){.kind = kind, .earlier = *earlier, .later = *later};
    checker->hazard_count++;
}

/* ---- one access ---- */

typedef struct check {
    gp_sim_machine *machine;
    gp_sim_moment moment; /* of the access */
    gp_sim_side access;
    bool is_found;
    gp_sim_hazard_kind kind; /* of the gravest hazard so far */
    gp_sim_side earlier;
} check;

/* How much a kind says about the cause, from little to much. */
static int gravity(gp_sim_hazard_kind kind)
{
    switch (kind) {
    case GP_SIM_HAZARD_RACE:
        return 0;
    case GP_SIM_HAZARD_BEFORE_ALLOC:
        return 1;
    case GP_SIM_HAZARD_EARLY_REUSE:
        return 2;
    case GP_SIM_HAZARD_OVERLAP:
    case GP_SIM_HAZARD_AFTER_FREE:
        return 3;
    }
    return 0;
}

static void found(check *of, gp_sim_hazard_kind kind, const gp_sim_side *earlier, uint64_t life)
{
    if (of->is_found && gravity(of->kind) >= gravity(kind))
        return;
    of->is_found = true;
    of->kind = kind;
    of->earlier = *earlier;
    of->access.life = life;
}

static bool is_ordered(const check *of, uint64_t stream_id, uint64_t position)
{
    return gp_sim_moment_covers(&of->moment, &of->machine->observed, stream_id, position);
}

static void check_alloc(check *of, const gp_sim_life *life)
{
    if (is_ordered(of, life->stream_id, life->position))
        return;
    gp_sim_side begin = gp_sim_life_begin_side(life);
    found(of, GP_SIM_HAZARD_BEFORE_ALLOC, &begin, life->number);
}

static void check_mark(check *of, const gp_sim_side *mark, uint64_t life)
{
    if (mark->position == 0 || is_ordered(of, mark->stream_id, mark->position))
        return;
    if (mark->life != life)
        found(of, GP_SIM_HAZARD_EARLY_REUSE, mark, life);
    else if (mark->writes || of->access.writes)
        found(of, GP_SIM_HAZARD_RACE, mark, life);
}

static void check_history(check *of, uint64_t base, uint64_t end, uint64_t life)
{
    const gp_sim_tree *history = &of->machine->checker.history;
    const gp_sim_segment *segment = gp_sim_history_first(history, base, end);
    while (segment != NULL) {
        check_mark(of, &segment->write, life);
        for (size_t i = 0; i < segment->read_count; i++)
            check_mark(of, &segment->reads[i], life);
        segment = gp_sim_history_next(history, segment, end);
    }
}

/* Bytes of one life: compare with what was there, then take its place. */
static void touch(check *of, uint64_t base, uint64_t end, uint64_t life)
{
    gp_sim_checker *checker = &of->machine->checker;
    check_history(of, base, end, life);

    gp_sim_side side = of->access;
    side.life = life;
    if (!gp_sim_history_record(&checker->history, base, end, &side, &of->moment,
                               &of->machine->observed))
        gp_sim_checker_give_up(checker);
}

static void found_no_life(check *of, uint64_t base, uint64_t end)
{
    gp_sim_side ended = gp_sim_ended_find(&of->machine->checker.ended, base, end - base);
    found(of, GP_SIM_HAZARD_AFTER_FREE, &ended, 0);
}

/* Bytes of one native allocation, cut at the borders of the lives inside. */
static void check_block_part(check *of, const gp_sim_block *block, uint64_t base, uint64_t end)
{
    const gp_sim_tree *noted = &of->machine->checker.noted;
    while (base < end) {
        const gp_sim_life *life = gp_sim_life_above(noted, base);
        bool is_inside = life != NULL && gp_sim_life_base(life) <= base;
        uint64_t border = life == NULL ? end
                          : is_inside  ? gp_sim_life_end(life)
                                       : gp_sim_life_base(life);
        uint64_t stop = border < end ? border : end;
        if (is_inside) {
            check_alloc(of, life);
            touch(of, base, stop, life->number);
        } else if (gp_sim_block_needs_lives(block)) {
            found_no_life(of, base, stop);
        } else {
            touch(of, base, stop, block->life.number);
        }
        base = stop;
    }
}

static void check_all(check *of, uint64_t base, uint64_t end)
{
    while (base < end) {
        gp_sim_life *life = gp_sim_life_above(&of->machine->blocks, base);
        if (life == NULL || gp_sim_life_base(life) >= end) {
            found_no_life(of, base, end);
            return;
        }
        if (gp_sim_life_base(life) > base)
            found_no_life(of, base, gp_sim_life_base(life));
        uint64_t from = gp_sim_life_base(life) > base ? gp_sim_life_base(life) : base;
        uint64_t stop = gp_sim_life_end(life) < end ? gp_sim_life_end(life) : end;
        check_alloc(of, life);
        check_block_part(of, gp_sim_block_of_life(life), from, stop);
        base = stop;
    }
}

void gp_sim_hazard_check(gp_sim_machine *machine, const gp_sim_stream *stream,
                         const gp_sim_access *access)
{
    if (!machine->checker.is_on || access->bytes == 0)
        return;

    uint64_t base = (uintptr_t)access->base;
    check of = {.machine = machine, .moment = gp_sim_stream_moment(stream)};
    of.access = (gp_sim_side){.stream_id = of.moment.stream_id,
                              .position = of.moment.position,
                              .base = (uintptr_t)base,
                              .bytes = access->bytes,
                              .writes = access->writes};
    check_all(&of, base, base + access->bytes);
    if (of.is_found)
        gp_sim_hazard_report(&machine->checker, of.kind, &of.earlier, &of.access);
}

/* ---- native allocations ---- */

void gp_sim_hazard_begin_block(gp_sim_machine *machine, gp_sim_block *block,
                               const gp_sim_stream *stream)
{
    gp_sim_moment moment = gp_sim_stream_moment(stream);
    block->life.number = ++machine->checker.last_life;
    block->life.stream_id = moment.stream_id;
    block->life.position = moment.position;
}

static bool is_covered(const gp_sim_machine *machine, const gp_sim_life *life,
                       const gp_sim_moment *moment, const gp_sim_side *mark)
{
    if (mark->position == 0 ||
        gp_sim_moment_covers(moment, &machine->observed, mark->stream_id, mark->position))
        return true;
    for (size_t i = 0; i < life->use_count; i++) {
        if (gp_sim_moment_covers(&life->uses[i], &machine->observed, mark->stream_id,
                                 mark->position))
            return true;
    }
    return false;
}

/* The first access in a segment that the free does not wait for; NULL if none.
 * Accesses of other lives count only if `any_life`. */
static const gp_sim_side *uncovered(const gp_sim_machine *machine, const gp_sim_life *life,
                                    const gp_sim_moment *moment, const gp_sim_segment *segment,
                                    bool any_life)
{
    for (size_t i = 0; i <= segment->read_count; i++) {
        const gp_sim_side *mark = i == 0 ? &segment->write : &segment->reads[i - 1];
        if ((any_life || mark->life == life->number) && !is_covered(machine, life, moment, mark))
            return mark;
    }
    return NULL;
}

static void check_free(gp_sim_machine *machine, const gp_sim_life *life,
                       const gp_sim_moment *moment, const gp_sim_side *free_side, bool any_life)
{
    const gp_sim_tree *history = &machine->checker.history;
    uint64_t end = gp_sim_life_end(life);
    const gp_sim_segment *segment = gp_sim_history_first(history, gp_sim_life_base(life), end);
    while (segment != NULL) {
        const gp_sim_side *mark = uncovered(machine, life, moment, segment, any_life);
        if (mark != NULL) {
            gp_sim_hazard_report(&machine->checker, GP_SIM_HAZARD_AFTER_FREE, mark, free_side);
            return;
        }
        segment = gp_sim_history_next(history, segment, end);
    }
}

void gp_sim_hazard_check_free(gp_sim_machine *machine, const gp_sim_life *life,
                              const gp_sim_moment *moment, const gp_sim_side *free_side)
{
    check_free(machine, life, moment, free_side, false);
}

/* Blocks that are still live in memory which is given back: one report, and their
 * lives end here. */
static void end_lives_inside(gp_sim_checker *checker, const gp_sim_life *block,
                             const gp_sim_side *free_side)
{
    bool is_reported = false;
    gp_sim_life *life = gp_sim_life_above(&checker->noted, gp_sim_life_base(block));
    while (life != NULL && gp_sim_life_base(life) < gp_sim_life_end(block)) {
        gp_sim_side begin = gp_sim_life_begin_side(life);
        if (!is_reported)
            gp_sim_hazard_report(checker, GP_SIM_HAZARD_AFTER_FREE, &begin, free_side);
        is_reported = true;
        free_noted(checker, life);
        life = gp_sim_life_above(&checker->noted, gp_sim_life_base(block));
    }
}

void gp_sim_hazard_end_block(gp_sim_machine *machine, gp_sim_block *block,
                             const gp_sim_stream *stream)
{
    gp_sim_checker *checker = &machine->checker;
    if (!checker->is_on)
        return;

    gp_sim_life *life = &block->life;
    gp_sim_moment moment = gp_sim_stream_moment(stream);
    gp_sim_side side = gp_sim_life_begin_side(life);
    side.stream_id = moment.stream_id;
    side.position = moment.position;
    check_free(machine, life, &moment, &side, true);
    end_lives_inside(checker, life, &side);
    if (!gp_sim_history_forget(&checker->history, gp_sim_life_base(life), gp_sim_life_end(life)))
        gp_sim_checker_give_up(checker);
    gp_sim_ended_add(&checker->ended, &side);
}
