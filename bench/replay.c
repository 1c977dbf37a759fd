#include "replay.h"

bool bench_replay_run(const bench_replay *replay, const bench_trace *trace, bench_result *results,
                      char error[BENCH_ERROR_CHARS])
{
    bench_session session;
    bool sound = bench_session_open(&session, &replay->session, trace, error);
    for (int pass = 0; pass < replay->passes && sound; pass++)
        sound = bench_session_play(&session, &results[pass], NULL, error);
    bench_session_close(&session);
    return sound;
}
