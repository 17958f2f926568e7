// The known word that a misspelt one most likely stands for.
#pragma once

#include <string>

namespace spanfft {

// "; did you mean 'two_sweeps'?" for "two_sweep" and "local, pencil, two_sweeps"; "" where nothing known is near. What
// follows a colon in either ("kaiser:BETA", "overlap:4") is left out.
std::string did_you_mean(const std::string& word, const std::string& known);

}  // namespace spanfft
