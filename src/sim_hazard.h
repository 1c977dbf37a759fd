/*
 * The hazard checker: proves stream order on every run.
 *
 * Order comes from three things only: the same stream, a wait for an event, and
 * a completion that the host has seen. That something happened to be complete is
 * no order. Where nothing is wrong nothing is reported, whatever the timing; an
 * access adds at most one hazard, the gravest. Should the host run out of memory
 * the checker stops for good rather than cry wolf.
 */
#ifndef GP_SRC_SIM_HAZARD_H
#define GP_SRC_SIM_HAZARD_H

#include "sim_history.h"
#include "sim_life.h"

struct gp_sim_machine;
struct gp_sim_stream;
struct gp_sim_block;

enum { GP_SIM_KEPT_HAZARDS = 64 };

typedef struct gp_sim_checker {
    bool is_on;
    uint64_t last_life;
    gp_sim_tree noted;   /* lives inside native allocations */
    gp_sim_tree history; /* accesses to live native allocations */
    gp_sim_ended ended;
    gp_sim_hazard hazards[GP_SIM_KEPT_HAZARDS];
    uint64_t hazard_count;
} gp_sim_checker;

void gp_sim_checker_give_up(gp_sim_checker *checker);
void gp_sim_checker_clear(gp_sim_checker *checker);

void gp_sim_hazard_report(gp_sim_checker *checker, gp_sim_hazard_kind kind,
                          const gp_sim_side *earlier, const gp_sim_side *later);

/* A native allocation begins, or ends, at the stream's present position. Memory
 * that comes back is clean: whoever gets it next is ordered after the free, by
 * the native pool, so its history ends there. */
void gp_sim_hazard_begin_block(struct gp_sim_machine *machine, struct gp_sim_block *block,
                               const struct gp_sim_stream *stream);
void gp_sim_hazard_end_block(struct gp_sim_machine *machine, struct gp_sim_block *block,
                             const struct gp_sim_stream *stream);

/* The stream's last operation touches bytes. */
void gp_sim_hazard_check(struct gp_sim_machine *machine, const struct gp_sim_stream *stream,
                         const gp_sim_access *access);

/* An unordered access of the life in its range, as gp_sim_note_free() finds it:
 * reported against the free. */
void gp_sim_hazard_check_free(struct gp_sim_machine *machine, const gp_sim_life *life,
                              const gp_sim_moment *moment, const gp_sim_side *free_side);

#endif
