/* Hazards for people. */
#include "sim_machine.h"

#include <stdio.h>
#include <string.h>

uint64_t gp_sim_hazard_count(void)
{
    gp_sim_machine *machine = gp_sim_machine_lock();
    uint64_t count = machine != NULL ? machine->checker.hazard_count : 0;
    gp_sim_machine_unlock();
    return count;
}

size_t gp_sim_get_hazards(gp_sim_hazard *hazards, size_t capacity)
{
    if (hazards == NULL)
        return 0;

    gp_sim_machine *machine = gp_sim_machine_lock();
    uint64_t found = machine != NULL ? machine->checker.hazard_count : 0;
    size_t kept = found < GP_SIM_KEPT_HAZARDS ? (size_t)found : GP_SIM_KEPT_HAZARDS;
    size_t count = kept < capacity ? kept : capacity;
    if (count > 0)
        memcpy(hazards, machine->checker.hazards, count * sizeof(*hazards));
    gp_sim_machine_unlock();
    return count;
}

static const char *kind_text(gp_sim_hazard_kind kind)
{
    switch (kind) {
    case GP_SIM_HAZARD_BEFORE_ALLOC:
        return "access before the allocation";
    case GP_SIM_HAZARD_AFTER_FREE:
        return "access after the free";
    case GP_SIM_HAZARD_EARLY_REUSE:
        return "early reuse";
    case GP_SIM_HAZARD_OVERLAP:
        return "overlapping blocks";
    case GP_SIM_HAZARD_RACE:
        return "race";
    }
    return "unknown hazard";
}

enum { SIDE_TEXT_BYTES = 160 };

static void side_text(const gp_sim_side *side, char *text)
{
    if (side->stream_id == 0) {
        (void)snprintf(text, SIDE_TEXT_BYTES, "no block known there");
        return;
    }
    (void)snprintf(text, SIDE_TEXT_BYTES,
                   "stream %llu position %llu, life %llu, %s [0x%llx, +%llu)",
                   (unsigned long long)side->stream_id, (unsigned long long)side->position,
                   (unsigned long long)side->life, side->writes ? "writes" : "holds or reads",
                   (unsigned long long)side->base, (unsigned long long)side->bytes);
}

int gp_sim_describe_hazard(const gp_sim_hazard *hazard, char *text, size_t capacity)
{
    char earlier[SIDE_TEXT_BYTES];
    char later[SIDE_TEXT_BYTES];
    if (hazard == NULL || (text == NULL && capacity > 0))
        return 0;

    side_text(&hazard->earlier, earlier);
    side_text(&hazard->later, later);
    int length = snprintf(text, capacity, "%s: %s; not ordered before it: %s",
                          kind_text(hazard->kind), later, earlier);
    return length + 1;
}
