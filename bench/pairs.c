#include "pairs.h"

#include "random.h"

#include <string.h>

void bench_pairs_init(bench_pairs *pairs, size_t fixed_bytes, uint64_t seed)
{
    memset(pairs, 0, sizeof(*pairs));
    pairs->fixed_bytes = fixed_bytes;
    bench_random state = bench_random_seed(seed);
    for (size_t i = 0; i < BENCH_PAIRS_STEPS; i++) {
        pairs->bytes[i] = fixed_bytes != 0 ? fixed_bytes
                                           : bench_random_bytes(&state, BENCH_PAIRS_MIN_BYTES,
                                                                BENCH_PAIRS_MAX_BYTES);
        /* The first round of steps fills every slot once. */
        pairs->slots[i] =
            (uint8_t)(i < BENCH_PAIRS_LIVE ? i
                                           : (bench_random_next(&state) >> 32) % BENCH_PAIRS_LIVE);
    }
}

size_t bench_pairs_peak_bytes(const bench_pairs *pairs)
{
    if (pairs->fixed_bytes != 0)
        return pairs->fixed_bytes;

    size_t held[BENCH_PAIRS_LIVE] = {0};
    size_t live = 0;
    size_t peak = 0;
    for (size_t i = 0; i < BENCH_PAIRS_STEPS; i++) {
        size_t *slot = &held[pairs->slots[i]];
        live = live - *slot + pairs->bytes[i];
        *slot = pairs->bytes[i];
        if (live > peak)
            peak = live;
    }
    return peak;
}

int bench_pairs_fill(bench_pairs *pairs, bench_pairs_alloc alloc, struct bench_contender *contender,
                     cudaStream_t stream)
{
    int code = 0;
    if (pairs->fixed_bytes != 0)
        return code;
    for (size_t i = 0; i < BENCH_PAIRS_LIVE && code == 0; i++) {
        pairs->live_bytes[i] = pairs->bytes[i];
        code = alloc(contender, &pairs->live[i], pairs->bytes[i], stream);
    }
    pairs->next = BENCH_PAIRS_LIVE;
    return code;
}

int bench_pairs_drain(bench_pairs *pairs, bench_pairs_free release,
                      struct bench_contender *contender, cudaStream_t stream)
{
    int first = 0;
    for (size_t i = 0; i < BENCH_PAIRS_LIVE; i++) {
        int code = pairs->live[i] != NULL
                       ? release(contender, pairs->live[i], pairs->live_bytes[i], stream)
                       : 0;
        pairs->live[i] = NULL;
        if (first == 0)
            first = code;
    }
    return first;
}
