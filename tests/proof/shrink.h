/* Takes steps out of a program that fails, as long as it goes on failing. */
#ifndef GP_TESTS_PROOF_SHRINK_H
#define GP_TESTS_PROOF_SHRINK_H

#include "trial.h"

/* The plan fails when tried alone; afterwards it is as short as could be made in the time.
 * *result is what the short one came to. */
void proof_shrink(const proof_options *options, proof_plan *plan, proof_result *result);

#endif
