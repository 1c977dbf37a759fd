/* The last failure of a thread, and how native results become statuses. */
#include "cuda_status.h"
#include "error.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <string.h>

Test(error, is_empty_before_anything_failed)
{
    cr_assert(eq(str, (char *)gp_last_error(), ""));
    cr_assert(eq(int, gp_last_native_error(), 0));
}

Test(error, keeps_the_text_and_passes_the_status_on)
{
    gp_status status = gp_error_set(GP_ERR_BUSY, "%d blocks are live", 3);

    cr_assert(eq(int, status, GP_ERR_BUSY));
    cr_assert(eq(str, (char *)gp_last_error(), "3 blocks are live"));
}

Test(error, appends_to_the_text_of_the_last_failure)
{
    (void)gp_error_set(GP_ERR_BUSY, "live:");

    gp_error_append(" %s", "0x700");
    gp_error_append(", %s", "0x900");

    cr_assert(eq(str, (char *)gp_last_error(), "live: 0x700, 0x900"));
}

Test(error, may_quote_the_text_it_replaces)
{
    (void)gp_error_set(GP_ERR_CUDA, "the cause");

    (void)gp_error_set(GP_ERR_CUDA, "pool: %s", gp_last_error());

    cr_assert(eq(str, (char *)gp_last_error(), "pool: the cause"));
}

Test(error, marks_a_list_that_was_cut_short)
{
    (void)gp_error_set(GP_ERR_BUSY, "live:");
    for (int i = 0; i < 1000; i++)
        gp_error_append(" block %d", i);

    const char *text = gp_last_error();

    cr_assert(lt(sz, strlen(text), 1024));
    cr_assert(eq(str, (char *)text + strlen(text) - 3, "..."));
}

static void *fail_elsewhere(void *unused)
{
    (void)unused;
    (void)gp_status_from_native(2, "cuMemAlloc");
    return NULL;
}

Test(error, belongs_to_the_thread_that_failed)
{
    pthread_t other;
    (void)gp_error_set(GP_ERR_BUSY, "mine");

    cr_assert(eq(int, pthread_create(&other, NULL, fail_elsewhere, NULL), 0));
    cr_assert(eq(int, pthread_join(other, NULL), 0));

    cr_assert(eq(str, (char *)gp_last_error(), "mine"));
    cr_assert(eq(int, gp_last_native_error(), 0));
}

Test(error, forgets_the_native_code_when_gp_itself_finds_the_next_failure)
{
    (void)gp_status_from_native(700, "cuEventQuery");
    cr_assert(eq(int, gp_last_native_error(), 700));

    (void)gp_error_set(GP_ERR_INVALID_ARGUMENT, "ptr is NULL");

    cr_assert(eq(int, gp_last_native_error(), 0));
}

Test(error, names_the_native_call_and_its_result)
{
    gp_status status = gp_status_from_native(2, "cuMemAllocFromPoolAsync");

    cr_assert(eq(int, status, GP_ERR_OUT_OF_MEMORY));
    cr_assert(eq(int, gp_last_native_error(), 2));
    cr_assert(
        eq(str, (char *)gp_last_error(), "cuMemAllocFromPoolAsync: CUDA_ERROR_OUT_OF_MEMORY (2)"));
}

Test(error, success_of_a_native_call_changes_nothing)
{
    (void)gp_error_set(GP_ERR_BUSY, "before");

    cr_assert(eq(int, gp_status_from_native(0, "cuInit"), GP_OK));

    cr_assert(eq(str, (char *)gp_last_error(), "before"));
}

Test(error, gives_each_kind_of_native_failure_its_status)
{
    static const struct {
        int native;
        gp_status status;
    } expected[] = {
        {1, GP_ERR_CUDA},
        {2, GP_ERR_OUT_OF_MEMORY},
        {4, GP_ERR_SHUTDOWN},
        {201, GP_ERR_CUDA},
        {400, GP_ERR_INVALID_STREAM},
        {700, GP_ERR_CUDA},
        {709, GP_ERR_INVALID_STREAM},
        {801, GP_ERR_UNSUPPORTED},
        {899, GP_ERR_CUDA},
        {900, GP_ERR_CAPTURE},
        {906, GP_ERR_CAPTURE},
        {908, GP_ERR_CAPTURE},
        {909, GP_ERR_CUDA},
        {12345, GP_ERR_CUDA},
    };

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        cr_assert(eq(int, gp_status_from_native(expected[i].native, "call"), expected[i].status),
                  "CUresult %d", expected[i].native);
}

Test(error, has_a_text_for_every_status_and_one_for_the_rest)
{
    for (int status = 0; status < GP_STATUS_COUNT; status++) {
        const char *text = gp_status_string((gp_status)status);
        cr_assert(ne(str, (char *)text, ""), "status %d", status);
        cr_assert(ne(str, (char *)text, "unknown status"), "status %d", status);
    }
    cr_assert(eq(str, (char *)gp_status_string(GP_STATUS_COUNT), "unknown status"));
    cr_assert(eq(str, (char *)gp_status_string((gp_status)-1), "unknown status"));
}
