# Fails when LIBRARY has instructions that not every processor of the architecture knows, in functions that are not
# chosen by processor: on x86-64, AVX's (their names begin with v) where a function's name does not tell its width.
# A template of the standard library, which objects for several widths define, is linked once: this shows from which.
# (Clones that the compiler makes of one, .isra and its like, belong to the object that has them.)
execute_process(
    COMMAND ${OBJDUMP} -d --no-show-raw-insn ${LIBRARY}
    COMMAND awk "/^[0-9a-f]+ <.*>:$/ { name = $2; chosen = name ~ /avx|_(32|64)E|arch_|[.](isra|part|constprop|cold)/; functions += 1; wide += chosen; next }
                 !chosen && $2 ~ /^v[a-z]/ && $2 !~ /^ver[rw]$/ && !seen[name]++ { print name, $2 }
                 END { if (functions < 1000 || !wide) print functions + 0, \"functions,\", wide + 0, \"of them for a width\" }"
    OUTPUT_VARIABLE found
    COMMAND_ERROR_IS_FATAL ANY)
if(found)
    message(FATAL_ERROR "for some processors only:\n${found}")
endif()
