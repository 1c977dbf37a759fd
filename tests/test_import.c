/* What other programs write, as traces. Pickles: test_gp_trace.c. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "import.h"
#include "trace_fixture.h"

#include <string.h>

#define RMM "Thread,Time,Action,Pointer,Size,Stream\n"

/* A snapshot of one device: entries of its trace, and its segments. */
#define SNAPSHOT(entries, segments)                                                                \
    "{\"segments\": [" segments "], \"device_traces\": [[" entries "]]}"
#define ENTRY(action, addr, size, stream, time)                                                    \
    "{\"action\": \"" action "\", \"addr\": " #addr ", \"size\": " #size ", \"stream\": " #stream  \
    ", \"time_us\": " #time ", \"frames\": []}"

static bench_import_skips skips;

TestSuite(import, .init = trace_make_path, .fini = trace_remove_path);

static bool import_rmm(const char *text)
{
    trace_write_text(text);
    return bench_import_rmm(&trace_read_back, &skips, trace_path, trace_error);
}

static bool import_snapshot(const char *text)
{
    trace_write_text(text);
    return bench_import_snapshot(&trace_read_back, &skips, trace_path, -1, trace_error);
}

static const bench_trace_gaps *gaps(void)
{
    return &trace_read_back.gaps;
}

static unsigned long long time_of(size_t event)
{
    return trace_read_back.events[event].time_ns;
}

/* ---- RMM ---- */

Test(import, takes_threads_streams_and_sizes_of_an_rmm_log)
{
    bool was_read = import_rmm(RMM "140001,15:25:57.000001,allocate,0x7f0010,1024,0\n"
                                   "140002,15:25:57.000003,allocate,0x7f0020,8,0x55d0\n"
                                   "140002,15:25:58.000001,free,0x7f0010,1024,0x55d0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, trace_read_back.event_count, 3));
    trace_assert_event(0, 'a', 1024, 0, 0);
    trace_assert_event(1, 'a', 8, 1, 1);
    trace_assert_event(2, 'f', 1024, 1, 1);
    cr_assert(eq(ullong, time_of(0), 0));
    cr_assert(eq(ullong, time_of(1), 2000));
    cr_assert(eq(ullong, time_of(2), 1000000000));
}

Test(import, follows_the_clock_of_an_rmm_log_over_midnight)
{
    bool was_read = import_rmm(RMM "1,23:59:59.500000,allocate,0x10,8,0\n"
                                   "1,00:00:00.500000,free,0x10,8,0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(ullong, time_of(1), 1000000000));
}

Test(import, keeps_the_order_of_an_rmm_log_where_its_clock_steps_back)
{
    bool was_read = import_rmm(RMM "1,10:00:00:5,allocate,0x10,8,0\n"
                                   "2,10:00:00:4,free,0x10,8,0\n"
                                   "2,10:00:01,allocate,0x10,8,0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(ullong, time_of(1), 0));
    cr_assert(eq(ullong, time_of(2), 500000000));
}

Test(import, leaves_out_what_gave_no_block)
{
    bool was_read = import_rmm(RMM "1,10:00:00,allocate failure,(nil),99999,0\n"
                                   "1,10:00:00,allocate,(nil),0,0\n"
                                   "1,10:00:00,allocate,0x10,8,0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, trace_read_back.event_count, 1));
    cr_assert(eq(sz, skips.failed_allocs, 1));
    cr_assert(eq(sz, skips.empty_blocks, 1));
}

Test(import, allocates_first_what_an_rmm_log_only_frees)
{
    bool was_read = import_rmm(RMM "1,10:00:00,allocate,0x10,8,0\n"
                                   "1,10:00:01,free,0x20,64,0\n"
                                   "1,10:00:02,free,0x20,64,0\n");

    cr_assert(was_read, "%s", trace_error);
    trace_assert_event(0, 'a', 64, 0, 0);
    cr_assert(eq(sz, gaps()->initial_blocks, 1));
    cr_assert(eq(sz, gaps()->ignored_frees, 1));
}

Test(import, names_the_line_of_a_wrong_rmm_log)
{
    static const struct {
        const char *text, *reason;
    } wrong[] = {
        {"", ":1: the first line must be \"Thread,Time,Action,Pointer,Size,Stream\""},
        {RMM, ":2: the file has no events"},
        {RMM "1,10:00:00,allocate,0x10,8\n", ":2: expected 6 fields, found 5"},
        {RMM "1,10:00:00,reallocate,0x10,8,0\n", ":2: Action \"reallocate\" is not known"},
        {RMM "x,10:00:00,allocate,0x10,8,0\n", ":2: Thread \"x\" is not a number"},
        {RMM "1,10:00:61,allocate,0x10,8,0\n",
         ":2: Time \"10:00:61\" is no time of day as 15:25:57.123456"},
        {RMM "1,10:00:00.,allocate,0x10,8,0\n",
         ":2: Time \"10:00:00.\" is no time of day as 15:25:57.123456"},
        {RMM "1,10:00:00,allocate,0x,8,0\n", ":2: Pointer \"0x\" is not a pointer"},
        {RMM "1,10:00:00,allocate,0x11112222333344445,8,0\n",
         ":2: Pointer \"0x11112222333344445\" is too large"},
        {RMM "1,10:00:00,allocate,0x10,-8,0\n", ":2: Size \"-8\" is not a number"},
        {RMM "1,10:00:00,allocate,0x10,8,default\n", ":2: Stream \"default\" is not a pointer"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        trace_assert_refused(import_rmm(wrong[i].text), wrong[i].reason);
}

Test(import, tells_an_rmm_log_by_its_beginning)
{
    trace_write_text(RMM);
    cr_assert(bench_import_is_rmm(trace_path));
    trace_write_text("{}");
    cr_assert(not(bench_import_is_rmm(trace_path)));
    cr_assert(not(bench_import_is_rmm("/nonexistent.csv")));
}

/* ---- PyTorch ---- */

Test(import, takes_the_calls_of_a_snapshot)
{
    bool was_read = import_snapshot(SNAPSHOT(
        ENTRY("segment_alloc", 4096, 2097152, 0, 90) "," ENTRY(
            "alloc", 4096, 1000, 0,
            100) "," ENTRY("alloc", 8192, 24, 94025,
                           101) "," ENTRY("free_requested", 4096, 1000, 0,
                                          103) "," ENTRY("free_completed", 4096, 1000, 0,
                                                         109) "," ENTRY("alloc", 4096, 72, 0, 110),
        ""));

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, trace_read_back.event_count, 4));
    cr_assert(eq(sz, trace_read_back.thread_count, 1));
    trace_assert_event(0, 'a', 1000, 0, 0);
    trace_assert_event(1, 'a', 24, 1, 0);
    trace_assert_event(2, 'f', 1000, 0, 0);
    trace_assert_event(3, 'a', 72, 0, 0);
    cr_assert(eq(ullong, time_of(2), 3000));
}

Test(import, allocates_first_what_is_live_all_through_a_snapshot)
{
    bool was_read = import_snapshot(SNAPSHOT(
        ENTRY("free_requested", 512, 100, 0, 1) "," ENTRY("alloc", 1024, 200, 0, 2),
        "{\"device\": 0, \"stream\": 7, \"blocks\": ["
        "{\"address\": 1024, \"requested_size\": 200, \"state\": \"active_allocated\"},"
        "{\"address\": 2048, \"requested_size\": 300, \"state\": \"active_allocated\"},"
        "{\"address\": 4096, \"requested_size\": 400, \"state\": \"inactive\"},"
        "{\"address\": 8192, \"requested_size\": 500, \"state\": \"active_pending_free\"}]},"
        "{\"device\": 1, \"stream\": 0, \"blocks\": ["
        "{\"address\": 9000, \"requested_size\": 600, \"state\": \"active_allocated\"}]}"));

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, gaps()->initial_blocks, 2));
    cr_assert(eq(sz, trace_read_back.event_count, 4));
    trace_assert_event(0, 'a', 100, 0, 0);
    trace_assert_event(1, 'a', 300, 1, 0);
    trace_assert_event(2, 'f', 100, 0, 0);
    trace_assert_event(3, 'a', 200, 0, 0);
}

Test(import, takes_the_only_device_that_has_events)
{
    bool was_read = import_snapshot("{\"device_traces\": [[], [" ENTRY("alloc", 1, 8, 0, 0) "]]}");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, trace_read_back.event_count, 1));
}

