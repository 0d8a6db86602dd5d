# SPDX-License-Identifier: Apache-2.0
include(CheckCCompilerFlag)
include(CheckPIESupported)

# Harden everything that is built in this directory and below, as far as the compiler can: position
# independent code, read-only relocations, checks of the stack and of buffers, and CET.
macro(harden)
	check_pie_supported(LANGUAGES C)
	set(CMAKE_POSITION_INDEPENDENT_CODE ON)
	foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
		string(MAKE_C_IDENTIFIER "HAVE${flag}" have)
		check_c_compiler_flag(${flag} ${have})
		if(${have})
			add_compile_options(${flag})
		endif()
	endforeach()
	# It needs optimization. Distributions may have set it in CFLAGS, perhaps to 3.
	if(NOT CMAKE_BUILD_TYPE STREQUAL Debug AND NOT CMAKE_C_FLAGS MATCHES _FORTIFY_SOURCE)
		add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
	endif()
	add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endmacro()
