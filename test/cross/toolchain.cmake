# SPDX-License-Identifier: BSD-3-Clause
# Cross-builds for aarch64 on Debian, as CMAKE_TOOLCHAIN_FILE. STEPPE_SYSROOT is a folder that
# sysroot.sh has filled. Programs that the build or CTest starts run under qemu's user emulation.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES STEPPE_SYSROOT)
set(triplet aarch64-linux-gnu)

set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_SYSROOT ${STEPPE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${STEPPE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${STEPPE_SYSROOT})
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${STEPPE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${STEPPE_SYSROOT}/usr/lib/${triplet}/pkgconfig:${STEPPE_SYSROOT}/usr/share/pkgconfig)
