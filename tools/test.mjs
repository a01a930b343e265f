/**
 * `npm test`: the static checks, the tests beside the code, then the tests of the whole product.
 * `npm test -- <path or name>`: only the test files whose path holds the text, or where there is
 * none, only the tests whose name matches it.
 */
import { runChecks } from './run/checks.mjs'
import { formatTimes } from './run/file-times.mjs'
import { addCounts, API_TESTS, findTests, runTests, UNIT_TESTS } from './run/tests.mjs'

const filters = process.argv.slice(2)
const { counts, failedChecks } = filters.length > 0 ? await runSome(filters) : await runAll()

if (counts.times?.length > 1) console.log(`\n${formatTimes(counts.times)}`)
if (counts.skipped > 0) console.log(`\n${counts.skipped} skipped`)
// A file that fails now and then is a fault of its own: it must be seen, also in a green run.
if (counts.again.length > 0) console.log(`\nRun a second time: ${counts.again.join(', ')}`)
if (failedChecks.length > 0) console.log(`\nFailed checks: ${failedChecks.join(', ')}`)
if (counts.passed + counts.failed === 0) console.log('\nNo tests ran.')
// A failed check counts as one failure, so that the line never contradicts the exit code.
const failed = counts.failed + failedChecks.length
console.log(`\n${counts.passed} passed, ${failed} failed`)
process.exitCode = failed > 0 || counts.passed === 0 ? 1 : 0

async function runAll() {
  const broken = await runChecks()
  console.log('\nTests beside the code')
  const unit = await runTests(findTests(UNIT_TESTS), { style: 'dots' })
  console.log('\nTests of the product')
  const api = await runTests(findTests(API_TESTS))
  return { counts: addCounts(unit, api), failedChecks: broken }
}

async function runSome(texts) {
  const all = findTests([...UNIT_TESTS, ...API_TESTS])
  const isPath = (text) => all.some((file) => file.includes(text.replace(/^\.\//, '')))
  const paths = texts.filter(isPath).map((text) => text.replace(/^\.\//, ''))
  const files = paths.length === 0 ? all : all.filter((file) => paths.some((p) => file.includes(p)))
  const names = texts.filter((text) => !isPath(text))
  return { counts: await runTests(files, { names }), failedChecks: [] }
}
