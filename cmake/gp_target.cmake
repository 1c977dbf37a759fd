# Every target of the project is added here, so that all of them get the same flags.
#
#   gp_add_objects(<name>)   a part of libgp, linked into both the shared and the static library
#   gp_add_library(<name> SHARED|STATIC|MODULE)
#   gp_add_program(<name>)
#
# Sources follow in the caller's directory with target_sources(), listed by name.

function(gp_set_flags target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11
        C_STANDARD_REQUIRED ON
        C_EXTENSIONS OFF
        C_VISIBILITY_PRESET hidden)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE GP_CHECKS=${GP_CHECKS})
    target_compile_options(${target} PRIVATE
        -Wall
        -Wconversion
        -Wextra
        -Wmissing-prototypes
        -Wpedantic
        -Wshadow
        -Wstrict-prototypes
        -Wundef
        $<$<BOOL:${GP_WERROR}>:-Werror>)
    target_link_libraries(${target} PRIVATE Threads::Threads)

    if(GP_FUZZ)
        # Lets the fuzzer see which way each branch went; its own main() is linked where it is used.
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
    if(GP_SANITIZE)
        set(flags -fsanitize=${GP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
        target_compile_options(${target} PRIVATE ${flags})
        target_link_options(${target} PRIVATE ${flags})
    endif()
endfunction()

function(gp_add_library target kind)
    add_library(${target} ${kind})
    gp_set_flags(${target})
    if(kind STREQUAL "SHARED" AND NOT GP_SANITIZE)
        # A name that nothing defines is found here, not by the first program that calls it. With a
        # sanitizer the names of its runtime are left to the program.
        target_link_options(${target} PRIVATE LINKER:-z,defs)
    endif()
endfunction()

# Compiled once, position-independent, and linked twice.
function(gp_add_objects target)
    gp_add_library(${target} OBJECT)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON LINKER_LANGUAGE C)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    # gp's own calls of its exported functions stay inside it, in the shared library too.
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
endfunction()

function(gp_add_program target)
    add_executable(${target})
    gp_set_flags(${target})
endfunction()
