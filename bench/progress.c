#include "progress.h"

#include "ticks.h"

#include <stdio.h>
#include <unistd.h>

#define FIRST_NS 1000000000u
#define INTERVAL_NS 200000000u

void bench_progress_begin(bench_progress *progress, const char *label)
{
    *progress = (bench_progress){.terminal = isatty(STDERR_FILENO) == 1};
    (void)snprintf(progress->label, sizeof(progress->label), "%s", label);
    progress->start_ns = bench_ticks_monotonic_ns();
    progress->next_ns = progress->start_ns + FIRST_NS;
}

void bench_progress_update(bench_progress *progress, size_t done, size_t total)
{
    if (!progress->terminal || total == 0)
        return;
    uint64_t now = bench_ticks_monotonic_ns();
    if (now < progress->next_ns)
        return;

    progress->next_ns = now + INTERVAL_NS;
    progress->shown = true;
    double seconds = (double)(now - progress->start_ns) / 1e9;
    (void)fprintf(stderr, "\r\033[K%s: %zu %% (%.0f s)", progress->label, done * 100 / total,
                  seconds);
    (void)fflush(stderr);
}

void bench_progress_end(bench_progress *progress)
{
    if (progress->shown)
        (void)fputs("\r\033[K", stderr);
    progress->shown = false;
}
