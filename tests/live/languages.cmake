# SPDX-License-Identifier: Apache-2.0
# The targets of test_languages.c and test_unnoticed.c, in C++ and Rust. memtrace itself is
# in C: if such a compiler is not installed, the target is missing and the test says so.
set(languages_built "")
find_program(CXX_FOR_TARGETS g++)
if(CXX_FOR_TARGETS)
	set(source ${CMAKE_CURRENT_SOURCE_DIR}/targets/operators.cc)
	add_custom_command(OUTPUT operators
		COMMAND ${CXX_FOR_TARGETS} -std=c++17 -Wall -Wextra ${plain}
			-fno-omit-frame-pointer ${source} -o operators
		DEPENDS ${source})
	add_custom_target(operators_target ALL DEPENDS operators)
	list(APPEND languages_built operators_target)

	# For test_unnoticed.c.
	set(source ${CMAKE_CURRENT_SOURCE_DIR}/targets/thrower.cc)
	add_custom_command(OUTPUT thrower
		COMMAND ${CXX_FOR_TARGETS} -std=c++17 -Wall -Wextra ${plain}
			-fno-omit-frame-pointer -pthread ${source} -o thrower
		DEPENDS ${source} targets/answer.h targets/simple.h)
	add_custom_target(thrower_target ALL DEPENDS thrower)
	list(APPEND languages_built thrower_target)
endif()

# The distribution's compiler first: its programs are built with it.
find_program(RUSTC rustc HINTS /usr/bin)
if(RUSTC)
	set(source ${CMAKE_CURRENT_SOURCE_DIR}/targets/collections.rs)
	add_custom_command(OUTPUT collections
		COMMAND ${RUSTC} --edition 2021 -O -g -C force-frame-pointers=yes ${source}
			-o collections
		DEPENDS ${source})
	add_custom_target(collections_target ALL DEPENDS collections)
	list(APPEND languages_built collections_target)
endif()

# A Go program that calls C, with symbols and without. Its build needs no network.
find_program(GO go)
if(GO)
	set(source ${CMAKE_CURRENT_SOURCE_DIR}/targets/go_caller)
	set(go_build ${CMAKE_COMMAND} -E env GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/go-cache
		GO111MODULE=off GOFLAGS= CGO_ENABLED=1 CC=cc ${GO} build)
	set(out ${CMAKE_CURRENT_BINARY_DIR})
	add_custom_command(OUTPUT go_caller go_stripped go_pie
		COMMAND ${go_build} -o ${out}/go_caller
		COMMAND ${go_build} "-ldflags=-s -w" -o ${out}/go_stripped
		COMMAND ${go_build} -buildmode=pie "-ldflags=-s -w" -o ${out}/go_pie
		WORKING_DIRECTORY ${source}
		DEPENDS ${source}/main.go ${source}/calls.c VERBATIM)
	add_custom_target(go_target ALL DEPENDS go_caller go_stripped go_pie)
	list(APPEND languages_built go_target)
endif()
