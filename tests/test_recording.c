/* Reading a recorded run, and what its streams have live at their peaks. */
#include "peak_profile.h"
#include "recording.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define KIB(n) ((size_t)1024 * (n))
#define MIB(n) ((size_t)1024 * 1024 * (n))

#define FIRST "t_us,op,id,size,stream\n"
#define SECOND "gp-trace 2\nt_ns,op,id,size,stream,thread\n"

static char path[] = "/tmp/gp-recording-XXXXXX";

static void make_file(void)
{
    int file = mkstemp(path);
    cr_assert(file >= 0);
    (void)close(file);
}

static void remove_file(void)
{
    (void)unlink(path);
}

TestSuite(recording, .init = make_file, .fini = remove_file);

static void write_plain(const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void write_gzipped(const char *text)
{
    gzFile file = gzopen(path, "wb");
    cr_assert(file != NULL && gzputs(file, text) >= 0 && gzclose_w(file) == Z_OK);
}

static gp_status read_profile(gp_peak_profile *profile)
{
    gp_pool_config config;
    gp_pool_config_init(&config);
    return gp_peak_profile_read(profile, path, &config);
}

/* A stream's peaks, whichever index it got: tests have one stream or ask for all. */
static void expect_peaks(size_t stream_count, size_t stream, size_t large, size_t small)
{
    gp_peak_profile profile;
    cr_assert(eq(int, (int)read_profile(&profile), (int)GP_OK), "%s", gp_last_error());
    cr_assert(eq(sz, profile.stream_count, stream_count));
    if (stream < stream_count) {
        cr_assert(eq(sz, profile.streams[stream].large.most, large));
        cr_assert(eq(sz, profile.streams[stream].small.most, small));
    }
    gp_peak_profile_destroy(&profile);
}

/* ---- peaks ---- */

Test(recording, peak_is_of_blocks_live_at_once_as_a_pool_rounds_them)
{
    write_plain(FIRST "0,a,1,1000000,0\n1,a,2,1,0\n2,f,1,1000000,0\n3,a,3,2097152,0\n"
                      "4,a,4,700,0\n5,f,3,2097152,0\n6,f,2,1,0\n");

    expect_peaks(1, 0, MIB(2), 512 + 1024);
}

Test(recording, block_counts_where_it_was_allocated)
{
    write_plain(FIRST "0,a,1,1048576,3\n1,f,1,1048576,9\n2,a,2,1048576,3\n3,a,3,524288,9\n");

    expect_peaks(2, 0, MIB(1), 0);
    expect_peaks(2, 1, 0, KIB(512));
}

Test(recording, second_version_is_read_too)
{
    write_plain(SECOND "0,a,140737488355328,1048576,77777777777,1\n5,d,0,12,0,0\n"
                       "9,f,140737488355328,0,77777777777,2\n"
                       "9,a,140737488355328,1048576,77777777777,2\n20,e,0,4,0,0\n");

    expect_peaks(1, 0, MIB(1), 0);
}

Test(recording, what_was_live_before_adds_to_the_peak)
{
    write_plain(SECOND "0,a,1,1048576,0,0\n1,f,2,2097152,0,0\n2,f,1,1048576,0,0\n");

    expect_peaks(1, 0, MIB(3), 0);
}

Test(recording, block_whose_free_is_missing_gives_way_to_the_next_of_its_id)
{
    write_plain(SECOND "0,a,1,1048576,0,0\n1,a,1,2097152,0,0\n2,a,2,1048576,0,0\n");

    expect_peaks(1, 0, MIB(3), 0);
}

Test(recording, many_blocks_and_streams_are_told_apart)
{
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL);
    (void)fputs(FIRST, file);
    for (int i = 0; i < 5000; i++)
        (void)fprintf(file, "%d,a,%d,1048576,%d\n", i, i * 7919, i % 200);
    cr_assert(eq(int, fclose(file), 0));

    for (size_t stream = 0; stream < 200; stream++)
        expect_peaks(200, stream, MIB(25), 0);
}

/* ---- files ---- */

Test(recording, gzipped_file_is_read_like_a_plain_one)
{
    write_gzipped(FIRST "0,a,1,1048576,0\n");

    expect_peaks(1, 0, MIB(1), 0);
}

Test(recording, last_line_may_lack_its_end)
{
    write_plain(FIRST "0,a,1,1048576,0");

    expect_peaks(1, 0, MIB(1), 0);
}

typedef struct bad_file {
    const char *text;
    const char *complaint;
} bad_file;

static const bad_file bad_files[] = {
    {"", "first line"},
    {"hello\n", "first line"},
    {"gp-trace 2\n0,a,1,1,0,0\n", "second line"},
    {FIRST "0,a,1,1\n", ":2: expected 5 fields, found 4"},
    {FIRST "0,a,1,1,0,0\n", "found 6"},
    {FIRST "0,a,1,1,0\n0,b,1,1,0\n", ":3: op \"b\""},
    {FIRST "0,a,-1,1,0\n", "\"-1\" is no number"},
    {FIRST "0,a,1,,0\n", "\"\" is no number"},
    {FIRST "0,a,1,99999999999999999999999,0\n", "is no number"},
    {FIRST "0,a,1,140737488355329,0\n", "more than any device has"},
};

Test(recording, file_that_is_wrong_is_refused_and_the_line_named)
{
    for (size_t i = 0; i < sizeof(bad_files) / sizeof(bad_files[0]); i++) {
        gp_peak_profile profile;
        write_plain(bad_files[i].text);

        cr_assert(eq(int, (int)read_profile(&profile), (int)GP_ERR_INVALID_ARGUMENT));

        cr_assert(strstr(gp_last_error(), path) != NULL, "%s", gp_last_error());
        cr_assert(strstr(gp_last_error(), bad_files[i].complaint) != NULL, "%s", gp_last_error());
        cr_assert(eq(ptr, profile.streams, NULL));
    }
}

Test(recording, line_that_is_too_long_is_refused)
{
    gp_peak_profile profile;
    char text[512];
    (void)memset(text, '1', sizeof(text));
    (void)memcpy(text, FIRST, strlen(FIRST));
    text[sizeof(text) - 1] = '\0';
    write_plain(text);

    cr_assert(eq(int, (int)read_profile(&profile), (int)GP_ERR_INVALID_ARGUMENT));

    cr_assert(strstr(gp_last_error(), "longer than") != NULL, "%s", gp_last_error());
}

Test(recording, gzipped_file_that_was_cut_off_is_refused)
{
    gp_peak_profile profile;
    char *text = malloc(KIB(64));
    cr_assert(text != NULL);
    size_t used = (size_t)sprintf(text, FIRST);
    for (int i = 0; i < 1500; i++)
        used += (size_t)sprintf(text + used, "%d,a,%d,%d,0\n", i, i, 1000 + rand() % 1000000);
    write_gzipped(text);
    free(text);
    cr_assert(eq(int, truncate(path, 2000), 0));

    cr_assert(eq(int, (int)read_profile(&profile), (int)GP_ERR_INVALID_ARGUMENT));

    cr_assert(strstr(gp_last_error(), "unexpected end of file") != NULL, "%s", gp_last_error());
}

Test(recording, file_that_is_not_there_is_named)
{
    gp_peak_profile profile;
    remove_file();

    cr_assert(eq(int, (int)read_profile(&profile), (int)GP_ERR_INVALID_ARGUMENT));

    cr_assert(strstr(gp_last_error(), "No such file") != NULL, "%s", gp_last_error());
}
