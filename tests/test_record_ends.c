/* Recordings: what stops one, and what cannot be written. */
#include "program.h"
#include "record_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(record_ends, .init = record_open, .fini = record_close);

/* ---- what cannot be written ---- */

static void *read_late(void *descriptor)
{
    char buffer[4096];
    ssize_t count = 0;
    int file = open(trace_path, O_WRONLY | O_TRUNC);
    while ((count = read(*(int *)descriptor, buffer, sizeof(buffer))) > 0) {
        if (write(file, buffer, (size_t)count) != count)
            abort();
    }
    (void)close(file);
    return NULL;
}

/* A pipe that nobody reads is a file that has no end of being slow. */
Test(record_ends, counts_what_a_slow_file_makes_it_drop)
{
    cudaStream_t stream = pool_attached_stream();
    enum { PAIRS = 20000 };
    int ends[2];
    char path[64];
    pthread_t reader;
    cr_assert(eq(int, pipe(ends), 0));
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[1]);

    GP(gp_trace_start(pool, path));
    for (int i = 0; i < PAIRS; i++)
        pool_use(64, stream);
    (void)close(ends[1]);
    cr_assert(eq(int, pthread_create(&reader, NULL, read_late, &ends[0]), 0));
    pool_use(64, stream);
    GP(gp_trace_stop(pool, &record_totals));
    cr_assert(eq(int, pthread_join(reader, NULL), 0));
    (void)close(ends[0]);
    record_read();

    cr_assert(lt(u64, 0, record_totals.dropped_events));
    cr_assert(eq(u64, record_totals.recorded_events + record_totals.dropped_events, 2 * PAIRS + 2));
    cr_assert(eq(u64, trace_read_back.gaps.dropped_events, record_totals.dropped_events));
}

Test(record_ends, says_that_the_disk_was_full)
{
    cudaStream_t stream = pool_attached_stream();
    struct rlimit limit;
    cr_assert(eq(int, getrlimit(RLIMIT_FSIZE, &limit), 0));
    limit.rlim_cur = KIB(16);
    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &limit), 0));

    GP(gp_trace_start(pool, trace_path));
    for (int i = 0; i < 2000; i++)
        pool_use(64, stream);
    usleep(20000);
    for (int i = 0; i < 2000; i++)
        pool_use(64, stream);
    FAILS(GP_ERR_IO, gp_trace_stop(pool, &record_totals));

    cr_assert(ne(ptr, strstr(gp_last_error(), strerror(EFBIG)), NULL), "%s", gp_last_error());
    cr_assert(lt(u64, 0, record_totals.dropped_events));
    cr_assert(eq(u64, record_totals.recorded_events + record_totals.dropped_events, 8000));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_trace_stop(pool, NULL));
    limit.rlim_cur = limit.rlim_max;
    cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &limit), 0));
    cr_assert(not(bench_trace_read(&trace_read_back, trace_path, trace_error)));
}

Test(record_ends, starts_nothing_where_no_file_can_be_written)
{
    FAILS(GP_ERR_IO, gp_trace_start(pool, "/nonexistent/trace.csv"));
    cr_assert(ne(ptr, strstr(gp_last_error(), "/nonexistent/trace.csv: No such file"), NULL));
    FAILS(GP_ERR_IO, gp_trace_start(pool, "/dev/full"));
    cr_assert(ne(ptr, strstr(gp_last_error(), "No space left"), NULL));

    pool_use(64, pool_attached_stream());
    GP(gp_trace_start(pool, trace_path));
    GP(gp_trace_stop(pool, NULL));
}

/* ---- mistakes ---- */

Test(record_ends, refuses_what_makes_no_sense)
{
    gp_trace_totals unknown = {.struct_bytes = 4};

    FAILS(GP_ERR_INVALID_ARGUMENT, gp_trace_start(pool, NULL));
    FAILS(GP_ERR_INVALID_POOL, gp_trace_start(NULL, trace_path));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_trace_stop(pool, NULL));
    FAILS(GP_ERR_INVALID_POOL, gp_trace_stop(NULL, NULL));
    GP(gp_trace_start(pool, trace_path));
    FAILS(GP_ERR_BUSY, gp_trace_start(pool, "/nonexistent/other.csv"));
    FAILS(GP_ERR_VERSION_MISMATCH, gp_trace_stop(pool, &unknown));
    GP(gp_trace_stop(pool, &record_totals));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_trace_stop(pool, &record_totals));
}

Test(record_ends, leaves_no_trace_of_one_that_had_no_place)
{
    static const gp_trace_sink sink = {.struct_bytes = sizeof(sink), .name = "deaf"};
    static char users[GP_TRACE_MOST_SINKS];
    for (int i = 0; i < GP_TRACE_MOST_SINKS; i++)
        GP(gp_trace_attach(pool, &sink, &users[i], GP_TRACE_OFF));

    FAILS(GP_ERR_BUSY, gp_trace_start(pool, trace_path));

    GP(gp_trace_detach(pool, &sink, &users[0]));
    GP(gp_trace_start(pool, trace_path));
    pool_use(64, pool_attached_stream());
    record_stop_and_read();
    cr_assert(eq(sz, trace_read_back.event_count, 2));
}

/* ---- ends ---- */

Test(record_ends, ends_with_its_pool)
{
    gp_pool_config config = pool_config();
    GP(gp_trace_start(pool, trace_path));
    pool_use(64, pool_attached_stream());

    pool_reopen(NULL, &config);

    record_read();
    cr_assert(eq(sz, trace_read_back.event_count, 2));
    FAILS(GP_ERR_INVALID_ARGUMENT, gp_trace_stop(pool, NULL));
}

/* By record_exit.c, since a test does not survive it. */
static void exit_while_recording(const char *how)
{
    program_run run;
    program_execute(&run, RECORD_EXIT, "'%s' %s", trace_path, how);
    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    record_read();
}

Test(record_ends, is_complete_once_the_process_has_exited)
{
    exit_while_recording("");

    cr_assert(eq(sz, trace_read_back.event_count, 2000));
}

Test(record_ends, is_complete_when_the_process_exits_while_threads_allocate)
{
    exit_while_recording("thread");

    cr_assert(le(sz, 2000, trace_read_back.event_count));
}

static void in_child(int fd)
{
    char result = gp_trace_stop(pool, NULL) == GP_ERR_WRONG_PROCESS &&
                          gp_trace_start(pool, "/dev/null") == GP_ERR_WRONG_PROCESS
                      ? 'y'
                      : 'n';
    if (write(fd, &result, 1) != 1)
        abort();
    _exit(0);
}

Test(record_ends, goes_on_in_the_parent_alone)
{
    cudaStream_t stream = pool_attached_stream();
    int ends[2];
    char result = 0;
    GP(gp_trace_start(pool, trace_path));
    pool_use(64, stream);
    cr_assert(eq(int, pipe(ends), 0));

    pid_t child = fork();
    if (child == 0)
        in_child(ends[1]);
    cr_assert(eq(int, waitpid(child, NULL, 0), child));
    cr_assert(eq(sz, (size_t)read(ends[0], &result, 1), 1));
    pool_use(128, stream);
    record_stop_and_read();

    cr_assert(eq(chr, result, 'y'));
    cr_assert(eq(sz, trace_read_back.event_count, 4));
    trace_assert_event(2, 'a', 128, 0, 0);
}
