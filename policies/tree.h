/*
 * libbsd's red-black trees (headers only), generated as static functions: its
 * own RB_GENERATE_STATIC needs a macro that libbsd does not define on Linux.
 *
 * A file that augments its tree redefines RB_AUGMENT before it generates it.
 */
#ifndef GP_POLICIES_TREE_H
#define GP_POLICIES_TREE_H

#include <bsd/sys/tree.h>

#define GP_TREE_GENERATE(name, type, field, compare)                                               \
    RB_GENERATE_INTERNAL(name, type, field, compare, __attribute__((unused)) static)

#endif
