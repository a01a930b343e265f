/**
 * `npm run release-check -- DIR`: the checks of a release that was built into DIR, each with its
 * result. Checks that this machine cannot run are skipped with a reason.
 */
import { resolve } from 'node:path'
import { CHECKS } from './release/checks.ts'
import type { Outcome } from './release/checks/check.ts'
import { openRelease } from './release/opened.ts'

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
