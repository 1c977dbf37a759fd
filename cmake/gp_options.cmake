# What the builder may choose, with the checks that belong to it.

if(CMAKE_SOURCE_DIR STREQUAL PROJECT_SOURCE_DIR)
    set(gp_is_top_level ON)
else()
    set(gp_is_top_level OFF)
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()
# Symbols cost nothing at run time, and a profile without them says little.
if(gp_is_top_level)
    set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG")
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

option(BUILD_SHARED_LIBS "Build the shared library beside the static one" ON)
option(GP_BUILD_TESTS "Build the tests" ${gp_is_top_level})
option(GP_BUILD_BENCH "Build gp-bench" ${gp_is_top_level})
option(GP_BENCH_PEERS "Build the peers of gp-bench that need C++ or CUDA, as far as they are found"
    ${gp_is_top_level})
option(GP_BUILD_EXAMPLES "Build the examples" ${gp_is_top_level})
option(GP_FUZZ "Build the fuzz targets, with clang" OFF)
option(GP_NVTX "Show pools in NVIDIA's tools by NVTX, if its headers are found" ON)
option(GP_WERROR "Turn warnings into errors" OFF)

if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(gp_default_checks 2)
else()
    set(gp_default_checks 0)
endif()
set(GP_CHECKS ${gp_default_checks} CACHE STRING
    "Checks of gp's own invariants: 0 none, 1 cheap ones, 2 walk every structure")
set_property(CACHE GP_CHECKS PROPERTY STRINGS 0 1 2)
if(NOT GP_CHECKS MATCHES "^[012]$")
    message(FATAL_ERROR "GP_CHECKS is ${GP_CHECKS}, but must be 0, 1 or 2")
endif()

set(GP_SANITIZE "" CACHE STRING "Sanitizers: empty, address,undefined or thread")
set_property(CACHE GP_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")

# A sanitizer's runtime has to be there before everything else; the peers are not gp's to check.
if(GP_SANITIZE)
    set(GP_BENCH_PEERS OFF)
endif()

if(GP_FUZZ AND NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "GP_FUZZ needs libFuzzer: build with clang")
endif()
