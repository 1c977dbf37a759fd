#include "block_list.h"

#include "gp/stats.h"
#include "error.h"

#define MOST_LISTED 16

static bool append_held(const gp_walk_entry *entry, void *user)
{
    unsigned *listed = user;
    if (entry->kind != GP_WALK_LIVE && entry->kind != GP_WALK_ARENA)
        return true;
    if (++*listed > MOST_LISTED) {
        gp_error_append(" ...");
        return false;
    }
    gp_error_append(" %p (%zu bytes, stream %llu)", entry->address, entry->bytes,
                    (unsigned long long)entry->stream_id);
    return true;
}

void gp_block_list_append(gp_pool *pool)
{
    unsigned listed = 0;
    if (gp_pool_walk(pool, append_held, &listed) != GP_OK)
        gp_error_append(" (no host memory to list them)");
}
