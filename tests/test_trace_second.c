/* The trace reader, version 2: threads, streams of any name, and what a recording may lack. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "trace_fixture.h"

#include <unistd.h>

#define HEADER SECOND_HEADER

TestSuite(trace_second, .init = trace_make_path, .fini = trace_remove_path);

static const bench_trace_gaps *gaps(void)
{
    return &trace_read_back.gaps;
}

/* ---- sound files ---- */

Test(trace_second, reads_events_with_their_threads)
{
    bool was_read = trace_read_text(HEADER "0,a,70,4096,0,0\n"
                                           "5,a,9,100,0,1\n"
                                           "5,f,70,4096,0,1\n"
                                           "6,e,0,3,0,0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, trace_read_back.event_count, 3));
    cr_assert(eq(sz, trace_read_back.thread_count, 2));
    cr_assert(eq(sz, trace_read_back.peak_live_bytes, 4196));
    trace_assert_event(0, 'a', 4096, 0, 0);
    trace_assert_event(1, 'a', 100, 0, 1);
    trace_assert_event(2, 'f', 4096, 0, 1);
    cr_assert(eq(u64, trace_read_back.events[2].time_ns, 5));
}

Test(trace_second, makes_streams_and_threads_of_any_name_small_indexes)
{
    bool was_read = trace_read_text(HEADER "0,a,1,8,18446744073709551615,5000000\n"
                                           "0,a,2,8,3,12\n"
                                           "0,f,1,8,3,5000000\n"
                                           "0,e,0,3,0,0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, trace_read_back.stream_count, 2));
    trace_assert_event(0, 'a', 8, 0, 0);
    trace_assert_event(1, 'a', 8, 1, 1);
    trace_assert_event(2, 'f', 8, 1, 0);
}

Test(trace_second, takes_an_id_that_returns_after_its_free)
{
    bool was_read = trace_read_text(HEADER "0,a,1,8,0,0\n"
                                           "1,f,1,8,0,0\n"
                                           "2,a,1,16,0,0\n"
                                           "3,f,1,16,0,0\n"
                                           "3,e,0,4,0,0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, trace_read_back.block_count, 2));
    trace_assert_event(3, 'f', 16, 0, 0);
}

Test(trace_second, asks_no_free_for_its_size)
{
    bool was_read = trace_read_text(HEADER "0,a,1,1000,0,0\n"
                                           "1,f,1,1024,0,0\n"
                                           "2,a,1,1000,0,0\n"
                                           "3,f,1,0,0,0\n"
                                           "3,e,0,4,0,0\n");

    cr_assert(was_read, "%s", trace_error);
    trace_assert_event(1, 'f', 1000, 0, 0);
    trace_assert_event(3, 'f', 1000, 0, 0);
}

Test(trace_second, allocates_first_what_was_live_before)
{
    bool was_read = trace_read_text(HEADER "7,a,1,8,0,0\n"
                                           "8,f,2,512,1,1\n"
                                           "9,f,3,1024,1,0\n"
                                           "9,e,0,3,0,0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, gaps()->initial_blocks, 2));
    cr_assert(eq(sz, trace_read_back.event_count, 5));
    cr_assert(eq(sz, trace_read_back.peak_live_bytes, 512 + 1024 + 8));
    trace_assert_event(0, 'a', 512, 1, 1);
    trace_assert_event(1, 'a', 1024, 1, 0);
    trace_assert_event(2, 'a', 8, 0, 0);
    trace_assert_event(3, 'f', 512, 1, 1);
    cr_assert(eq(u64, trace_read_back.events[0].time_ns, 0));
}

Test(trace_second, writes_what_it_reads)
{
    bool was_read = trace_read_text(HEADER "7,a,1,8,40,3\n"
                                           "8,f,2,512,50,4\n"
                                           "9,f,1,0,50,3\n"
                                           "9,e,0,3,0,0\n");
    cr_assert(was_read, "%s", trace_error);

    cr_assert(bench_trace_write(&trace_read_back, trace_path));
    bench_trace_destroy(&trace_read_back);
    was_read = bench_trace_read(&trace_read_back, trace_path, trace_error);

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, trace_read_back.event_count, 4));
    trace_assert_event(0, 'a', 512, 0, 0);
    trace_assert_event(1, 'a', 8, 1, 1);
    trace_assert_event(2, 'f', 512, 0, 0);
    trace_assert_event(3, 'f', 8, 0, 1);
}

Test(trace_second, cannot_be_written_where_no_file_can_be)
{
    cr_assert(trace_read_text(HEADER "0,a,1,8,0,0\n0,e,0,1,0,0\n"), "%s", trace_error);

    cr_assert(not(bench_trace_write(&trace_read_back, "/nonexistent/trace.csv")));
    cr_assert(not(bench_trace_write(&trace_read_back, "/dev/full")));
}

/* ---- what a recorder dropped ---- */

Test(trace_second, counts_dropped_events)
{
    bool was_read = trace_read_text(HEADER "0,a,1,8,0,0\n"
                                           "0,d,0,41,0,3\n"
                                           "0,d,0,1,0,0\n"
                                           "0,e,0,3,0,0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(u64, gaps()->dropped_events, 42));
    cr_assert(eq(sz, trace_read_back.thread_count, 1));
}

Test(trace_second, puts_a_missing_free_before_the_next_block_of_its_address)
{
    bool was_read = trace_read_text(HEADER "0,a,1,8,6,0\n"
                                           "1,d,0,1,0,0\n"
                                           "2,a,1,16,7,1\n"
                                           "2,e,0,3,0,0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, gaps()->missing_frees, 1));
    cr_assert(eq(sz, trace_read_back.event_count, 3));
    trace_assert_event(1, 'f', 8, 0, 1);
    trace_assert_event(2, 'a', 16, 1, 1);
}

Test(trace_second, leaves_out_a_free_whose_allocation_was_dropped)
{
    bool was_read = trace_read_text(HEADER "0,a,1,8,0,0\n"
                                           "1,f,1,8,0,0\n"
                                           "1,d,0,1,0,0\n"
                                           "2,f,1,8,0,0\n"
                                           "2,e,0,4,0,0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, gaps()->ignored_frees, 1));
    cr_assert(eq(sz, trace_read_back.event_count, 2));
}

/* ---- wrong files ---- */

Test(trace_second, refuses_a_file_that_was_cut_off)
{
    trace_assert_text_refused(HEADER "0,a,1,8,0,0\n1,f,1,8,0,0\n",
                              ":5: the file was cut off: its last line is missing");
}

Test(trace_second, refuses_a_file_that_lacks_lines)
{
    trace_assert_text_refused(HEADER "0,a,1,8,0,0\n1,e,0,2,0,0\n",
                              ":4: the file says that 2 rows came before, but has 1");
}

Test(trace_second, refuses_lines_after_the_end)
{
    trace_assert_text_refused(HEADER "0,a,1,8,0,0\n1,e,0,1,0,0\n1,f,1,8,0,0\n",
                              ":5: a line after the end");
}

Test(trace_second, refuses_a_file_without_events)
{
    trace_assert_text_refused(HEADER "0,e,0,0,0,0\n", ":4: the file has no events");
}

Test(trace_second, refuses_another_version)
{
    trace_assert_text_refused("gp-trace 3\n", ":1: the first line must be \"gp-trace 2\" or "
                                              "\"t_us,op,id,size,stream\"");
}

Test(trace_second, refuses_other_columns)
{
    trace_assert_text_refused("gp-trace 2\nt_ns,op,id\n",
                              ":2: the second line must be \"t_ns,op,id,size,stream,thread\"");
}

Test(trace_second, refuses_an_unknown_op)
{
    trace_assert_text_refused(HEADER "0,x,1,8,0,0\n",
                              ":3: op \"x\" is none of \"a\", \"f\", \"d\" and \"e\"");
    trace_assert_text_refused(HEADER "0,,1,8,0,0\n",
                              ":3: op \"\" is none of \"a\", \"f\", \"d\" and \"e\"");
}

Test(trace_second, refuses_a_live_id_again_if_nothing_was_dropped)
{
    trace_assert_text_refused(HEADER "0,a,1,8,0,0\n0,a,1,8,0,0\n",
                              ":4: id 1 is allocated a second time");
}

Test(trace_second, refuses_a_second_free_if_nothing_was_dropped)
{
    trace_assert_text_refused(HEADER "0,a,1,8,0,0\n0,f,1,8,0,0\n0,f,1,8,0,0\n",
                              ":5: id 1 is freed a second time");
}

Test(trace_second, refuses_a_block_from_before_without_a_size)
{
    trace_assert_text_refused(HEADER "0,f,1,0,0,0\n",
                              ":3: id 1 is freed but was never allocated: size is missing");
}

Test(trace_second, refuses_times_that_go_back)
{
    trace_assert_text_refused(HEADER "7,a,1,8,0,0\n6,f,1,8,0,0\n",
                              ":4: t_ns 6 is earlier than 7 on the line above");
}
