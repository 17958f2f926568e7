"""Asks the tools of others about CITATION.cff and conda's recipe, in an environment that has requirements/recipes.txt.

cffconvert validates the citation by the format's schema; rattler-build renders the recipe for each of its variants.
"""

import subprocess
import sys
from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    cffconvert = Path(sys.executable).parent / "cffconvert"
    citation = subprocess.run([cffconvert, "--validate", "-i", ROOT / "CITATION.cff"], text=True, capture_output=True)
    print(citation.stdout + citation.stderr, end="")
    conda = ROOT / "packaging" / "conda"
    variants = VariantConfig.from_file(str(conda / "variants.yaml"))
    rendered = list(Stage0Recipe.from_file(str(conda / "recipe.yaml")).render(variants))
    expected = len(variants.combinations())
    for each in rendered:
        print(each)
    print(f"conda: {len(rendered)} of {expected} variants rendered")
    return int(citation.returncode != 0 or len(rendered) != expected)


if __name__ == "__main__":
    sys.exit(main())
