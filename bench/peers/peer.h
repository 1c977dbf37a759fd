/*
 * How a shared object brings its contenders: it exports
 *
 *     const bench_contender_ops *gp_bench_peer(size_t index);
 *
 * which returns the first for 0, the second for 1, and NULL past the last. The
 * tables live as long as the process.
 */
#ifndef GP_BENCH_PEER_H
#define GP_BENCH_PEER_H

#include "contender.h"

#define BENCH_PEER_ENTRY "gp_bench_peer"

#ifdef __cplusplus
#define BENCH_PEER_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define BENCH_PEER_EXPORT __attribute__((visibility("default")))
#endif

BENCH_PEER_EXPORT const bench_contender_ops *gp_bench_peer(size_t index);

#endif
