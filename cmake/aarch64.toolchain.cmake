# SPDX-License-Identifier: Apache-2.0
# Debian's cross gcc with the arm64 libraries that scripts/cross-aarch64 unpacks outside the tree.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

set(cache $ENV{PANOPY_CACHE})
if(NOT cache)
    if(DEFINED ENV{XDG_CACHE_HOME})
        set(cache $ENV{XDG_CACHE_HOME}/panopy)
    else()
        set(cache $ENV{HOME}/.cache/panopy)
    endif()
endif()
set(PANOPY_AARCH64_SYSROOT ${cache}/sysroots/aarch64 CACHE PATH "arm64 libraries and headers")
set(libraries ${PANOPY_AARCH64_SYSROOT}/usr/lib/aarch64-linux-gnu)

# The compiler brings its own libc: the sysroot only adds libbpf, libelf and zlib.
set(CMAKE_FIND_ROOT_PATH ${PANOPY_AARCH64_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${libraries}")
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${PANOPY_AARCH64_SYSROOT})
