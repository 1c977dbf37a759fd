/*
 * Lets threads lose their processor where a native call ends: a thread that runs freely would
 * hardly ever be passed by another one just there. Needs --wrap=pthread_mutex_unlock, since the
 * simulated device is left by letting go of its lock.
 */
#ifndef GP_TESTS_PROOF_JITTER_H
#define GP_TESTS_PROOF_JITTER_H

/* From here on, for the whole process. */
void proof_jitter_start(void);

#endif
