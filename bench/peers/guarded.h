/* For peers in C++ whose allocators throw: exceptions end here, since the harness is C. */
#ifndef GP_BENCH_GUARDED_H
#define GP_BENCH_GUARDED_H

#include <algorithm>
#include <exception>
#include <string>

namespace guarded {

constexpr int failed = 1;

inline thread_local std::string last_error;

/* 0, or `failed` and an error text of one line. */
template <typename Call> int call(Call what) noexcept
{
    try {
        what();
        return 0;
    } catch (const std::exception &exception) {
        last_error = exception.what();
        last_error.resize(std::min(last_error.find('\n'), last_error.size()));
        return failed;
    }
}

inline const char *error_text(int)
{
    return last_error.c_str();
}

} // namespace guarded

#endif
