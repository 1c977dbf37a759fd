/* The stream heap against a plain list of pages, in random runs with too little host memory. */
#include "heap_fixture.h"
#include "seeded_random.h"

TestSuite(stream_heap_model, .init = heap_open, .fini = heap_close);

/* The rule, as simple as can be: what each page is. */
typedef struct model {
    bool is_free[HEAP_PAGES];
    uint64_t give[HEAP_PAGES]; /* Of a free page: its span's. */
    size_t length[HEAP_PAGES]; /* Of a taken block, at its first page; else 0. */
    uint64_t random;
    uint64_t gives;
    size_t takes_met;
} model;

typedef struct run {
    size_t start;
    size_t pages;
    uint64_t give;
} run;

static bool starts_segment(size_t page)
{
    for (size_t i = 0; i < HEAP_SEGMENTS; i++) {
        if (heap_segment_starts[i] == page)
            return true;
    }
    return false;
}

/* The next free span at or above a page; no pages: there is none. */
static run next_run(const model *self, size_t page)
{
    while (page < HEAP_PAGES && !self->is_free[page])
        page++;
    run found = {.start = page, .give = page < HEAP_PAGES ? self->give[page] : 0};
    while (page < HEAP_PAGES && self->is_free[page] &&
           (page == found.start || !starts_segment(page)))
        page++;
    found.pages = page - found.start;
    return found;
}

static bool place_in(run free, const gp_fit *fit, size_t *page)
{
    if (free.pages * GP_PAGE_BYTES < fit->bytes)
        return false;
    size_t place = free.start + free.pages - fit->bytes / GP_PAGE_BYTES;
    while (place > free.start && HEAP_ADDRESS(place) % fit->alignment != 0)
        place--;
    *page = place;
    return HEAP_ADDRESS(place) % fit->alignment == 0;
}

/* Where a request is to be placed. */
static size_t expected_place(const model *self, const gp_fit *fit, uint64_t limit)
{
    run best = {.pages = HEAP_PAGES + 1};
    size_t place = HEAP_NONE;
    size_t page;
    run free;
    for (size_t at = 0; (free = next_run(self, at)).pages > 0; at = free.start + free.pages) {
        if (free.give <= limit && free.pages < best.pages && place_in(free, fit, &page)) {
            best = free;
            place = page;
        }
    }
    return place;
}

/* The lowest of the shortest spans that are long enough, if it is just so. */
static size_t expected_exact(const model *self, const gp_fit *fit)
{
    run best = {.pages = HEAP_PAGES + 1};
    run free;
    for (size_t at = 0; (free = next_run(self, at)).pages > 0; at = free.start + free.pages) {
        if (free.pages * GP_PAGE_BYTES >= fit->bytes && free.pages < best.pages)
            best = free;
    }
    return best.pages * GP_PAGE_BYTES == fit->bytes &&
                   HEAP_ADDRESS(best.start) % fit->alignment == 0
               ? best.start
               : HEAP_NONE;
}

static void model_take(model *self, size_t page, size_t pages)
{
    self->length[page] = pages;
    for (size_t i = page; i < page + pages; i++) {
        cr_assert(self->is_free[i], "page %zu was handed out twice", i);
        self->is_free[i] = false;
    }
}

static run run_around(const model *self, size_t page)
{
    run free = next_run(self, 0);
    while (free.start + free.pages <= page)
        free = next_run(self, free.start + free.pages);
    return free;
}

static void model_give(model *self, size_t page, uint64_t number)
{
    const size_t pages = self->length[page];
    self->length[page] = 0;
    for (size_t i = page; i < page + pages; i++) {
        self->is_free[i] = true;
        self->give[i] = number;
    }
    const run joined = run_around(self, page);
    uint64_t youngest = 0;
    for (size_t i = joined.start; i < joined.start + joined.pages; i++)
        youngest = self->give[i] > youngest ? self->give[i] : youngest;
    for (size_t i = joined.start; i < joined.start + joined.pages; i++)
        self->give[i] = youngest;
}

/* ---- the heap looks like the model ---- */

static void compare_by_address(const model *self, const gp_page *page, run *expected)
{
    if (page == NULL)
        return;
    compare_by_address(self, RB_LEFT(page, by_address), expected);
    cr_assert(eq(sz, page->base, HEAP_ADDRESS(expected->start)));
    cr_assert(eq(sz, gp_page_large_bytes(page), expected->pages * GP_PAGE_BYTES));
    cr_assert(eq(u64, page->give, expected->give));
    *expected = next_run(self, expected->start + expected->pages);
    compare_by_address(self, RB_RIGHT(page, by_address), expected);
}

/* Ascending, by size and then by address; returns how many there are. */
static size_t count_by_size(const gp_page *page, const gp_page **last)
{
    if (page == NULL)
        return 0;
    size_t count = count_by_size(RB_LEFT(page, by_size), last);
    if (*last != NULL) {
        size_t before = gp_page_large_bytes(*last);
        size_t bytes = gp_page_large_bytes(page);
        cr_assert(before < bytes || (before == bytes && (*last)->base < page->base));
    }
    *last = page;
    return count + 1 + count_by_size(RB_RIGHT(page, by_size), last);
}

