# SPDX-License-Identifier: BSD-3-Clause
# Copy this to steppe/package.py of a Spack repository.
from spack.package import *


class Steppe(CMakePackage):
    """OpenSHMEM 1.6 over libfabric, with dynamic memory spaces: symmetric heaps that are made at
    run time on host, GPU and fabric-attached memory."""

    # No release yet: spack develop, or spack install after `spack dev-build`, of a source tree.
    license("BSD-3-Clause")
    version("0.1.0")
    has_code = True

    variant("fabric", default=True, description="PEs on several nodes, through libfabric")
    variant("bench", default=True, description="steppe-bench")
    variant("static", default=False, description="libsteppe.a too")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type=("build", "run"))
    depends_on("hwloc@2:")
    depends_on("libfabric@1.17:", when="+fabric")

    def cmake_args(self):
        return [
            self.define("BUILD_TESTING", False),
            self.define("STEPPE_EXAMPLES", False),
            self.define_from_variant("STEPPE_FABRIC", "fabric"),
            self.define_from_variant("STEPPE_BENCH", "bench"),
            self.define_from_variant("STEPPE_STATIC", "static"),
        ]
