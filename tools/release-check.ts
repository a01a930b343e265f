/**
 * `npm run release-check -- DIR`: the checks of a release that was built into DIR, each with its
 * result. Checks that this machine cannot run are skipped with a reason.
 */
import { resolve } from 'node:path'
import { build } from './release/checks/build.ts'
import type { Check, Outcome } from './release/checks/check.ts'
import { images } from './release/checks/images.ts'
import { npm } from './release/checks/npm.ts'
import { packages } from './release/checks/packages.ts'
import { tarball } from './release/checks/tarball.ts'
import { upgrade } from './release/checks/upgrade.ts'
import { openRelease } from './release/opened.ts'

/** The checks of a release, in the order of their numbers. */
const CHECKS: readonly Check[] = [...build, ...tarball, ...packages, ...images, ...npm, ...upgrade]

const [folder = 'dist', ...only] = process.argv.slice(2)
const release = await openRelease(resolve(folder))
let failed = 0
try {
  for (const { number, title, run } of CHECKS) {
    if (only.length > 0 && !only.includes(String(number))) continue
    const outcome = await runCheck(() => run(release))
    const sign = { passed: '✓', failed: '✗', skipped: '–' }[outcome.kind]
    if (outcome.kind === 'failed') failed += 1
    console.log(`${sign} ${String(number).padStart(2)} ${title}: ${outcome.message}`)
  }
} finally {
  release.close()
}
process.exitCode = failed === 0 ? 0 : 1

async function runCheck(run: () => Promise<Outcome> | Outcome): Promise<Outcome> {
  try {
    return await run()
  } catch (thrown) {
    return { kind: 'failed', message: thrown instanceof Error ? thrown.message : String(thrown) }
  }
}

// The checks of a release, in the order of their numbers.
