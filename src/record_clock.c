#include "record_clock.h"

#include <pthread.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define CALIBRATION_NS UINT64_C(10000000)

bool gp_record_clock_has_counter;

static double ns_per_tick = 1.0;

/* Invariant: one rate, whatever the clock speed and sleep states. And rdtscp is there. */
static bool counter_is_steady(void)
{
#if defined(__x86_64__)
    unsigned int eax, ebx, ecx, edx;
    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0 &&
           __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 27)) != 0;
#else
    return false;
#endif
}

static void choose_clock(void)
{
    gp_record_clock_has_counter = counter_is_steady();
    if (!gp_record_clock_has_counter)
        return;
    uint64_t start_ns = gp_clock_ns();
    uint64_t start = gp_record_clock_now();
    uint64_t end_ns = start_ns;
    while (end_ns - start_ns < CALIBRATION_NS)
        end_ns = gp_clock_ns();
    ns_per_tick = (double)(end_ns - start_ns) / (double)(gp_record_clock_now() - start);
}

void gp_record_clock_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, choose_clock);
}

uint64_t gp_record_clock_to_ns(uint64_t ticks)
{
    return (uint64_t)((double)ticks * ns_per_tick);
}
