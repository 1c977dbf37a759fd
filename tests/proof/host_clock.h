/*
 * The host's clock as gp sees it. Once it is counted, each look takes 1 ms: so a wait that gp
 * bounds in time is bounded in looks, and a program runs the same each time. Needs to be linked
 * with --wrap=clock_gettime.
 */
#ifndef GP_TESTS_PROOF_HOST_CLOCK_H
#define GP_TESTS_PROOF_HOST_CLOCK_H

/* From here on, for the whole process. */
void proof_host_clock_count(void);

#endif
