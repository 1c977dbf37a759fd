/* Locks that are held for tens of nanoseconds, as all of gp's on the way of a request. */
#ifndef GP_SRC_MUTEX_H
#define GP_SRC_MUTEX_H

#include <pthread.h>

/* A mutex whose waiters spin for a while before they sleep: the holder is done long before
 * a sleeper could be woken, which takes microseconds. */
static inline void gp_mutex_init_short(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    (void)pthread_mutexattr_init(&attributes);
    (void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    (void)pthread_mutex_init(mutex, &attributes);
    (void)pthread_mutexattr_destroy(&attributes);
}

#endif
