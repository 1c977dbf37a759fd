/*
 * An ordered tree of embedded nodes: a treap whose priorities are hashes of the
 * keys, so it needs no random state, allocates nothing and cannot fail.
 */
#ifndef GP_SRC_SIM_TREE_H
#define GP_SRC_SIM_TREE_H

#include <stddef.h>
#include <stdint.h>

typedef struct gp_sim_node {
    struct gp_sim_node *left;
    struct gp_sim_node *right;
    uint64_t key; /* Set by the caller before insert, fixed while in a tree. */
    uint64_t tie; /* Orders nodes of equal key. Key and tie together are unique. */
    uint64_t priority;
} gp_sim_node;

/* All zero is an empty tree. */
typedef struct gp_sim_tree {
    gp_sim_node *root;
} gp_sim_tree;

/* The object that a node is embedded in. */
#define GP_SIM_CONTAINER(node, type, member)                                                       \
    ((type *)(void *)((char *)(node)-offsetof(type, member)))

void gp_sim_tree_insert(gp_sim_tree *tree, gp_sim_node *node);
void gp_sim_tree_remove(gp_sim_tree *tree, gp_sim_node *node);

/* The last node whose key is at most `key`; NULL if there is none. */
gp_sim_node *gp_sim_tree_at_or_below(const gp_sim_tree *tree, uint64_t key);

/* The first node at or after (key, tie); NULL if there is none. */
gp_sim_node *gp_sim_tree_at_or_above(const gp_sim_tree *tree, uint64_t key, uint64_t tie);

/* The node after `node`; NULL if it is the last. */
gp_sim_node *gp_sim_tree_next(const gp_sim_tree *tree, const gp_sim_node *node);

#endif
