# SPDX-License-Identifier: Apache-2.0
# The target of test_allocators.c: once without an allocator, for preloading, and once for
# each way to link an allocator statically whose parts are installed.
set(allocators_source ${CMAKE_CURRENT_SOURCE_DIR}/targets/allocators.c)
set(allocators_flags ${plain} -fno-omit-frame-pointer)
add_target(allocators ${allocators_source})
target_link_libraries(allocators PRIVATE ${CMAKE_DL_LIBS})

set(allocators_built allocators)
function(add_static_target name)
	add_target(${name} ${allocators_source})
	target_link_libraries(${name} PRIVATE ${ARGN} ${CMAKE_DL_LIBS})
	set(allocators_built ${allocators_built} ${name} PARENT_SCOPE)
endfunction()

# jemalloc, with and without the prefix je_. Only its operators need the C++ runtime, which
# is installed even without a C++ compiler.
find_library(JEMALLOC_ARCHIVE libjemalloc.a)
find_library(CXX_RUNTIME NAMES stdc++ libstdc++.so.6)
find_program(OBJCOPY objcopy)
if(JEMALLOC_ARCHIVE AND CXX_RUNTIME AND OBJCOPY)
	add_static_target(allocators_jemalloc -Wl,--whole-archive ${JEMALLOC_ARCHIVE}
		-Wl,--no-whole-archive ${CXX_RUNTIME} m Threads::Threads)

	set(names "")
	foreach(name malloc calloc realloc free posix_memalign aligned_alloc memalign valloc
		mallocx rallocx xallocx sallocx dallocx sdallocx nallocx mallctl
		mallctlnametomib mallctlbymib malloc_stats_print malloc_usable_size
		malloc_message malloc_conf)
		string(APPEND names "${name} je_${name}\n")
	endforeach()
	file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/je_names "${names}")
	add_custom_command(OUTPUT libjemalloc_je.a
		COMMAND ${OBJCOPY} --redefine-syms=je_names ${JEMALLOC_ARCHIVE} libjemalloc_je.a
		DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/je_names)
	add_custom_target(libjemalloc_je DEPENDS libjemalloc_je.a)
	add_static_target(allocators_je
		-Wl,--whole-archive ${CMAKE_CURRENT_BINARY_DIR}/libjemalloc_je.a
		-Wl,--no-whole-archive ${CXX_RUNTIME} m Threads::Threads)
	add_dependencies(allocators_je libjemalloc_je)
endif()

# Without any shared library: glibc, also stripped, and musl.
find_library(LIBC_ARCHIVE libc.a)
if(LIBC_ARCHIVE AND OBJCOPY)
	add_static_target(allocators_static -static -Wl,--build-id)
	# memtrace finds the debug file by its name in the last section.
	add_custom_command(OUTPUT allocators_stripped allocators_stripped.debug
		COMMAND ${OBJCOPY} --only-keep-debug $<TARGET_FILE:allocators_static>
			allocators_stripped.debug
		COMMAND ${OBJCOPY} --strip-all --add-gnu-debuglink=allocators_stripped.debug
			$<TARGET_FILE:allocators_static> allocators_stripped
		DEPENDS allocators_static)
	add_custom_target(stripped_target ALL DEPENDS allocators_stripped)
	list(APPEND allocators_built stripped_target)
endif()
# The same as position-independent code: there the linker makes glibc's hidden symbols,
# such as malloc, local. Also with the C++ runtime, whose operators call malloc.
foreach(name rcrt1.o libstdc++.a)
	execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${name}
		OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
	if(NOT IS_ABSOLUTE "${path}")
		continue()
	endif()
	set(kind "")
	set(runtime "")
	if(name STREQUAL libstdc++.a)
		set(kind _cxx)
		set(runtime -Wl,--whole-archive ${path} -Wl,--no-whole-archive m)
	endif()
	add_static_target(allocators_static_pie${kind} -static-pie ${runtime})
	target_compile_options(allocators_static_pie${kind} PRIVATE -fPIE)
endforeach()
# A program with its own allocator, whose functions no other file can call; and a stripped
# program that hides only malloc.
add_target(own_malloc_hidden targets/own_malloc.c)
target_compile_definitions(own_malloc_hidden PRIVATE MALLOC_VISIBILITY="hidden"
	OTHER_VISIBILITY="hidden")
add_target(own_malloc_half targets/own_malloc.c)
target_compile_definitions(own_malloc_half PRIVATE MALLOC_VISIBILITY="hidden")
foreach(name own_malloc_hidden own_malloc_half)
	target_compile_options(${name} PRIVATE -fPIE)
	target_link_options(${name} PRIVATE -pie)
	list(APPEND allocators_built ${name})
endforeach()
target_link_options(own_malloc_half PRIVATE -rdynamic -s)
find_program(MUSL_GCC musl-gcc)
if(MUSL_GCC)
	foreach(kind static dynamic)
		set(option "")
		if(kind STREQUAL static)
			set(option -static)
		endif()
		add_custom_command(OUTPUT allocators_musl_${kind}
			COMMAND ${MUSL_GCC} ${option} -std=c11 -D_GNU_SOURCE ${allocators_flags}
				${allocators_source} -o allocators_musl_${kind}
			DEPENDS ${allocators_source})
		add_custom_target(musl_${kind}_target ALL DEPENDS allocators_musl_${kind})
		list(APPEND allocators_built musl_${kind}_target)
	endforeach()
endif()

# For the test of stacks through code without unwind information.
set(true_ends_source ${CMAKE_CURRENT_SOURCE_DIR}/targets/true_ends.c)
set(true_ends_flags -D_GNU_SOURCE ${plain} -fomit-frame-pointer -pthread)
function(add_true_ends name compiler)
	add_custom_command(OUTPUT ${name}
		COMMAND ${compiler} ${ARGN} ${true_ends_flags} ${true_ends_source} -o ${name}
		DEPENDS ${true_ends_source})
	add_custom_target(${name}_target ALL DEPENDS ${name})
	set(allocators_built ${allocators_built} ${name}_target PARENT_SCOPE)
endfunction()
if(LIBC_ARCHIVE)
	add_true_ends(true_ends_static ${CMAKE_C_COMPILER} -static)
endif()
if(MUSL_GCC)
	add_true_ends(true_ends_musl ${MUSL_GCC})
	add_true_ends(true_ends_musl_static ${MUSL_GCC} -static)
endif()

# For the test of sampling: functions that call others inside musl.
if(MUSL_GCC)
	add_custom_command(OUTPUT sampled_musl
		COMMAND ${MUSL_GCC} ${allocators_flags} -static
			${CMAKE_CURRENT_SOURCE_DIR}/targets/sampled.c -o sampled_musl
		DEPENDS targets/sampled.c targets/simple.h)
	add_custom_target(sampled_musl_target ALL DEPENDS sampled_musl)
	list(APPEND allocators_built sampled_musl_target)

	# For the test of trampolines.
	add_custom_command(OUTPUT allocating_musl
		COMMAND ${MUSL_GCC} ${allocators_flags} -static
			${CMAKE_CURRENT_SOURCE_DIR}/targets/allocating.c -o allocating_musl
		DEPENDS targets/allocating.c targets/allocate_each.h targets/simple.h)
	add_custom_target(allocating_musl_target ALL DEPENDS allocating_musl)
	list(APPEND allocators_built allocating_musl_target)
endif()
