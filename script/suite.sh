# Runs the test suite of one build and counts single tests; sourced, not run.

suite_line() {
    local line="$1 passed, $2 failed"
    [ "$3" -eq 0 ] || line+=", $3 skipped"
    printf '%s\n' "$line"
}

# Prints "passed failed" for the log of a ctest run. A Criterion program counts its own tests, any
# other program is one test. A program that failed though no test in it did has crashed or leaked:
# one more failure.
suite_count() {
    awk '
        /^[0-9]+\/[0-9]+ Testing: / { close_program(); in_program = 1 }
        /^\[SKIP\]/ { skipped++ }
        /^Test Passed\.$/ { succeeded = 1 }
        /Synthesis: Tested: / {
            gsub(/[^0-9]+/, " ")
            split($0, count, " ")
            counts_itself = 1
            own_passed = count[2]
            own_failed = count[3]
        }
        END { close_program(); print passed + 0, failed + 0 }

        function close_program() {
            if (in_program) {
                own_failed += skipped
                if (!succeeded && own_failed == 0)
                    own_failed = 1
                if (succeeded && !counts_itself)
                    own_passed = 1
                passed += own_passed
                failed += own_failed
            }
            in_program = succeeded = counts_itself = skipped = own_passed = own_failed = 0
        }
    ' "$1"
}

# The names of the programs that ctest would run.
suite_names() {
    ctest --test-dir "$1" -N "${@:2}" 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: //p'
}

# suite_count_label DIRECTORY LABEL: how many tests a run without a label leaves out.
suite_count_label() {
    local directory=$1 criterion name total=0
    criterion=$(suite_names "$directory" -L criterion)
    for name in $(suite_names "$directory" -L "$2"); do
        if grep -qxF "$name" <<<"$criterion"; then
            # "suite: 5 tests"; the lines below it depend on the locale.
            total=$((total + $("$directory/tests/$name" --list |
                awk '/^[^ ]+: [0-9]+ tests?$/ { count += $2 } END { print count + 0 }')))
        else
            total=$((total + 1))
        fi
    done
    echo "$total"
}

# suite_run DIRECTORY CTEST_ARGUMENT...: run what can run here; fails if anything did, or nothing
# was run. Sets suite_passed, suite_failed and suite_skipped.
suite_run() {
    local directory=$1 log=$1/Testing/Temporary/LastTest.log jobs status=0
    local arguments=("${@:2}")
    jobs=$(nproc)
    [ "$jobs" -le 8 ] || jobs=8 # each program runs its tests side by side as well

    suite_skipped=0
    local label=
    gp_has_two_gpus || label=gpu2
    gp_has_gpu || label=gpu # ctest takes it for a pattern, so gpu2 is left out too
    if [ -n "$label" ]; then
        arguments+=(-LE "$label")
        suite_skipped=$(suite_count_label "$directory" "$label")
    fi
    rm -f "$log"
    ctest --test-dir "$directory" --output-on-failure --no-tests=error -j "$jobs" \
        "${arguments[@]}" || status=1

    suite_passed=0
    suite_failed=0
    if [ -e "$log" ]; then
        read -r suite_passed suite_failed < <(suite_count "$log")
    fi
    if [ "$status" -ne 0 ] && [ "$suite_failed" -eq 0 ]; then
        suite_failed=1
    fi
    [ "$suite_passed" -gt 0 ] || status=1
    [ "$suite_failed" -eq 0 ] || status=1
    return "$status"
}
