/* The trace reader, version 1: a wrong file is named with its line before anything runs. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "trace_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define HEADER FIRST_HEADER

TestSuite(trace, .init = trace_make_path, .fini = trace_remove_path);

/* ---- sound files ---- */

Test(trace, reads_events_in_file_order)
{
    bool was_read = trace_read_text(HEADER "0,a,70,4096,0\n"
                                           "5,a,9,100,2\n"
                                           "5,f,70,4096,0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, trace_read_back.event_count, 3));
    cr_assert(eq(sz, trace_read_back.block_count, 2));
    cr_assert(eq(sz, trace_read_back.stream_count, 3));
    cr_assert(not(trace_read_back.events[1].frees));
    cr_assert(eq(sz, trace_read_back.blocks[trace_read_back.events[1].block].bytes, 100));
    cr_assert(eq(u16, trace_read_back.events[1].stream, 2));
    cr_assert(trace_read_back.events[2].frees);
    cr_assert(eq(u32, trace_read_back.events[2].block, trace_read_back.events[0].block));
    cr_assert(eq(u64, trace_read_back.events[2].time_ns, 5000));
}

Test(trace, knows_the_peak_of_live_bytes)
{
    bool was_read = trace_read_text(HEADER "0,a,1,100,0\n"
                                           "1,a,2,50,0\n"
                                           "2,f,1,100,0\n"
                                           "3,a,3,60,0\n");

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, trace_read_back.peak_live_bytes, 150));
}

Test(trace, reads_gzipped_files_too)
{
    trace_write_gzipped(HEADER "0,a,1,512,0\n1,f,1,512,0\n");

    bool was_read = bench_trace_read(&trace_read_back, trace_path, trace_error);

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(sz, trace_read_back.event_count, 2));
}

Test(trace, takes_a_last_line_without_its_end)
{
    cr_assert(trace_read_text(HEADER "0,a,1,512,0"), "%s", trace_error);
    cr_assert(eq(sz, trace_read_back.event_count, 1));
}

Test(trace, takes_a_free_on_another_stream)
{
    cr_assert(trace_read_text(HEADER "0,a,1,512,0\n1,f,1,512,3\n"), "%s", trace_error);
    cr_assert(eq(u16, trace_read_back.events[1].stream, 3));
    cr_assert(eq(u16, trace_read_back.blocks[0].stream, 0));
}

Test(trace, is_named_after_its_file)
{
    char *copy = NULL;
    cr_assert(ge(int, asprintf(&copy, "%s.csv.gz", trace_path), 0));
    trace_write_gzipped(HEADER "0,a,1,512,0\n");
    cr_assert(eq(int, rename(trace_path, copy), 0));

    bool was_read = bench_trace_read(&trace_read_back, copy, trace_error);
    (void)unlink(copy);

    cr_assert(was_read, "%s", trace_error);
    cr_assert(eq(str, trace_read_back.name, strrchr(trace_path, '/') + 1));
    free(copy);
}

/* ---- files ---- */

Test(trace, refuses_a_missing_file)
{
    (void)unlink(trace_path);

    bool was_read = bench_trace_read(&trace_read_back, trace_path, trace_error);

    trace_assert_refused(was_read, ": No such file or directory");
}

Test(trace, refuses_an_empty_file)
{
    trace_assert_text_refused("", ":1: the file is empty");
}

Test(trace, refuses_another_header)
{
    trace_assert_text_refused(
        "time,op,id,size,stream\n0,a,1,512,0\n",
        ":1: the first line must be \"gp-trace 2\" or \"t_us,op,id,size,stream\"");
}

Test(trace, refuses_a_file_without_events)
{
    trace_assert_text_refused(HEADER, ":2: the file has no events");
}

Test(trace, refuses_compressed_data_that_was_cut_short)
{
    char text[4096] = HEADER;
    for (int i = 0; i < 100; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof(text) - used, "%d,a,%d,512,0\n", i, i);
    }
    trace_write_gzipped(text);
    cr_assert(eq(int, truncate(trace_path, 100), 0));

    bool was_read = bench_trace_read(&trace_read_back, trace_path, trace_error);

    cr_assert(not(was_read));
    cr_assert(ne(ptr, strstr(trace_error, ": the compressed data ends too early"), NULL), "%s",
              trace_error);
}

