/*
 * libbsd's red-black trees (header only), generated as static functions: its own
 * RB_GENERATE_STATIC needs a macro that libbsd does not define on Linux.
 */
#ifndef GP_SRC_TREE_H
#define GP_SRC_TREE_H

#include <bsd/sys/tree.h>

#define GP_TREE_GENERATE(name, type, field, compare)                                               \
    RB_GENERATE_INTERNAL(name, type, field, compare, __attribute__((unused)) static)

#endif
