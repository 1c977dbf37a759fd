# What gp needs from outside. The library itself: threads, and CUDA's headers if they are there.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(CUDAToolkit 11.2 QUIET)

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
