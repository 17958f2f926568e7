# Helpers that give every target of spanfft the same warnings, sanitizers and include folders, and find the MPI.

# `sanitizers` after the target: other than those of SPANFFT_SANITIZE.
function(spanfft_sanitize target)
    if(SPANFFT_SANITIZE)
        set(sanitizers ${SPANFFT_SANITIZE})
        if(ARGN)
            set(sanitizers ${ARGN})
        endif()
        set(flags -fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_compile_options(${target} PRIVATE ${flags})
        target_link_options(${target} PRIVATE ${flags})
    endif()
endfunction()

function(spanfft_warnings target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        # GCC 12 warns about "literal" + std::string (its bug 105651).
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
    endif()
    if(SPANFFT_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()

function(spanfft_public_includes target)
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# For the objects that libraries are linked from. Symbols are visible to the linker, whose version script
# (cmake/exports.map) decides what leaves the library; no-semantic-interposition keeps calls inside direct.
function(spanfft_configure target)
    spanfft_warnings(${target})
    spanfft_sanitize(${target})
    spanfft_public_includes(${target})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${target} PRIVATE SPANFFT_BUILD)
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET default)
endfunction()

# The standard headers that most files include, and those given. For the library only where SPANFFT_PRECOMPILE asks for
# it: its other builds show which file lacks an #include. (tests/CMakeLists.txt does it for tests always.)
function(spanfft_precompile target)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <chrono> <cmath> <cstring> <functional>
        <map> <memory> <mutex> <optional> <set> <string> <thread> <tuple> <vector> ${ARGN})
endfunction()

# Sources of one folder in a few units: what headers bring (containers, strings) is then instrumented and generated once a
# unit instead of once a source, which is most of a build with sanitizers. Not those whose anonymous namespaces have names
# of others of the folder: add a source here when the compiler says that it redefines something.
set(spanfft_apart capi/query core/twiddles exchange/compressed exchange/hierarchical exchange/phased exchange/shared
    exec/journalled_run exec/probe exec/tune plan/problem_text plan/tuning_store steps/columns_step steps/segment_step
    steps/split_step)
set(spanfft_units capi comm core disk exchange exec layout lower permute plan steps sweeps)
function(spanfft_unity target)
    get_target_property(sources ${target} SOURCES)
    foreach(folder IN LISTS spanfft_units)
        set(count 0)
        foreach(source IN LISTS sources)
            cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE name)
            string(REGEX REPLACE "[.]cpp$" "" name ${name})
            if(name MATCHES "^${folder}/" AND NOT name IN_LIST spanfft_apart)
                math(EXPR unit "${count} / 8")
                math(EXPR count "${count} + 1")
                set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${unit})
            endif()
        endforeach()
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# Sets SPANFFT_MPI_FLAVOUR to the binary interface that mpicc compiles for: mpich, openmpi, or abi, which is the one of
# the MPI-5 standard (mpi_abi.h); or leaves it empty. Only C bindings are used.
#
# Which library is linked matters: a process that holds two MPI instances is broken, and Python programs load
# mpi4py's first. mpi4py's wheel loads libmpi.so.12 (the MPICH ABI) or libmpi.so.40 (Open MPI), never
# libmpi_abi.so.1, although the registry's MPICH 5 ships both: libmpi.so.12 behind mpicc, libmpi_abi.so.1 behind
# mpicc_abi. So mpicc, not mpicc_abi, is right where one core is built. Debian calls MPICH's library libmpich.so.12,
# which no wheel finds; there spanfft-dev compiles mpi4py with Debian's mpicc. spanfft-dev checks after each set-up
# that mpi4py and spanfft load the same file.
macro(spanfft_find_mpi)
    set(SPANFFT_MPI_FLAVOUR "")
    if(SPANFFT_MPI)
        if(SPANFFT_MPI STREQUAL "AUTO")
            find_package(MPI QUIET COMPONENTS C)
        else()
            find_package(MPI REQUIRED COMPONENTS C)
        endif()
    endif()
    if(MPI_C_FOUND)
        include(CheckCSourceCompiles)
        set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
        check_c_source_compiles("#include <mpi.h>\n#if !(MPI_ABI_VERSION > 0)\n#error\n#endif\nint main(void){return 0;}"
                                SPANFFT_MPI_IS_ABI)
        check_c_source_compiles("#include <mpi.h>\n#ifndef OPEN_MPI\n#error\n#endif\nint main(void){return 0;}"
                                SPANFFT_MPI_IS_OPENMPI)
        check_c_source_compiles("#include <mpi.h>\n#ifndef MPICH_VERSION\n#error\n#endif\nint main(void){return 0;}"
                                SPANFFT_MPI_IS_MPICH)
        unset(CMAKE_REQUIRED_LIBRARIES)
        if(SPANFFT_MPI_IS_ABI)
            set(SPANFFT_MPI_FLAVOUR abi)
        elseif(SPANFFT_MPI_IS_OPENMPI)
            set(SPANFFT_MPI_FLAVOUR openmpi)
        elseif(SPANFFT_MPI_IS_MPICH)
            set(SPANFFT_MPI_FLAVOUR mpich)
        else()
            set(SPANFFT_MPI_FLAVOUR other)
        endif()
        set_property(TARGET MPI::MPI_C APPEND PROPERTY
            INTERFACE_COMPILE_DEFINITIONS OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
        if(SKBUILD AND MPI_C_LINK_FLAGS)
            # mpicc would have the loader look where it lies itself (CMakeLists.txt says why a wheel must not).
            string(REGEX REPLACE "-Wl,-rpath[ ,=](-Wl,)?[^ ]*" "" flags "${MPI_C_LINK_FLAGS}")
            set_property(TARGET MPI::MPI_C PROPERTY INTERFACE_LINK_OPTIONS "SHELL:${flags}")
        endif()
    endif()
    message(STATUS "MPI: ${SPANFFT_MPI_FLAVOUR} ${MPI_C_LIBRARIES}")
endmacro()
