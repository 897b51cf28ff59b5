// Removes what was built before, so that nothing of a module that is gone gets into the package, which needs the license.
import { copyFileSync, rmSync } from "node:fs";

for (const folder of ["src/generated", "dist", "build"]) rmSync(folder, { recursive: true, force: true });
copyFileSync("../../LICENSE", "LICENSE");
