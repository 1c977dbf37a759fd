#include "rendezvous.h"

#include <sched.h>

/* About 20 µs of pauses, more than threads that run together drift apart. */
#define SPIN_TURNS 1000

void bench_rendezvous_relax(unsigned int turn)
{
    if (turn >= SPIN_TURNS) {
        (void)sched_yield();
        return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

void bench_rendezvous_init(bench_rendezvous *rendezvous, unsigned int thread_count)
{
    rendezvous->thread_count = thread_count;
    atomic_init(&rendezvous->arrived, 0);
    atomic_init(&rendezvous->round, 0);
}

void bench_rendezvous_wait(bench_rendezvous *rendezvous)
{
    unsigned int round = atomic_load_explicit(&rendezvous->round, memory_order_relaxed);
    unsigned int before = atomic_fetch_add_explicit(&rendezvous->arrived, 1, memory_order_acq_rel);
    if (before + 1 == rendezvous->thread_count) {
        /* The others still wait for the round to change: nobody else counts now. */
        atomic_store_explicit(&rendezvous->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&rendezvous->round, round + 1, memory_order_release);
        return;
    }
    for (unsigned int turn = 0;
         atomic_load_explicit(&rendezvous->round, memory_order_acquire) == round; turn++)
        bench_rendezvous_relax(turn);
}
