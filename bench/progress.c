#include "progress.h"

#include "ticks.h"

#include <stdio.h>
#include <unistd.h>

#define FIRST_NS 1000000000u
#define INTERVAL_NS 200000000u

void bench_progress_begin(bench_progress *progress, size_t total)
{
    *progress = (bench_progress){.total = total, .terminal = isatty(STDERR_FILENO) == 1};
    progress->start_ns = bench_ticks_monotonic_ns();
    progress->next_ns = progress->start_ns + FIRST_NS;
}

void bench_progress_part(bench_progress *progress, const char *label, size_t steps)
{
    (void)snprintf(progress->label, sizeof(progress->label), "%s", label);
    progress->before += progress->part;
    progress->part = steps;
    bench_progress_update(progress, 0);
}

void bench_progress_update(bench_progress *progress, size_t done)
{
    if (!progress->terminal || progress->total == 0)
        return;
    uint64_t now = bench_ticks_monotonic_ns();
    if (now < progress->next_ns)
        return;

    progress->next_ns = now + INTERVAL_NS;
    progress->shown = true;
    size_t percent = (progress->before + done) * 100 / progress->total;
    double seconds = (double)(now - progress->start_ns) / 1e9;
    /* Back to the start of the line, and clear it to its end. */
    (void)fprintf(stderr, "\r\033[K%3zu %%, %.0f s: %s", percent, seconds, progress->label);
    (void)fflush(stderr);
}

void bench_progress_end(bench_progress *progress)
{
    if (progress->shown)
        (void)fputs("\r\033[K", stderr);
    progress->shown = false;
}
