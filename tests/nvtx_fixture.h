/*
 * A pool under a tool of the tests' own. Each test is a process of its own, for a tool is attached
 * once and for all. Built twice: with gp and the tool linked in, and with both as shared libraries
 * (NVTX_RECORDER_FILE).
 */
#ifndef GP_TESTS_NVTX_FIXTURE_H
#define GP_TESTS_NVTX_FIXTURE_H

#include "nvtx_recorder.h"
#include "pool_fixture.h"

/* Suite's .init and .fini. At the end every range is closed, and all that gp said has the text,
 * category and colour of docs/nsight.md. */
void nvtx_open(void);
void nvtx_close(void);

gp_pool_config nvtx_config(gp_trace_level level);

/* Another pool, of this level; what was said so far is forgotten. */
void nvtx_reopen(gp_trace_level level);

/* The first event of gp's with this text; fails the test if there is none. */
const recorded *nvtx_said(const char *text);

void nvtx_expect_text(const char *expected, const char *text);
void nvtx_expect_value(const char *text, uint64_t value);
void nvtx_expect_no_value(const char *text);

/* The first range of this name lies in one of the other. */
void nvtx_expect_inside(const char *inner, const char *outer);

#endif
