# SPDX-License-Identifier: Apache-2.0
# Compiles for aarch64 on another machine, with Debian's gcc-aarch64-linux-gnu. It uses the
# libraries' headers of this machine, so objects can be compiled, but not linked:
#
#    cmake -B build-aarch64 -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake
#    cmake --build build-aarch64 --target rooms
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
# After the compiler's own, which are of aarch64.
set(CMAKE_C_FLAGS_INIT "-idirafter /usr/include")
# So that the configuration succeeds.
set(CMAKE_LIBRARY_PATH /usr/lib/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu)