Test(trace, refuses_compressed_data_that_was_damaged)
{
    trace_write_gzipped(HEADER "0,a,1,512,0\n1,f,1,512,0\n");
    FILE *file = fopen(trace_path, "r+b");
    cr_assert(ne(ptr, file, NULL));
    cr_assert(eq(int, fseek(file, -8, SEEK_END), 0)); /* its check sum */
    cr_assert(eq(int, fputc(0, file), 0));
    cr_assert(eq(int, fputc(0, file), 0));
    cr_assert(eq(int, fclose(file), 0));

    bool was_read = bench_trace_read(&trace_read_back, trace_path, trace_error);

    cr_assert(not(was_read));
    cr_assert(ne(ptr, strstr(trace_error, ": the compressed data is damaged"), NULL), "%s",
              trace_error);
}

/* ---- lines ---- */

Test(trace, refuses_a_line_with_a_field_missing)
{
    trace_assert_text_refused(HEADER "0,a,1,512,0\n1,f,1,512\n", ":3: expected 5 fields, found 4");
}

Test(trace, refuses_a_line_with_a_field_too_many)
{
    trace_assert_text_refused(HEADER "0,a,1,512,0,0\n", ":2: expected 5 fields, found 6");
}

Test(trace, refuses_an_empty_line)
{
    trace_assert_text_refused(HEADER "0,a,1,512,0\n\n1,f,1,512,0\n",
                              ":3: expected 5 fields, found 1");
}

Test(trace, refuses_an_endless_line)
{
    char text[1024] = HEADER;
    memset(text + strlen(HEADER), '1', 600);

    trace_assert_text_refused(text, ":2: the line is longer than 254 characters");
}

Test(trace, refuses_a_nul_byte)
{
    static const char text[] = HEADER "0,a,1,\0,0\n1,a,2,512,0\n";
    trace_write_bytes(text, sizeof(text) - 1);

    bool was_read = bench_trace_read(&trace_read_back, trace_path, trace_error);

    trace_assert_refused(was_read, ":2: the line holds a NUL byte");
}

/* ---- fields ---- */

Test(trace, refuses_an_unknown_op)
{
    trace_assert_text_refused(HEADER "0,x,1,512,0\n", ":2: op \"x\" is neither \"a\" nor \"f\"");
}

Test(trace, refuses_a_time_that_is_no_number)
{
    trace_assert_text_refused(HEADER "1.5,a,1,512,0\n", ":2: t_us \"1.5\" is not a number");
}

Test(trace, refuses_a_time_that_runs_backwards)
{
    trace_assert_text_refused(HEADER "7,a,1,512,0\n6,f,1,512,0\n",
                              ":3: t_us 6 is earlier than 7 on the line above");
}

Test(trace, refuses_an_empty_id)
{
    trace_assert_text_refused(HEADER "0,a,,512,0\n", ":2: id \"\" is not a number");
}

Test(trace, refuses_a_negative_size)
{
    trace_assert_text_refused(HEADER "0,a,1,-512,0\n", ":2: size \"-512\" is not a number");
}

Test(trace, refuses_a_size_of_zero)
{
    trace_assert_text_refused(HEADER "0,a,1,0,0\n", ":2: size is 0");
}

Test(trace, refuses_a_size_that_no_device_holds)
{
    trace_assert_text_refused(HEADER "0,a,1,140737488355329,0\n",
                              ":2: size 140737488355329 is more than any device holds");
}

Test(trace, refuses_a_number_that_does_not_fit)
{
    trace_assert_text_refused(HEADER "0,a,1,18446744073709551616,0\n",
                              ":2: size 18446744073709551616 is too large");
}

Test(trace, refuses_a_stream_index_that_is_not_small)
{
    trace_assert_text_refused(HEADER "0,a,1,512,256\n", ":2: stream 256 is above 255");
}

/* ---- blocks ---- */

Test(trace, refuses_an_id_that_is_allocated_twice)
{
    trace_assert_text_refused(HEADER "0,a,1,512,0\n1,a,1,512,0\n",
                              ":3: id 1 is allocated a second time");
}

Test(trace, refuses_an_id_that_returns_after_its_free)
{
    trace_assert_text_refused(HEADER "0,a,1,512,0\n1,f,1,512,0\n2,a,1,512,0\n",
                              ":4: id 1 is allocated a second time");
}

Test(trace, refuses_a_free_of_an_unknown_id)
{
    trace_assert_text_refused(HEADER "0,a,1,512,0\n1,f,2,512,0\n",
                              ":3: id 2 is freed but was never allocated");
}

Test(trace, refuses_a_second_free)
{
    trace_assert_text_refused(HEADER "0,a,1,512,0\n1,f,1,512,0\n2,f,1,512,0\n",
                              ":4: id 1 is freed a second time");
}

Test(trace, refuses_a_free_with_another_size)
{
    trace_assert_text_refused(HEADER "0,a,1,512,0\n1,f,1,511,0\n",
                              ":3: size 511 is freed, but id 1 was allocated with 512");
}
