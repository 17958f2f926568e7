// std::string as Python's str and back, byte for byte, in place of nanobind/stl/string.h, which takes UTF-8 alone.
//
// Method: as Python has names of files (os.fsencode): what is no text in the file system's encoding becomes lone
// surrogates, and these the same bytes again. All texts go this way, as any of them may hold a name: a sentence, a
// plan.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <>
struct type_caster<std::string> {
    NB_TYPE_CASTER(std::string, const_name("str"))

    bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
        if (!PyUnicode_Check(src.ptr())) return false;
        const object bytes = steal(PyUnicode_EncodeFSDefault(src.ptr()));
        if (!bytes.is_valid()) {
            PyErr_Clear();
            return false;
        }
        value.assign(PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
        return true;
    }

    static handle from_cpp(const std::string& value, rv_policy, cleanup_list*) noexcept {
        return PyUnicode_DecodeFSDefaultAndSize(value.c_str(), static_cast<Py_ssize_t>(value.size()));
    }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
