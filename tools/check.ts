/** `npm run check`: the static checks, in under two minutes, then the unit tests. */
import { runChecks } from './test/checks.ts'
import { formatSeconds } from './test/script.ts'
import { findTests, runTests, UNIT_TESTS } from './test/run-tests.ts'

const startedMs = performance.now()
const failed = [...(await runChecks())]
const unitMs = performance.now()
const counts = await runTests(findTests(UNIT_TESTS), { style: 'dots' })
if (counts.failed > 0 || counts.passed === 0) failed.push('unit tests')
const mark = failed.includes('unit tests') ? '✗' : '✓'
console.log(
  `${mark} unit tests   ${formatSeconds(unitMs)}  ${counts.passed} passed, ${counts.failed} failed`,
)
console.log(
  failed.length === 0
    ? `\nAll checks passed in ${formatSeconds(startedMs)}.`
    : `\nFailed: ${failed.join(', ')} (${formatSeconds(startedMs)}).`,
)
process.exitCode = failed.length === 0 ? 0 : 1
