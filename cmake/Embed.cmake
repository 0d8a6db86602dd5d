# SPDX-License-Identifier: Apache-2.0
# embed_files(OUTPUT name.c SYMBOL embedded_probes FILES a.c b.h ...)
#
# Writes a C file that defines `const struct embedded_file SYMBOL[]` (util/embedded.h)
# with the text of each file, ended by an entry with a NULL name. Runs at build time,
# so that editing a probe rebuilds the binary.
set(EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/EmbedRun.cmake)

function(embed_files)
	cmake_parse_arguments(E "" "OUTPUT;SYMBOL;ROOT" "FILES" ${ARGN})
	set(paths)
	foreach(f ${E_FILES})
		list(APPEND paths ${E_ROOT}/${f})
	endforeach()
	string(REPLACE ";" "," files "${E_FILES}")
	add_custom_command(OUTPUT ${E_OUTPUT}
		COMMAND ${CMAKE_COMMAND} -DOUTPUT=${E_OUTPUT} -DSYMBOL=${E_SYMBOL}
			-DROOT=${E_ROOT} -DFILES=${files} -P ${EMBED_SCRIPT}
		DEPENDS ${paths} ${EMBED_SCRIPT}
		COMMENT "Embedding ${E_SYMBOL}"
		VERBATIM)
endfunction()
