#include "sim_tree.h"

#include <stdbool.h>

/* A finaliser of 64-bit hashes: neighbouring keys get unrelated priorities. */
static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static bool is_before(const gp_sim_node *node, uint64_t key, uint64_t tie)
{
    return node->key < key || (node->key == key && node->tie < tie);
}

/* Part the subtree at `from` into what is before (key, tie) and the rest. */
static void split(gp_sim_node *from, const gp_sim_node *at, gp_sim_node **before,
                  gp_sim_node **after)
{
    while (from != NULL) {
        if (is_before(from, at->key, at->tie)) {
            *before = from;
            before = &from->right;
            from = from->right;
        } else {
            *after = from;
            after = &from->left;
            from = from->left;
        }
    }
    *before = NULL;
    *after = NULL;
}

static gp_sim_node *merge(gp_sim_node *left, gp_sim_node *right)
{
    gp_sim_node *root = NULL;
    gp_sim_node **link = &root;
    while (left != NULL && right != NULL) {
        if (left->priority > right->priority) {
            *link = left;
            link = &left->right;
            left = left->right;
        } else {
            *link = right;
            link = &right->left;
            right = right->left;
        }
    }
    *link = left != NULL ? left : right;
    return root;
}

void gp_sim_tree_insert(gp_sim_tree *tree, gp_sim_node *node)
{
    gp_sim_node **link = &tree->root;
    node->priority = mix(node->key ^ mix(node->tie));
    while (*link != NULL && (*link)->priority > node->priority)
        link = is_before(*link, node->key, node->tie) ? &(*link)->right : &(*link)->left;

    split(*link, node, &node->left, &node->right);
    *link = node;
}

void gp_sim_tree_remove(gp_sim_tree *tree, gp_sim_node *node)
{
    gp_sim_node **link = &tree->root;
    while (*link != node)
        link = is_before(*link, node->key, node->tie) ? &(*link)->right : &(*link)->left;
    *link = merge(node->left, node->right);
}

gp_sim_node *gp_sim_tree_at_or_below(const gp_sim_tree *tree, uint64_t key)
{
    gp_sim_node *best = NULL;
    gp_sim_node *node = tree->root;
    while (node != NULL) {
        if (node->key <= key) {
            best = node;
            node = node->right;
        } else {
            node = node->left;
        }
    }
    return best;
}

gp_sim_node *gp_sim_tree_at_or_above(const gp_sim_tree *tree, uint64_t key, uint64_t tie)
{
    gp_sim_node *best = NULL;
    gp_sim_node *node = tree->root;
    while (node != NULL) {
        if (is_before(node, key, tie)) {
            node = node->right;
        } else {
            best = node;
            node = node->left;
        }
    }
    return best;
}

gp_sim_node *gp_sim_tree_next(const gp_sim_tree *tree, const gp_sim_node *node)
{
    if (node->tie == UINT64_MAX)
        return gp_sim_tree_at_or_above(tree, node->key + 1, 0);
    return gp_sim_tree_at_or_above(tree, node->key, node->tie + 1);
}
