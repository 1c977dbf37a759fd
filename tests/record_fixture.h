/* A recording of the fixture's pool, in the file of trace_fixture.h. */
#ifndef GP_TESTS_RECORD_FIXTURE_H
#define GP_TESTS_RECORD_FIXTURE_H

#include "pool_fixture.h"
#include "trace_fixture.h"

extern gp_trace_totals record_totals;

/* .init and .fini of a suite. */
void record_open(void);
void record_close(void);

/* Read the file. */
void record_read(void);

/* Stop the recording, and read the file. */
void record_stop_and_read(void);

#endif
