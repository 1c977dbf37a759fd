/*
 * All recordings under way: which pool each recorder hears.
 *
 * Whoever takes a recorder off the list ends it: gp_trace_stop(), the end of its pool, or the
 * exit of the process. The list's mutex is held with no lock of gp's, and none is taken under it.
 */
#ifndef GP_SRC_RECORDINGS_H
#define GP_SRC_RECORDINGS_H

#include "recorder.h"

/* Put a recorder on the list, which is not attached to its pool yet. False if another one is. */
bool gp_recordings_enter(gp_recorder *recorder);

/* It is attached: from here on it may be taken. */
void gp_recordings_confirm(gp_recorder *recorder);

/* It will not be attached. */
void gp_recordings_cancel(gp_recorder *recorder);

/* Take the attached recorder of a pool; NULL if it has none. */
gp_recorder *gp_recordings_take_of(const gp_pool *pool);

/* Take this one, by its address alone. False if it was taken before, or is not attached. */
bool gp_recordings_take(const gp_recorder *recorder);

/* The process exits, or the library goes: take and finish all that are attached. They are not
 * freed: threads may be about to note something. */
void gp_recordings_finish_all(void);

#endif
