# Sources of other projects that are compiled into spanfft, from sdists of the Python registry: as given in
# SPANFFT_DUCC0_SOURCE and SPANFFT_XXHASH_SOURCE (unpacked), or fetched by pip. Versions and digests are pinned here.
# An archive's digest is checked here, whoever fetched it. pip needs the sdist's build back end to read the
# archive's metadata (it compiles nothing); isolation is off first because pyproject.toml and requirements/build.txt
# hold ducc0's back end already; where one is not there, isolation fetches it. A user's constraints are for the user's
# packages, not for these, whose digests are fixed: pip would apply them to the back end, and refuse.
# Script mode, for spanfft-dev: cmake -DNAME=xxhash -DDESTINATION=dir -DPython_EXECUTABLE=python -P third_party.cmake
set(SPANFFT_DUCC0_VERSION 0.42.0)
set(SPANFFT_DUCC0_SHA256 4e11c59b53a43355b053aebb2a62ee16eebeed026575f7d216cf09d437ce52ef)
set(SPANFFT_DUCC0_PROBE src/ducc0/fft/fft.h)
set(SPANFFT_DUCC0_LICENSE LICENSE)
set(SPANFFT_XXHASH_VERSION 4.1.0)
set(SPANFFT_XXHASH_SHA256 c9b288e4c1f5dae54417bc8a05e6f6daf505783d916b4783f4dd2f2e7d5db486)
set(SPANFFT_XXHASH_PROBE deps/xxhash/xxhash.h)
set(SPANFFT_XXHASH_LICENSE deps/xxhash/LICENSE)

# name: in lower case, as the registry has it. Sets `result` to the unpacked sdist.
function(spanfft_fetch_source name destination python result)
    string(TOUPPER ${name} upper)
    set(version ${SPANFFT_${upper}_VERSION})
    set(source ${destination}/${name}-${version})
    set(archive ${source}.tar.gz)
    if(NOT EXISTS ${archive})
        message(STATUS "Fetching ${name} ${version} with pip")
        file(MAKE_DIRECTORY ${destination})
        set(errors "")
        foreach(isolation IN ITEMS --no-build-isolation "")
            execute_process(
                COMMAND ${CMAKE_COMMAND} -E env --unset=PIP_CONSTRAINT --unset=PIP_BUILD_CONSTRAINT
                        ${python} -m pip download --quiet --no-deps ${isolation} --no-binary ${name}
                        --dest ${destination} ${name}==${version}
                RESULT_VARIABLE status
                ERROR_VARIABLE error
                OUTPUT_VARIABLE error)
            if(status EQUAL 0)
                break()
            endif()
            string(APPEND errors "\n${error}")
        endforeach()
        if(NOT status EQUAL 0)
            message(FATAL_ERROR "pip could not fetch ${name} ${version}; give an unpacked sdist with "
                                "-DSPANFFT_${upper}_SOURCE=dir.\n${errors}")
        endif()
    endif()
    file(SHA256 ${archive} digest)
    if(NOT digest STREQUAL SPANFFT_${upper}_SHA256)
        file(REMOVE ${archive})
        message(FATAL_ERROR "${archive} has SHA-256 ${digest}, not ${SPANFFT_${upper}_SHA256}: removed")
    endif()
    if(NOT EXISTS ${source}/${SPANFFT_${upper}_PROBE})
        file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${destination})
    endif()
    set(${result} ${source} PARENT_SCOPE)
endfunction()

# Sets SPANFFT_<NAME>_SOURCE where it is not given, and installs the licence, which asks to be shipped: for C and C++
# beside spanfft's own, and into the wheel.
macro(spanfft_third_party name)
    string(TOUPPER ${name} third_party)
    if(NOT SPANFFT_${third_party}_SOURCE)
        if(NOT Python_EXECUTABLE)
            find_package(Python REQUIRED COMPONENTS Interpreter)
        endif()
        spanfft_fetch_source(${name} ${CMAKE_BINARY_DIR}/${name} ${Python_EXECUTABLE} SPANFFT_${third_party}_SOURCE)
    endif()
    if(NOT EXISTS ${SPANFFT_${third_party}_SOURCE}/${SPANFFT_${third_party}_PROBE})
        message(FATAL_ERROR "SPANFFT_${third_party}_SOURCE=${SPANFFT_${third_party}_SOURCE} holds no "
                            "${SPANFFT_${third_party}_PROBE}")
    endif()
    if(CMAKE_INSTALL_DOCDIR)
        set(license ${SPANFFT_${third_party}_SOURCE}/${SPANFFT_${third_party}_LICENSE})
        install(FILES ${license} DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.${name} COMPONENT library)
        install(FILES ${license} DESTINATION spanfft/licenses RENAME LICENSE.${name} COMPONENT python)
    endif()
endmacro()

if(CMAKE_SCRIPT_MODE_FILE)
    spanfft_fetch_source(${NAME} ${DESTINATION} ${Python_EXECUTABLE} source)
endif()
