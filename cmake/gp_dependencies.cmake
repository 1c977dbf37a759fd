# What gp needs from outside. The library itself: threads, and CUDA's headers if they are there.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(CUDAToolkit 11.2 QUIET)

# NVTX is headers only: the toolkit's, or those that script/setup put there. Counters came with 3.2.
find_path(GP_NVTX_INCLUDE_DIR nvtx3/nvToolsExtCounters.h
    HINTS ${CUDAToolkit_INCLUDE_DIRS} ${PROJECT_SOURCE_DIR}/build-nvtx/nvidia/cu13/include
    DOC "Where nvtx3/ is, of NVTX 3.2 or later")
mark_as_advanced(GP_NVTX_INCLUDE_DIR)
if(GP_NVTX AND GP_NVTX_INCLUDE_DIR)
    set(gp_has_nvtx ON)
else()
    set(gp_has_nvtx OFF)
endif()

if(GP_BUILD_TESTS OR GP_BUILD_BENCH)
    find_package(PkgConfig REQUIRED)
endif()
if(GP_BUILD_TESTS)
    pkg_check_modules(CRITERION REQUIRED IMPORTED_TARGET criterion>=2.4)
endif()
if(GP_BUILD_BENCH)
    pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)
    find_package(ZLIB REQUIRED)
endif()
