/* The trace reader: a wrong file is named with its line before anything runs. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define HEADER "t_us,op,id,size,stream\n"

static char path[64];
static char error[BENCH_TRACE_ERROR_CHARS];
static bench_trace trace;

static void make_path(void)
{
    (void)snprintf(path, sizeof(path), "/tmp/gp_test_trace_XXXXXX");
    int file = mkstemp(path);
    cr_assert(ge(int, file, 0));
    close(file);
}

static void remove_path(void)
{
    bench_trace_destroy(&trace);
    (void)unlink(path);
}

TestSuite(trace, .init = make_path, .fini = remove_path);

static void write_bytes(const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    cr_assert(ne(ptr, file, NULL));
    cr_assert(eq(sz, fwrite(bytes, 1, count, file), count));
    cr_assert(eq(int, fclose(file), 0));
}

static void write_gzipped(const char *text)
{
    gzFile file = gzopen(path, "wb");
    cr_assert(ne(ptr, file, NULL));
    cr_assert(eq(int, gzputs(file, text), (int)strlen(text)));
    cr_assert(eq(int, gzclose(file), Z_OK));
}

static bool read_text(const char *text)
{
    write_bytes(text, strlen(text));
    return bench_trace_read(&trace, path, error);
}

/* The file is refused with this text, after its name. */
static void assert_refused(bool was_read, const char *reason)
{
    cr_assert(not(was_read), "the file was taken");
    cr_assert(eq(sz, trace.event_count, 0));
    cr_assert(eq(int, strncmp(error, path, strlen(path)), 0));
    cr_assert(eq(str, error + strlen(path), (char *)reason));
}

static void assert_text_refused(const char *text, const char *reason)
{
    assert_refused(read_text(text), reason);
}

/* ---- sound files ---- */

Test(trace, reads_events_in_file_order)
{
    bool was_read = read_text(HEADER "0,a,70,4096,0\n"
                                     "5,a,9,100,2\n"
                                     "5,f,70,4096,0\n");

    cr_assert(was_read, "%s", error);
    cr_assert(eq(sz, trace.event_count, 3));
    cr_assert(eq(sz, trace.block_count, 2));
    cr_assert(eq(sz, trace.stream_count, 3));
    cr_assert(not(trace.events[1].frees));
    cr_assert(eq(sz, trace.blocks[trace.events[1].block].bytes, 100));
    cr_assert(eq(u16, trace.events[1].stream, 2));
    cr_assert(trace.events[2].frees);
    cr_assert(eq(u32, trace.events[2].block, trace.events[0].block));
    cr_assert(eq(u64, trace.events[2].time_ns, 5000));
}

Test(trace, knows_the_peak_of_live_bytes)
{
    bool was_read = read_text(HEADER "0,a,1,100,0\n"
                                     "1,a,2,50,0\n"
                                     "2,f,1,100,0\n"
                                     "3,a,3,60,0\n");

    cr_assert(was_read, "%s", error);
    cr_assert(eq(sz, trace.peak_live_bytes, 150));
}

Test(trace, reads_gzipped_files_too)
{
    write_gzipped(HEADER "0,a,1,512,0\n1,f,1,512,0\n");

    bool was_read = bench_trace_read(&trace, path, error);

    cr_assert(was_read, "%s", error);
    cr_assert(eq(sz, trace.event_count, 2));
}

Test(trace, takes_a_last_line_without_its_end)
{
    cr_assert(read_text(HEADER "0,a,1,512,0"), "%s", error);
    cr_assert(eq(sz, trace.event_count, 1));
}

Test(trace, takes_a_free_on_another_stream)
{
    cr_assert(read_text(HEADER "0,a,1,512,0\n1,f,1,512,3\n"), "%s", error);
    cr_assert(eq(u16, trace.events[1].stream, 3));
    cr_assert(eq(u16, trace.blocks[0].stream, 0));
}

Test(trace, is_named_after_its_file)
{
    char *copy = NULL;
    cr_assert(ge(int, asprintf(&copy, "%s.csv.gz", path), 0));
    write_gzipped(HEADER "0,a,1,512,0\n");
    cr_assert(eq(int, rename(path, copy), 0));

    bool was_read = bench_trace_read(&trace, copy, error);
    (void)unlink(copy);

    cr_assert(was_read, "%s", error);
    cr_assert(eq(str, trace.name, strrchr(path, '/') + 1));
    free(copy);
}

/* ---- files ---- */

Test(trace, refuses_a_missing_file)
{
    (void)unlink(path);

    bool was_read = bench_trace_read(&trace, path, error);

    assert_refused(was_read, ": No such file or directory");
}

Test(trace, refuses_an_empty_file)
{
    assert_text_refused("", ":1: the file is empty");
}

Test(trace, refuses_another_header)
{
    assert_text_refused("time,op,id,size,stream\n0,a,1,512,0\n",
                        ":1: the first line must be \"gp-trace 2\" or \"t_us,op,id,size,stream\"");
}

Test(trace, refuses_a_file_without_events)
{
    assert_text_refused(HEADER, ":2: the file has no events");
}

