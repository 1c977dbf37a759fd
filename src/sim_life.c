#include "sim_life.h"

#include <stdlib.h>

static gp_sim_life *life_of(gp_sim_node *node)
{
    return node != NULL ? GP_SIM_CONTAINER(node, gp_sim_life, by_address) : NULL;
}

gp_sim_life *gp_sim_life_above(const gp_sim_tree *layer, uint64_t address)
{
    gp_sim_life *life = life_of(gp_sim_tree_at_or_below(layer, address));
    if (life != NULL && gp_sim_life_end(life) > address)
        return life;
    return life_of(gp_sim_tree_at_or_above(layer, address, 0));
}

gp_sim_life *gp_sim_life_at(const gp_sim_tree *layer, uint64_t address)
{
    gp_sim_life *life = gp_sim_life_above(layer, address);
    return life != NULL && gp_sim_life_base(life) <= address ? life : NULL;
}

bool gp_sim_life_add_use(gp_sim_life *life, const gp_sim_moment *use)
{
    for (size_t i = 0; i < life->use_count; i++) {
        if (life->uses[i].stream_id != use->stream_id)
            continue;
        gp_sim_order_release(life->uses[i].order);
        life->uses[i] = *use;
        (void)gp_sim_order_share(use->order);
        return true;
    }

    gp_sim_moment *uses = realloc(life->uses, (life->use_count + 1) * sizeof(*uses));
    if (uses == NULL)
        return false;
    life->uses = uses;
    life->uses[life->use_count++] = *use;
    (void)gp_sim_order_share(use->order);
    return true;
}

void gp_sim_life_clear_uses(gp_sim_life *life)
{
    for (size_t i = 0; i < life->use_count; i++)
        gp_sim_order_release(life->uses[i].order);
    free(life->uses);
    life->uses = NULL;
    life->use_count = 0;
}

gp_sim_side gp_sim_life_begin_side(const gp_sim_life *life)
{
    return (gp_sim_side){.stream_id = life->stream_id,
                         .position = life->position,
                         .life = life->number,
                         .base = (uintptr_t)gp_sim_life_base(life),
                         .bytes = life->bytes};
}

void gp_sim_ended_add(gp_sim_ended *ended, const gp_sim_side *free_side)
{
    ended->frees[ended->count++ % GP_SIM_ENDED_LIVES] = *free_side;
}

gp_sim_side gp_sim_ended_find(const gp_sim_ended *ended, uint64_t base, uint64_t bytes)
{
    uint64_t kept = ended->count < GP_SIM_ENDED_LIVES ? ended->count : GP_SIM_ENDED_LIVES;
    for (uint64_t i = 1; i <= kept; i++) {
        const gp_sim_side *side = &ended->frees[(ended->count - i) % GP_SIM_ENDED_LIVES];
        if (side->base < base + bytes && base < side->base + side->bytes)
            return *side;
    }
    return (gp_sim_side){0};
}
