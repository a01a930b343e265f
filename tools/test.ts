/**
 * `npm test`: the static checks, the tests beside the code, then the tests of the whole product.
 * `npm test -- <path or name>`: only the test files whose path holds the text, or where there is
 * none, only the tests whose name matches it. A text with a slash, or that ends with `.ts`, is a
 * path. A failed test is never run again.
 */
import { runChecks } from './test/checks.ts'
import { formatTimes } from './test/test-files.ts'
import type { Results } from './test/reporter.ts'
import { findTests, PRODUCT_TESTS, runTests, UNIT_TESTS } from './test/run-tests.ts'

const filters = process.argv.slice(2).map((text) => text.replace(/^\.\//, ''))
const unmatched = filters.filter((text) => looksLikePath(text) && !isPath(text))
if (unmatched.length > 0) {
  for (const path of unmatched) console.error(`No test file matches ${path}`)
  process.exit(1)
}
const failedChecks = filters.length > 0 ? [] : await runChecks()
const runs = filters.length > 0 ? [await runSome(filters)] : await runAll()

const times = runs.flatMap((run) => run.times)
const sum = (name: 'passed' | 'failed' | 'skipped'): number =>
  runs.reduce((total, run) => total + run[name], 0)
const passed = sum('passed')
if (times.length > 1) console.log(`\n${formatTimes(times)}`)
if (sum('skipped') > 0) console.log(`\n${sum('skipped')} skipped`)
if (failedChecks.length > 0) console.log(`\nFailed checks: ${failedChecks.join(', ')}`)
// At the end, because a log that is cut short keeps its last lines.
const failures = runs.flatMap((run) => run.failures)
if (failures.length > 0) console.log(`\nFailures:\n\n${failures.join('\n\n')}`)
if (passed + sum('failed') === 0) console.log('\nNo tests ran.')
// A failed check counts as one failure, so that the line never contradicts the exit code.
const failed = sum('failed') + failedChecks.length
console.log(`\n${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0

async function runAll(): Promise<readonly Results[]> {
  console.log('\nTests beside the code')
  const unit = await runTests(findTests(UNIT_TESTS), { style: 'dots' })
  console.log('\nTests of the product')
  return [unit, await runTests(findTests(PRODUCT_TESTS))]
}

async function runSome(texts: readonly string[]): Promise<Results> {
  const all = allTests()
  const paths = texts.filter(isPath)
  const files = paths.length === 0 ? all : all.filter((file) => paths.some((p) => file.includes(p)))
  return await runTests(files, { names: texts.filter((text) => !isPath(text)) })
}

function allTests(): readonly string[] {
  return findTests([...UNIT_TESTS, ...PRODUCT_TESTS])
}

function isPath(text: string): boolean {
  return allTests().some((file) => file.includes(text))
}

function looksLikePath(text: string): boolean {
  return text.includes('/') || text.endsWith('.ts')
}
