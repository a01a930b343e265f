import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJobFile, parseLegacyJobFile, type JobFileResult } from '../../src/jobspec/index.ts'
import { formatDiagnostic, type Diagnostic } from '@reeve/hcl'
import { canonicalizeJob } from '../../src/model/index.ts'
import { seededRandom } from '../build/ids.ts'
import { findStrayFiles, readCases, type ExpectedProblem, type JobCase } from './case-files.ts'
import { partOf, withoutNulls } from './compare.ts'

/**
 * Job files as people write them, each beside what they mean, written by
 * hand: `<name>.hcl` and `<name>.expected.json`, or `<name>.expected.txt` when it must be refused.
 */
const cases = readCases()

test('job file cases: there are many, and every area has some', () => {
  const areas = new Set(cases.map(({ name }) => name.split('/')[0]))
  assert.ok(cases.length > 120, `${cases.length} cases`)
  assert.ok(areas.size >= 12, [...areas].join(' '))
})

test('job file cases: every file says what is expected of it, and nothing else lies around', () => {
  const silent = cases.filter(({ expected, problems }) => (expected ?? problems) === undefined)
  const torn = cases.filter(({ expected, problems }) => expected !== undefined && problems)
  assert.deepEqual({ silent, torn, stray: findStrayFiles() }, { silent: [], torn: [], stray: [] })
})

for (const one of cases)
  test(`job file ${one.name}`, () => {
    const result = parseCase(one)
    if (one.problems === undefined) checkJob(result, one)
    else checkProblems(result, one.problems)
  })

function parseCase(one: JobCase): JobFileResult {
  const { text, variableTexts, flags, environment, strict } = one
  if (one.isLegacy) return parseLegacyJobFile({ file: 'input.hcl', text })
  return parseJobFile({
    file: 'input.hcl',
    text,
    variableTexts,
    flags,
    environment,
    strict,
    files: undefined,
    random: seededRandom(1),
  })
}

function checkJob(result: JobFileResult, { expected, canonical, warnings }: JobCase): void {
  assert.ok(result.ok, result.ok ? '' : describe(result.error))
  // What is sent is text: keys without a value and the kinds of numbers must not differ there.
  const sent: unknown = JSON.parse(JSON.stringify(result.value.job))
  assert.deepEqual(withoutNulls(sent), expected)
  checkFound(result.value.warnings, warnings)
  if (canonical === undefined) return
  const defaults = { region: 'global', namespace: 'default', nodePool: '' }
  const whole = canonicalizeJob(result.value.job, defaults)
  assert.deepEqual(partOf(whole, canonical), canonical)
}

function checkProblems(result: JobFileResult, expected: readonly ExpectedProblem[]): void {
  assert.ok(!result.ok, 'the file is accepted')
  const errors = result.error.filter(({ severity }) => severity === 'error')
  checkFound(errors, expected)
}

function checkFound(found: readonly Diagnostic[], expected: readonly ExpectedProblem[]): void {
  const missed = expected.filter((problem) => !found.some((one) => fits(one, problem)))
  const wanted = missed.map(({ written }) => written)
  assert.deepEqual(wanted, [], `not among what was found:\n${describe(found)}`)
}

function fits(found: Diagnostic, { line, column, part }: ExpectedProblem): boolean {
  const { start } = found.range
  const message = formatDiagnostic(found).toLowerCase()
  return (
    (line ?? start.line) === start.line &&
    (column ?? start.column) === start.column &&
    message.includes(part.toLowerCase())
  )
}

function describe(problems: readonly Diagnostic[]): string {
  return problems.map(formatDiagnostic).join('\n')
}
