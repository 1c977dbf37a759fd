# What the scripts share; sourced, not run.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The comment at the top of a script is its manual.
gp_help() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
}

gp_say() {
    printf '%s\n' "== $*"
}

gp_fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

gp_no_arguments() {
    case "${1-}" in
    '') ;;
    -h | --help) gp_help && exit 0 ;;
    *) gp_help >&2 && exit 2 ;;
    esac
}

# For scripts that hand all their arguments on to CMake.
gp_cmake_arguments() {
    local argument
    for argument in "$@"; do
        case $argument in
        -h | --help) gp_help && exit 0 ;;
        -D?*) ;;
        *) gp_help >&2 && exit 2 ;;
        esac
    done
}

gp_has_gpu() {
    [ -e /dev/nvidia0 ] || { command -v nvidia-smi && nvidia-smi -L; } >/dev/null 2>&1
}

gp_has_two_gpus() {
    [ -e /dev/nvidia1 ] ||
        [ "$({ command -v nvidia-smi >/dev/null && nvidia-smi -L; } 2>/dev/null | wc -l)" -ge 2 ]
}

# gp_build DIRECTORY CMAKE_ARGUMENT...: configure and build, showing the log only if that fails.
gp_build() {
    local directory=$1 log
    shift
    mkdir -p "$directory"
    log=$directory/build.log
    if ! { cmake -S . -B "$directory" -G Ninja "$@" && cmake --build "$directory"; } >"$log" 2>&1; then
        cat "$log" >&2
        gp_fail "building in $directory failed"
    fi
}

# gp_files PATTERN...: the project's files, one a line; also where there is no git.
gp_files() {
    if [ -e .git ] && command -v git >/dev/null; then
        git -c safe.directory="$PWD" ls-files --cached --others --exclude-standard -- "$@"
    else
        local pattern
        for pattern in "$@"; do
            find . \( -name .git -o -name build -o -name 'build-*' \) -prune -o \
                -type f -path "./$pattern" -print
        done | sed 's|^\./||'
    fi | LC_ALL=C sort
}
