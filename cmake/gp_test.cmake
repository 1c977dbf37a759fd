# How a test is added.
#
#   gp_add_test(<name> [SOURCES <file>...] [INTERNAL] [LABELS <label>...])
#       A Criterion test in <name>.c (or SOURCES), linked with the static libgp.
#       INTERNAL: the test may also include the headers of src/. The static
#       library lets it call functions that the shared one hides.
#       LABELS gpu: needs a GPU; run one at a time, and a skip counts as a failure.
#
#   gp_add_program_test(<name> [SOURCES <file>...] [INTERNAL] [LABELS <label>...] [ARGS <arg>...])
#       The same for a program with a main() of its own, which ThreadSanitizer
#       needs, since Criterion does not start under it. Exit 0 means passed.

function(gp_add_test_target name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "INTERNAL" "" "SOURCES;LABELS;ARGS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "test ${name}: unexpected ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT arg_SOURCES)
        set(arg_SOURCES ${name}.c)
    endif()

    gp_add_program(${name})
    target_sources(${name} PRIVATE ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE gp_static)
    if(arg_INTERNAL)
        target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    endif()

    add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300)
    if("gpu" IN_LIST arg_LABELS)
        set_tests_properties(${name} PROPERTIES RESOURCE_LOCK gpu)
    endif()
endfunction()

function(gp_add_test name)
    gp_add_test_target(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE PkgConfig::CRITERION)
endfunction()

function(gp_add_program_test name)
    gp_add_test_target(${name} ${ARGN})
    set_property(TEST ${name} APPEND PROPERTY LABELS program)
endfunction()
