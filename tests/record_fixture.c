#include "record_fixture.h"

gp_trace_totals record_totals = {.struct_bytes = sizeof(record_totals)};

void record_open(void)
{
    pool_open();
    trace_make_path();
}

void record_close(void)
{
    trace_remove_path();
    pool_close();
}

void record_read(void)
{
    bench_trace_destroy(&trace_read_back);
    cr_assert(bench_trace_read(&trace_read_back, trace_path, trace_error), "%s", trace_error);
}

void record_stop_and_read(void)
{
    GP(gp_trace_stop(pool, &record_totals));
    record_read();
}