Test(trace, refuses_compressed_data_that_was_cut_short)
{
    char text[4096] = HEADER;
    for (int i = 0; i < 100; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof(text) - used, "%d,a,%d,512,0\n", i, i);
    }
    write_gzipped(text);
    cr_assert(eq(int, truncate(path, 100), 0));

    bool was_read = bench_trace_read(&trace, path, error);

    cr_assert(not(was_read));
    cr_assert(ne(ptr, strstr(error, ": the compressed data ends too early"), NULL), "%s", error);
}

Test(trace, refuses_compressed_data_that_was_damaged)
{
    write_gzipped(HEADER "0,a,1,512,0\n1,f,1,512,0\n");
    FILE *file = fopen(path, "r+b");
    cr_assert(ne(ptr, file, NULL));
    cr_assert(eq(int, fseek(file, -8, SEEK_END), 0)); /* its check sum */
    cr_assert(eq(int, fputc(0, file), 0));
    cr_assert(eq(int, fputc(0, file), 0));
    cr_assert(eq(int, fclose(file), 0));

    bool was_read = bench_trace_read(&trace, path, error);

    cr_assert(not(was_read));
    cr_assert(ne(ptr, strstr(error, ": the compressed data is damaged"), NULL), "%s", error);
}

/* ---- lines ---- */

Test(trace, refuses_a_line_with_a_field_missing)
{
    assert_text_refused(HEADER "0,a,1,512,0\n1,f,1,512\n", ":3: expected 5 fields, found 4");
}

Test(trace, refuses_a_line_with_a_field_too_many)
{
    assert_text_refused(HEADER "0,a,1,512,0,0\n", ":2: expected 5 fields, found 6");
}

Test(trace, refuses_an_empty_line)
{
    assert_text_refused(HEADER "0,a,1,512,0\n\n1,f,1,512,0\n", ":3: expected 5 fields, found 1");
}

Test(trace, refuses_an_endless_line)
{
    char text[1024] = HEADER;
    memset(text + strlen(HEADER), '1', 600);

    assert_text_refused(text, ":2: the line is longer than 254 characters");
}

Test(trace, refuses_a_nul_byte)
{
    static const char text[] = HEADER "0,a,1,\0,0\n1,a,2,512,0\n";
    write_bytes(text, sizeof(text) - 1);

    bool was_read = bench_trace_read(&trace, path, error);

    assert_refused(was_read, ":2: the line holds a NUL byte");
}

/* ---- fields ---- */

Test(trace, refuses_an_unknown_op)
{
    assert_text_refused(HEADER "0,x,1,512,0\n", ":2: op \"x\" is neither \"a\" nor \"f\"");
}

Test(trace, refuses_a_time_that_is_no_number)
{
    assert_text_refused(HEADER "1.5,a,1,512,0\n", ":2: t_us \"1.5\" is not a number");
}

Test(trace, refuses_a_time_that_runs_backwards)
{
    assert_text_refused(HEADER "7,a,1,512,0\n6,f,1,512,0\n",
                        ":3: t_us 6 is earlier than 7 on the line above");
}

Test(trace, refuses_an_empty_id)
{
    assert_text_refused(HEADER "0,a,,512,0\n", ":2: id \"\" is not a number");
}

Test(trace, refuses_a_negative_size)
{
    assert_text_refused(HEADER "0,a,1,-512,0\n", ":2: size \"-512\" is not a number");
}

Test(trace, refuses_a_size_of_zero)
{
    assert_text_refused(HEADER "0,a,1,0,0\n", ":2: size is 0");
}

Test(trace, refuses_a_size_that_no_device_holds)
{
    assert_text_refused(HEADER "0,a,1,140737488355329,0\n",
                        ":2: size 140737488355329 is more than any device holds");
}

Test(trace, refuses_a_number_that_does_not_fit)
{
    assert_text_refused(HEADER "0,a,1,18446744073709551616,0\n",
                        ":2: size 18446744073709551616 is too large");
}

Test(trace, refuses_a_stream_index_that_is_not_small)
{
    assert_text_refused(HEADER "0,a,1,512,256\n", ":2: stream 256 is above 255");
}

/* ---- blocks ---- */

Test(trace, refuses_an_id_that_is_allocated_twice)
{
    assert_text_refused(HEADER "0,a,1,512,0\n1,a,1,512,0\n", ":3: id 1 is allocated a second time");
}

Test(trace, refuses_an_id_that_returns_after_its_free)
{
    assert_text_refused(HEADER "0,a,1,512,0\n1,f,1,512,0\n2,a,1,512,0\n",
                        ":4: id 1 is allocated a second time");
}

Test(trace, refuses_a_free_of_an_unknown_id)
{
    assert_text_refused(HEADER "0,a,1,512,0\n1,f,2,512,0\n",
                        ":3: id 2 is freed but was never allocated");
}

Test(trace, refuses_a_second_free)
{
    assert_text_refused(HEADER "0,a,1,512,0\n1,f,1,512,0\n2,f,1,512,0\n",
                        ":4: id 1 is freed a second time");
}

Test(trace, refuses_a_free_with_another_size)
{
    assert_text_refused(HEADER "0,a,1,512,0\n1,f,1,511,0\n",
                        ":3: size 511 is freed, but id 1 was allocated with 512");
}
