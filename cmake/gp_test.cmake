# How a test is added.
#
#   gp_add_test(<name> [SOURCES <file>...] [INTERNAL] [SHARED] [LABELS <label>...])
#       A Criterion test in <name>.c (or SOURCES), linked with the static libgp; SHARED: with
#       the shared one.
#       INTERNAL: the test may also include the headers of src/. The static
#       library lets it call functions that the shared one hides.
#       LABELS gpu: needs a GPU; such tests run one at a time. Without a GPU
#       leave them out with `ctest -LE gpu`.
#
#   gp_add_program_test(<name> [SOURCES <file>...] [INTERNAL] [LABELS <label>...] [ARGS <arg>...])
#       The same for a program with a main() of its own. Exit 0 means passed.
#       ThreadSanitizer needs these: Criterion does not start under it, so with
#       GP_SANITIZE=thread Criterion tests are neither built by default nor run.
#
# A skip fails: a test that cannot run where it is started has to be left out by its label,
# where everybody can see it. So does a test program that runs no test at all.

# In front of a test's command, this ends a test that hangs with all its processes. ctest would end
# the runner alone and leave the process of the test itself spinning; Criterion's --timeout does
# nothing.
set(gp_test_limit timeout 300)

function(gp_add_test_target name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "CRITERION;INTERNAL;SHARED" "" "SOURCES;LABELS;ARGS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "test ${name}: unexpected ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT arg_SOURCES)
        set(arg_SOURCES ${name}.c)
    endif()

    gp_add_program(${name})
    target_sources(${name} PRIVATE ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE $<IF:$<BOOL:${arg_SHARED}>,gp_shared,gp_static>)
    if(arg_INTERNAL)
        target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    endif()

    if(arg_CRITERION AND GP_SANITIZE STREQUAL "thread")
        set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
        return()
    endif()
    add_test(NAME ${name} COMMAND ${gp_test_limit} $<TARGET_FILE:${name}> ${arg_ARGS})
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
    if("gpu" IN_LIST arg_LABELS)
        set_tests_properties(${name} PROPERTIES RESOURCE_LOCK gpu)
    endif()
endfunction()

# What Criterion lets pass. It only warns of a test whose .init or .fini crashes or asserts, and has
# its result before a sanitizer finds a leak at the end of the test's process.
set(gp_criterion_failures
    "\\[SKIP\\]"
    "Synthesis: Tested: 0 "
    "crashed during its setup or teardown"
    "Sanitizer: detected memory leaks")

function(gp_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS")

    # Only a verbose run names the tests that were skipped.
    set(criterion_args --verbose)
    if("gpu" IN_LIST arg_LABELS)
        list(APPEND criterion_args --jobs 1)
    endif()
    gp_add_test_target(${name} ${ARGN} CRITERION ARGS ${criterion_args})
    target_link_libraries(${name} PRIVATE PkgConfig::CRITERION)
    # Criterion's assertions put an int into a bit-field, in the test's own lines.
    target_compile_options(${name} PRIVATE -Wno-conversion)
    if(TEST ${name})
        set_property(TEST ${name} APPEND PROPERTY LABELS criterion)
        set_tests_properties(${name} PROPERTIES
            FAIL_REGULAR_EXPRESSION "${gp_criterion_failures}")
    endif()
endfunction()

function(gp_add_program_test name)
    gp_add_test_target(${name} ${ARGN})
    set_property(TEST ${name} APPEND PROPERTY LABELS program)
endfunction()

# A file of tests that no target names would never run, and nobody would notice; but for those
# that tests/CMakeLists.txt leaves out knowingly, in gp_tests_left_out.
function(gp_require_every_test_added)
    get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/tests PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
        get_target_property(sources ${target} SOURCES)
        list(TRANSFORM sources REPLACE "^.*/" "")
        list(APPEND added ${sources})
    endforeach()
    file(GLOB files RELATIVE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/*.c)
    get_property(left_out GLOBAL PROPERTY gp_tests_left_out)
    list(REMOVE_ITEM files ${added} ${left_out})
    set(severity WARNING)
    if(GP_WERROR)
        set(severity FATAL_ERROR)
    endif()
    if(files)
        message(${severity} "in tests/, but in no target of tests/CMakeLists.txt: ${files}")
    endif()
endfunction()