Test(import, asks_which_of_several_devices_is_meant)
{
    const char *text = "{\"device_traces\": [[" ENTRY("alloc", 1, 8, 0,
                                                      0) "], [" ENTRY("alloc", 1, 16, 0, 0) "]]}";

    trace_assert_refused(import_snapshot(text),
                         ": 2 devices have events: choose one with --device");
    cr_assert(bench_import_snapshot(&trace_read_back, &skips, trace_path, 1, trace_error));
    trace_assert_event(0, 'a', 16, 0, 0);
}

Test(import, needs_no_times_in_a_snapshot)
{
    bool was_read = import_snapshot("{\"device_traces\": [[{\"action\": \"alloc\", \"addr\": 1, "
                                    "\"size\": 8, \"stream\": 0}]]}");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(ullong, time_of(0), 0));
}

Test(import, says_what_is_wrong_with_a_snapshot)
{
    static const struct {
        const char *text, *reason;
    } wrong[] = {
        {"[1, 2", ":1: byte 5: ']' expected near end of file"},
        {"5", ":1: byte 1: '[' or '{' expected near '5'"},
        {"{}", ": no events in \"device_traces\": they are there if "
               "torch.cuda.memory._record_memory_history() was called"},
        {"{\"device_traces\": [[{\"addr\": 1}]]}", ": device_traces[0][0]: \"action\" is missing"},
        {"{\"device_traces\": [[{\"action\": \"alloc\", \"addr\": \"x\"}]]}",
         ": device_traces[0][0]: \"addr\" is missing or no whole number"},
        {SNAPSHOT(ENTRY("alloc", 1, 140737488355329, 0, 0), ""),
         ": device_traces[0][0]: size 140737488355329 is more than any device holds"},
        {SNAPSHOT(ENTRY("alloc", 1, 8, 0, 0),
                  "{\"device\": 0, \"blocks\": [{\"state\": \"active_allocated\"}]}"),
         ": segments[0][0]: \"address\" is missing or no whole number"},
        {SNAPSHOT(ENTRY("oom", 1, 8, 0, 0), ""), ": the file has no events"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        trace_assert_refused(import_snapshot(wrong[i].text), wrong[i].reason);
}