static void compare(const model *self)
{
    run expected = next_run(self, 0);
    compare_by_address(self, RB_ROOT(&heap.by_address), &expected);
    cr_assert(eq(sz, expected.pages, 0), "a span is missing");

    const gp_page *last = NULL;
    size_t count = count_by_size(RB_ROOT(&heap.by_size), &last);
    size_t pages = 0;
    run free;
    for (size_t at = 0; (free = next_run(self, at)).pages > 0; at = free.start + free.pages) {
        cr_assert(eq(u32, heap_record(free.start), GP_CLASS_LARGE | GP_STATE_CACHED));
        for (size_t i = free.start + 1; i < free.start + free.pages; i++)
            cr_assert(ne(u32, heap_record(i) & GP_RECORD_STATE_MASK, GP_STATE_CACHED));
        pages += free.pages;
        count--;
    }
    cr_assert(eq(sz, count, 0));
    cr_assert(eq(sz, heap_pages(), pages));
}

/* ---- steps ---- */

static size_t below(model *self, size_t limit)
{
    return seeded_random_below(&self->random, limit);
}

static gp_fit random_fit(model *self)
{
    size_t alignment = below(self, 3) == 0 ? (size_t)1 << below(self, 6) : 1;
    return heap_fit(1 + below(self, 2) * below(self, 30) + below(self, 8), alignment);
}

static uint64_t random_limit(model *self)
{
    return below(self, 2) == 0 ? HEAP_ANY_AGE : below(self, self->gives + 2);
}

static void step_take(model *self)
{
    const gp_fit fit = random_fit(self);
    const uint64_t limit = random_limit(self);
    const size_t pages = fit.bytes / GP_PAGE_BYTES;
    const size_t alignment_pages = fit.alignment / GP_PAGE_BYTES;
    const size_t expected = expected_place(self, &fit, limit);

    size_t place = heap_take(pages, alignment_pages, limit);

    cr_assert(eq(sz, place, expected));
    if (place != HEAP_NONE) {
        self->takes_met++;
        model_take(self, place, pages);
    }
}

static void step_take_exact(model *self)
{
    const gp_fit fit = random_fit(self);
    size_t place = heap_take_exact(fit.bytes / GP_PAGE_BYTES, fit.alignment / GP_PAGE_BYTES);
    cr_assert(eq(sz, place, expected_exact(self, &fit)));
    if (place != HEAP_NONE)
        model_take(self, place, fit.bytes / GP_PAGE_BYTES);
}

static void step_take_old(model *self)
{
    const uint64_t limit = below(self, self->gives + 2);
    heap_span spans[HEAP_PAGES];
    size_t count = heap_take_old(limit, spans);
    size_t taken = 0;
    run free;
    for (size_t at = 0; (free = next_run(self, at)).pages > 0; at = free.start + free.pages) {
        if (free.give > limit)
            continue;
        cr_assert(lt(sz, taken, count));
        cr_assert(eq(sz, spans[taken].page, free.start));
        cr_assert(eq(sz, spans[taken].pages, free.pages));
        model_take(self, free.start, free.pages);
        taken++;
    }
    cr_assert(eq(sz, taken, count));
}

/* A block that was kept whole meanwhile may be older than what lies there. */
static void step_give(model *self)
{
    size_t page = below(self, HEAP_PAGES);
    for (size_t i = 0; i < HEAP_PAGES && self->length[page] == 0; i++)
        page = (page + 1) % HEAP_PAGES;
    const size_t pages = self->length[page];
    if (pages == 0)
        return;
    self->gives++;
    uint64_t number = self->gives - below(self, 2) * below(self, self->gives);
    model_give(self, page, number);
    heap_give(page, pages, number);
}

static void step_renew(model *self)
{
    self->gives++;
    gp_stream_heap_renew(&heap, self->gives);
    for (size_t i = 0; i < HEAP_PAGES; i++)
        self->give[i] = self->gives;
}

static void step(model *self)
{
    size_t kind = below(self, 100);
    if (kind < 40)
        step_take(self);
    else if (kind < 48)
        step_take_exact(self);
    else if (kind < 50)
        step_take_old(self);
    else if (kind < 98)
        step_give(self);
    else
        step_renew(self);
}

static void run_against_model(uint64_t seed, size_t steps)
{
    model self = {.random = seed};
    cr_log_info("seed %llu", (unsigned long long)seed);
    for (size_t i = 0; i < HEAP_SEGMENTS; i++)
        self.length[heap_segment_starts[i]] = heap_segment_starts[i + 1] - heap_segment_starts[i];
    for (size_t i = 0; i < HEAP_SEGMENTS; i++)
        step_give(&self);

    for (size_t i = 0; i < steps; i++) {
        step(&self);
        compare(&self);
    }

    cr_assert(lt(sz, steps / 10, self.takes_met));
}

Test(stream_heap_model, does_as_a_plain_list_of_pages_would_in_a_random_run)
{
    for (uint64_t seed = 71; seed < 79; seed++) {
        run_against_model(seed, 3000);
        heap_close();
        heap_open();
    }
}
