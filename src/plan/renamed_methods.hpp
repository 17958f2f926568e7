// Names that methods had in earlier versions, for what was written then: commands that people have kept, and journals.
#pragma once

#include <string>

namespace spanfft {

// "two_sweeps" for "two_pass"; "" for a name that never changed.
std::string name_now(const std::string& method);

// A problem string that may be an earlier version's, with today's name of its method.
std::string with_name_now(const std::string& problem);

}  // namespace spanfft
