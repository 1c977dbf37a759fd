/* Size classes: the arithmetic that every request goes through. */
#include "request.h"
#include "size_class.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define LARGEST ((size_t)64 << 20)

Test(size_class, holds_each_of_its_requests)
{
    for (size_t bytes = 1; bytes <= LARGEST; bytes += 1 + bytes / 300) {
        uint32_t size_class = gp_size_class_of(bytes);
        cr_assert(lt(u32, size_class, GP_CLASS_COUNT));
        cr_assert(ge(sz, gp_size_class_bytes(size_class), bytes), "%zu bytes", bytes);
    }
}

Test(size_class, is_the_smallest_that_fits)
{
    for (uint32_t i = 1; i < GP_CLASS_COUNT; i++) {
        size_t below = gp_size_class_bytes(i - 1);
        cr_assert(eq(u32, gp_size_class_of(below), i - 1));
        cr_assert(eq(u32, gp_size_class_of(below + 1), i));
        cr_assert(lt(sz, below, gp_size_class_bytes(i)));
    }
}

Test(size_class, wastes_at_most_an_eighth_above_4_kib)
{
    for (uint32_t i = gp_size_class_of(4096); i + 1 < GP_CLASS_COUNT; i++) {
        size_t worst = gp_size_class_bytes(i) + 1;
        cr_assert(le(sz, gp_size_class_bytes(i + 1) - worst, worst / 8));
    }
}

Test(size_class, ends_with_the_largest_configurable_block)
{
    cr_assert(eq(sz, gp_size_class_bytes(GP_CLASS_COUNT - 1), LARGEST));
}

Test(size_class, is_a_multiple_of_the_granule)
{
    for (uint32_t i = 0; i < GP_CLASS_COUNT; i++)
        cr_assert(eq(sz, gp_size_class_bytes(i) % GP_GRANULE_BYTES, 0));
}

Test(size_class, does_not_apply_to_a_large_request)
{
    gp_request largest_small = gp_request_make(1 << 20, 512, 1 << 20);
    gp_request large = gp_request_make((1 << 20) + 1, 512, 1 << 20);
    gp_request huge = gp_request_make(GP_MAX_REQUEST_BYTES, 512, 1 << 20);

    cr_assert(not(gp_request_is_large(&largest_small)));
    cr_assert(gp_request_is_large(&large));
    cr_assert(eq(sz, large.bytes, (1 << 20) + GP_LARGE_STEP_BYTES));
    cr_assert(eq(sz, huge.bytes, GP_MAX_REQUEST_BYTES));
}
