# The last words of a configure run: what will be built.

if(CUDAToolkit_FOUND)
    set(cuda "found ${CUDAToolkit_VERSION}")
else()
    set(cuda "not found, simulated device only")
endif()
if(GP_SANITIZE)
    set(sanitize ${GP_SANITIZE})
else()
    set(sanitize none)
endif()
if(gp_has_nvtx)
    set(nvtx "headers in ${GP_NVTX_INCLUDE_DIR}")
elseif(GP_NVTX)
    set(nvtx "off, no headers of NVTX 3.2 or later found")
else()
    set(nvtx "off")
endif()
if(BUILD_SHARED_LIBS)
    set(libraries "shared and static")
else()
    set(libraries "static")
endif()

message(STATUS "gp ${PROJECT_VERSION}
     CUDA:       ${cuda}
     compiler:   ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}
     build type: ${CMAKE_BUILD_TYPE}
     libraries:  ${libraries}
     tests:      ${GP_BUILD_TESTS}
     bench:      ${GP_BUILD_BENCH}
     examples:   ${GP_BUILD_EXAMPLES}
     NVTX:       ${nvtx}
     checks:     ${GP_CHECKS}
     sanitizers: ${sanitize}")
