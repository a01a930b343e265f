/** The checks of a release, in the order of their numbers. */
import { build } from './checks/build.ts'
import type { Check } from './checks/check.ts'
import { images } from './checks/images.ts'
import { npm } from './checks/npm.ts'
import { packages } from './checks/packages.ts'
import { tarball } from './checks/tarball.ts'
import { upgrade } from './checks/upgrade.ts'

export const CHECKS: readonly Check[] = [
  ...build,
  ...tarball,
  ...packages,
  ...images,
  ...npm,
  ...upgrade,
]
