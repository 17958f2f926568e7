# Fails when LIBRARY exports anything but spanfft_* under the public version and spanfft's C++ under the private one.
execute_process(COMMAND ${NM} -D --defined-only --with-symbol-versions -C ${LIBRARY}
                OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[][;]" "," table "${table}")
string(REGEX MATCHALL "[^\n]+" lines "${table}")
set(strangers "")
foreach(line IN LISTS lines)
    if(NOT line MATCHES " (spanfft_[a-z0-9_]+@@SPANFFT_0|.*spanfft::.*@@SPANFFT_PRIVATE_.*|SPANFFT_.*)$")
        string(APPEND strangers "${line}\n")
    endif()
endforeach()
if(strangers)
    message(FATAL_ERROR "exported without being part of the interface:\n${strangers}")
endif()
