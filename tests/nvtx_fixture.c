#include "nvtx_fixture.h"

#include <stdlib.h>
#include <string.h>

/* ---- what may be nvtx_said, and how ---- */

static const struct {
    const char *category;
    uint32_t argb;
} colours[] = {
    {"L1", 0xff76b900u},     {"L2", 0xff1f77b4u},
    {"shared", 0xff17becfu}, {"wait", 0xffff7f0eu},
    {"native", 0xffd62728u}, {"capture", 0xff9467bdu},
    {"pool", 0xff7f7f7fu},   {"out of memory", 0xff8c1515u},
};

static const struct {
    const char *text;
    const char *category;
} words[] = {
    {"alloc", "pool"},
    {"free", "pool"},
    {"alloc.l1", "L1"},
    {"alloc.l2", "L2"},
    {"alloc.shared", "shared"},
    {"alloc.waited", "wait"},
    {"alloc.native", "native"},
    {"alloc.node", "capture"},
    {"alloc.arena", "capture"},
    {"alloc.failed", "out of memory"},
    {"free.l1", "L1"},
    {"free.l2", "L2"},
    {"free.waited", "wait"},
    {"free.native", "native"},
    {"free.node", "capture"},
    {"free.arena", "capture"},
    {"free.parked", "capture"},
    {"use", "pool"},
    {"miss", "pool"},
    {"refill", "L2"},
    {"join", "L2"},
    {"share", "shared"},
    {"grow", "native"},
    {"grow.wait", "wait"},
    {"native.alloc", "native"},
    {"native.free", "native"},
    {"native.wait", "wait"},
    {"native.trim", "native"},
    {"squeeze", "shared"},
    {"release", "native"},
    {"flush.all", "L2"},
    {"trim", "pool"},
    {"reserve", "pool"},
    {"oom", "out of memory"},
    {"oom.wait", "wait"},
    {"pressure", "out of memory"},
    {"pool.create", "pool"},
    {"pool.destroy", "pool"},
    {"flush", "L2"},
    {"stream.wait", "wait"},
    {"capture.begin", "capture"},
    {"capture.end", "capture"},
    {"node.alloc", "capture"},
    {"node.free", "capture"},
    {"park", "capture"},
    {"unpark", "capture"},
    {"arena.take", "capture"},
    {"arena.give", "capture"},
    {"alloc.fails", "out of memory"},
};

static const char *category_of(const char *text)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i].text, text) == 0)
            return words[i].category;
    }
    cr_fatal("gp says %s, which no documentation mentions", text);
    return NULL;
}

static uint32_t colour_of(const char *category)
{
    size_t i = 0;
    while (strcmp(colours[i].category, category) != 0)
        i++;
    return colours[i].argb;
}

void nvtx_expect_text(const char *expected, const char *text)
{
    cr_assert(eq(str, (char *)(uintptr_t)text, (char *)(uintptr_t)expected));
}

/* All that gp nvtx_said is in the table, with its category and colour; and ranges are closed. */
static void expect_known_words(void)
{
    for (size_t i = 0; i < recorder_count(); i++) {
        const recorded *event = recorder_at(i);
        if (strcmp(event->domain, "gp") != 0)
            continue;
        const char *category = category_of(event->text);
        cr_assert(event->is_registered, "%s", event->text);
        cr_assert(ne(int, (int)event->as, (int)RECORDED_START_END));
        nvtx_expect_text(category, event->category_name);
        cr_assert(eq(u32, event->argb, colour_of(category)), "%s", event->text);
    }
    cr_assert(recorder_is_balanced());
}

/* ---- set up ---- */

void nvtx_open(void)
{
    unsetenv("GP_TRACE_LEVEL");
#ifdef NVTX_RECORDER_FILE
    setenv("NVTX_INJECTION64_PATH", NVTX_RECORDER_FILE, 1);
#else
    unsetenv("NVTX_INJECTION64_PATH"); /* It would come before the tool that is linked in. */
#endif
    pool_open();
}

void nvtx_close(void)
{
    pool_close();
    expect_known_words();
}

gp_pool_config nvtx_config(gp_trace_level level)
{
    gp_pool_config config = pool_config();
    config.trace_level = level;
    return config;
}

void nvtx_reopen(gp_trace_level level)
{
    gp_pool_config config = nvtx_config(level);
    pool_reopen(NULL, &config);
    recorder_clear();
}

const recorded *nvtx_said(const char *text)
{
    const recorded *event = recorder_find(text, 0);
    cr_assert(ne(ptr, (void *)(uintptr_t)event, NULL), "gp did not say %s", text);
    return event;
}

void nvtx_expect_value(const char *text, uint64_t value)
{
    const recorded *event = nvtx_said(text);
    cr_assert(event->has_value, "%s", text);
    cr_assert(eq(u64, event->value, value), "%s", text);
}

void nvtx_expect_no_value(const char *text)
{
    cr_assert(not(nvtx_said(text)->has_value), "%s", text);
}

/* The first range of this name lies in one of the other. */
void nvtx_expect_inside(const char *inner, const char *outer)
{
    const recorded *in = nvtx_said(inner);
    const recorded *out = nvtx_said(outer);
    cr_assert(lt(ptr, (void *)(uintptr_t)out, (void *)(uintptr_t)in));
    cr_assert(lt(int, out->depth, in->depth), "%s in %s", inner, outer);
}
