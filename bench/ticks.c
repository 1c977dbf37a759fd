#include "ticks.h"

#include <stdlib.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define CALIBRATION_NS 50000000u
#define OVERHEAD_SAMPLES 4001

bool bench_ticks_use_tsc;

/* Does the counter run at one rate, whatever the clock speed and sleep states? */
static bool tsc_is_steady(void)
{
#if defined(__x86_64__)
    unsigned int eax, ebx, ecx, edx;
    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0;
#else
    return false;
#endif
}

static double measure_rate(void)
{
    if (!bench_ticks_use_tsc)
        return 1.0;

    uint64_t start_ns = bench_ticks_monotonic_ns();
    uint64_t start = bench_ticks_begin();
    uint64_t end_ns = start_ns;
    while (end_ns - start_ns < CALIBRATION_NS)
        end_ns = bench_ticks_monotonic_ns();
    return (double)(end_ns - start_ns) / (double)(bench_ticks_end() - start);
}

static int compare_ticks(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The median: the mean would count interrupts, the minimum a lucky case. */
static uint64_t measure_overhead(void)
{
    static uint64_t samples[OVERHEAD_SAMPLES];
    for (size_t i = 0; i < OVERHEAD_SAMPLES; i++) {
        uint64_t start = bench_ticks_begin();
        samples[i] = bench_ticks_end() - start;
    }
    qsort(samples, OVERHEAD_SAMPLES, sizeof(samples[0]), compare_ticks);
    return samples[OVERHEAD_SAMPLES / 2];
}

void bench_ticks_calibrate(bench_ticks *ticks)
{
    bench_ticks_use_tsc = tsc_is_steady();
    ticks->source = bench_ticks_use_tsc ? "tsc" : "clock_gettime";
    ticks->ns_per_tick = measure_rate();
    ticks->overhead = measure_overhead();
}
