/* The one-sided lock: owner and stranger are never inside together. */
#include "asymmetric.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>

static gp_asymmetric side;
static long guarded; /* no atomic: that is the point */
static atomic_long entered;
static atomic_bool stop;

TestSuite(asymmetric, .init = gp_asymmetric_init);

Test(asymmetric, owner_finds_the_door_open_unless_it_was_revoked)
{
    cr_assert(gp_asymmetric_enter(&side));
    gp_asymmetric_leave(&side);

    gp_asymmetric_revoke(&side);
    cr_assert(not(gp_asymmetric_enter(&side)));
    gp_asymmetric_barrier();
    gp_asymmetric_wait(&side); /* a failed entry does not leave the owner inside */

    gp_asymmetric_restore(&side);
    cr_assert(gp_asymmetric_enter(&side));
    gp_asymmetric_leave(&side);
}

static void *own(void *unused)
{
    (void)unused;
    long mine = 0;
    while (!atomic_load(&stop)) {
        if (!gp_asymmetric_enter(&side))
            continue;
        guarded++;
        mine++;
        gp_asymmetric_leave(&side);
    }
    atomic_store(&entered, mine);
    return NULL;
}

static void race(void)
{
    pthread_t owner;
    long taken = 0;
    cr_assert(eq(int, pthread_create(&owner, NULL, own, NULL), 0));
    for (int i = 0; i < 20000; i++) {
        gp_asymmetric_revoke(&side);
        gp_asymmetric_barrier();
        gp_asymmetric_wait(&side);
        guarded++;
        taken++;
        gp_asymmetric_restore(&side);
    }
    atomic_store(&stop, true);
    cr_assert(eq(int, pthread_join(owner, NULL), 0));

    cr_assert(eq(long, guarded, atomic_load(&entered) + taken));
}

Test(asymmetric, loses_no_update_with_the_kernels_barrier)
{
    race();
}

Test(asymmetric, loses_no_update_where_the_kernel_has_no_barrier)
{
    gp_asymmetric_needs_fence = true;

    race();
}
