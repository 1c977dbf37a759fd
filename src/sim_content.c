#include "sim_content.h"

#include <stdlib.h>
#include <string.h>

typedef struct fill {
    gp_sim_node by_base; /* key: first byte */
    uint64_t end;
    unsigned char value;
} fill;

static fill *fill_of(gp_sim_node *node)
{
    return node == NULL ? NULL : GP_SIM_CONTAINER(node, fill, by_base);
}

/* The first fill that reaches past `base`; NULL if there is none. */
static fill *first_past(const gp_sim_content *content, uint64_t base)
{
    fill *below = fill_of(gp_sim_tree_at_or_below(&content->fills, base));
    if (below != NULL && below->end > base)
        return below;
    return fill_of(gp_sim_tree_at_or_above(&content->fills, base, 0));
}

static void drop(gp_sim_content *content, fill *gone)
{
    gp_sim_tree_remove(&content->fills, &gone->by_base);
    free(gone);
}

static fill *make(uint64_t base, uint64_t end, unsigned char value)
{
    fill *made = calloc(1, sizeof(*made));
    if (made != NULL) {
        made->by_base.key = base;
        made->end = end;
        made->value = value;
    }
    return made;
}

/* The part of a fill from `base` on becomes one of its own. */
static bool split(gp_sim_content *content, uint64_t base)
{
    fill *lower = first_past(content, base);
    if (lower == NULL || lower->by_base.key >= base)
        return true;
    fill *upper = make(base, lower->end, lower->value);
    if (upper == NULL)
        return false;
    lower->end = base;
    gp_sim_tree_insert(&content->fills, &upper->by_base);
    return true;
}

bool gp_sim_content_forget(gp_sim_content *content, uint64_t base, uint64_t bytes)
{
    const uint64_t end = base + bytes;
    if (content->fills.root == NULL)
        return true;
    if (!split(content, base) || !split(content, end))
        return false;
    fill *next = first_past(content, base);
    while (next != NULL && next->by_base.key < end) {
        drop(content, next);
        next = first_past(content, base);
    }
    return true;
}

bool gp_sim_content_fill(gp_sim_content *content, uint64_t base, uint64_t bytes,
                         unsigned char value)
{
    fill *made = make(base, base + bytes, value);
    if (made == NULL || !gp_sim_content_forget(content, base, bytes)) {
        free(made);
        return false;
    }
    gp_sim_tree_insert(&content->fills, &made->by_base);
    return true;
}

void gp_sim_content_read(const gp_sim_content *content, uint64_t base, uint64_t bytes,
                         unsigned char *to)
{
    const uint64_t end = base + bytes;
    memset(to, 0, bytes);
    const fill *next = first_past(content, base);
    while (next != NULL && next->by_base.key < end) {
        const uint64_t from = next->by_base.key > base ? next->by_base.key : base;
        const uint64_t stop = next->end < end ? next->end : end;
        memset(to + (from - base), next->value, stop - from);
        next = stop < end ? first_past(content, stop) : NULL;
    }
}

void gp_sim_content_clear(gp_sim_content *content)
{
    while (content->fills.root != NULL)
        drop(content, fill_of(content->fills.root));
}
