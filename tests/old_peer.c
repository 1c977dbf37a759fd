/* A peer that was built with another bench_contender_ops. */
#include "peers/peer.h"

const bench_contender_ops *gp_bench_peer(size_t index)
{
    static const bench_contender_ops ops = {.struct_bytes = sizeof(ops) - 8, .name = "old"};
    return index == 0 ? &ops : NULL;
}
