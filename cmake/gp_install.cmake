# What `cmake --install` puts where: headers, libraries, find_package(gp) and pkg-config.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gp
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")

# For what is loaded into a program that has gp already, as a policy in a shared library.
add_library(gp_headers INTERFACE)
target_include_directories(gp_headers INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(gp_headers PROPERTIES EXPORT_NAME headers)
add_library(gp::headers ALIAS gp_headers)

set(gp_installed gp_headers gp_static)
if(BUILD_SHARED_LIBS)
    list(APPEND gp_installed gp_shared)
endif()
install(TARGETS ${gp_installed}
    EXPORT gpTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(gp_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gp)
install(EXPORT gpTargets NAMESPACE gp:: DESTINATION ${gp_package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/gpConfig.cmake.in gpConfig.cmake
    INSTALL_DESTINATION ${gp_package_dir}
    NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(gpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/gpConfig.cmake
    ${PROJECT_BINARY_DIR}/gpConfigVersion.cmake
    DESTINATION ${gp_package_dir})

# The prefix is written relative to gp.pc itself: it is known only when installing, and an
# installed tree may be moved.
file(RELATIVE_PATH gp_pc_to_prefix
    /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig
    /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/gp.pc.in gp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/gp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
