#include "record_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t own_id(void)
{
    return (pid_t)syscall(SYS_gettid);
}

gp_record_ring *gp_record_ring_create(uint32_t thread)
{
    /* Not zeroed, but for the head: pages that no event reaches are never touched. */
    gp_record_ring *ring = aligned_alloc(GP_CACHE_LINE, sizeof(*ring));
    if (ring == NULL)
        return NULL;
    ring->side = (gp_asymmetric){false, false};
    ring->owner = own_id();
    ring->next = NULL;
    ring->tail_seen = 0;
    ring->full_left = 0;
    ring->cursor = 0;
    ring->limit = 0;
    ring->last_stamp = gp_record_clock_now();
    ring->stamp = 0;
    ring->stamp_left = 0;
    ring->index = 0;
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    atomic_init(&ring->dropped, 0);
    atomic_init(&ring->dropped_told, 0);
    atomic_init(&ring->thread, thread);
    return ring;
}

void gp_record_ring_destroy(gp_record_ring *ring)
{
    free(ring);
}

/* The writer moves the tail in large steps; to ask for it each time would take longer than to drop.
 */
#define DROPS_AT_ONCE 64u

bool gp_record_ring_make_room(gp_record_ring *ring)
{
    if (ring->full_left == 0) {
        ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
        ring->full_left = DROPS_AT_ONCE;
    }
    if (gp_counter_get(&ring->head) - ring->tail_seen < GP_RECORD_RING_EVENTS) {
        ring->full_left = 0;
        return true;
    }
    ring->full_left--;
    gp_counter_add(&ring->dropped, 1);
    return false;
}

static bool is_done(const gp_record_ring *ring)
{
    return atomic_load_explicit(&ring->tail, memory_order_acquire) == gp_counter_get(&ring->head) &&
           gp_counter_get(&ring->dropped_told) == gp_counter_get(&ring->dropped);
}

/* Asking the kernel spares a handler at the end of each thread. A new thread that got the number
 * of one that ended keeps that one's ring from being used again, and no more. */
static bool owner_is_gone(const gp_record_ring *ring)
{
    int error = errno;
    bool gone = syscall(SYS_tgkill, getpid(), ring->owner, 0) != 0 && errno == ESRCH;
    errno = error;
    return gone;
}

bool gp_record_ring_inherit(gp_record_ring *ring, uint32_t thread)
{
    if (!owner_is_gone(ring) || !is_done(ring))
        return false;
    ring->owner = own_id();
    ring->tail_seen = gp_counter_get(&ring->tail);
    gp_record_ring_age(ring);
    atomic_store_explicit(&ring->thread, thread, memory_order_relaxed);
    return true;
}
