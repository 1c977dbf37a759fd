#include "pairs.h"

#include <math.h>
#include <string.h>

/* xorshift64*: repeatable on every machine, which rand() is not. */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* As likely between 1 and 2 KiB as between 512 KiB and 1 MiB. */
static size_t draw_bytes(uint64_t *state)
{
    double share = (double)(draw(state) >> 11) / 9007199254740992.0; /* 2^53: in [0, 1) */
    double low = log2((double)BENCH_PAIRS_MIN_BYTES);
    double high = log2((double)BENCH_PAIRS_MAX_BYTES);
    return (size_t)exp2(low + share * (high - low));
}

void bench_pairs_init(bench_pairs *pairs, size_t fixed_bytes, uint64_t seed)
{
    memset(pairs, 0, sizeof(*pairs));
    pairs->fixed_bytes = fixed_bytes;
    /* Spread out, so that neighbouring seeds start far apart; never 0. */
    uint64_t state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < BENCH_PAIRS_STEPS; i++) {
        pairs->bytes[i] = fixed_bytes != 0 ? fixed_bytes : draw_bytes(&state);
        /* The first round of steps fills every slot once. */
        pairs->slots[i] =
            (uint8_t)(i < BENCH_PAIRS_LIVE ? i : (draw(&state) >> 32) % BENCH_PAIRS_LIVE);
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
