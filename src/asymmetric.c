#include "asymmetric.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

bool gp_asymmetric_needs_fence = true;

static bool ask_kernel(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static void choose_side(void)
{
#if !GP_TSAN
    gp_asymmetric_needs_fence = !ask_kernel(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
#endif
}

void gp_asymmetric_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, choose_side);
}

void gp_asymmetric_barrier(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!gp_asymmetric_needs_fence)
        (void)ask_kernel(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void gp_asymmetric_wait(gp_asymmetric *side)
{
    while (atomic_load_explicit(&side->busy, memory_order_acquire))
        (void)sched_yield();
}
