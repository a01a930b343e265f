import type { StandardImportOptions } from '@reeve/native-policy'
import { Coverage, formatCoverage } from './coverage.ts'
import { testNative } from './native-tests.ts'
import { formatProblem, toJsonProblem, type ToolProblem } from './problem.ts'
import { testRego, type RegoTesting } from './rego-tests.ts'
import { findTargets } from './targets.ts'
import { plural, TOOL_CODES, type ToolTerminal } from './terminal.ts'
import type { TestChoice, TestResult } from './test-result.ts'

export interface TestRequest {
  readonly paths: readonly string[]
  /** Only tests whose name holds this. */
  readonly only: string | undefined
  readonly covers: boolean
  readonly isJson: boolean
  readonly settings: StandardImportOptions
  readonly rego: RegoTesting['options']
  readonly terminal: ToolTerminal
}

/** `reeve policy test`. */
export async function testPolicies(request: TestRequest): Promise<number> {
  const { only, settings, rego } = request
  const coverage = request.covers ? new Coverage() : undefined
  const isWanted: TestChoice = ({ policy, name }) =>
    only === undefined || `${policy}/${name}`.includes(only)
  const targets = await findTargets(request.paths)
  if (!targets.ok) return refused(request, targets.error)
  const results: TestResult[] = []
  for (const { policy, base } of targets.value.native)
    results.push(...(await testNative(policy, { settings, coverage, isWanted, base })))
  if (targets.value.rego.length > 0) {
    const found = testRego(targets.value.rego, { options: rego, coverage, isWanted })
    if (!found.ok) return refused(request, found.error)
    results.push(...found.value)
  }
  return reported(request, results, coverage)
}

function refused({ isJson, terminal }: TestRequest, problems: readonly ToolProblem[]): number {
  if (isJson) {
    const answer = { passed: false, tests: [], problems: problems.map(toJsonProblem) }
    terminal.out(`${JSON.stringify(answer)}\n`)
  } else terminal.err(`${problems.map(formatProblem).join('\n\n')}\n`)
  return TOOL_CODES.fail
}

function reported(
  { isJson, terminal }: TestRequest,
  results: readonly TestResult[],
  coverage: Coverage | undefined,
): number {
  const bad = results.filter(({ status }) => status === 'failed' || status === 'errored')
  const code = bad.length === 0 && results.length > 0 ? TOOL_CODES.pass : TOOL_CODES.fail
  if (isJson) {
    const tests = results.map((result) => ({
      ...result,
      problems: result.problems.map(toJsonProblem),
    }))
    const answer = { passed: code === TOOL_CODES.pass, tests, coverage: coverage?.report() }
    terminal.out(`${JSON.stringify(answer)}\n`)
    return code
  }
  for (const result of results) terminal.out(formatResult(result))
  for (const one of coverage?.report() ?? []) terminal.out(`${formatCoverage(one)}\n`)
  if (results.length === 0) terminal.err('There are no tests.\n')
  else terminal.out(`${summary(results)}\n`)
  return code
}

const MARKS = { passed: 'PASS', failed: 'FAIL', errored: 'ERROR', skipped: 'SKIP' } as const

function formatResult({ policy, name, status, reasons, problems, printed }: TestResult): string {
  const lines = [`${MARKS[status]}  ${policy}/${name}`]
  if (status === 'passed' || status === 'skipped') return `${lines.join('\n')}\n`
  lines.push(...reasons, ...problems.map(formatProblem))
  if (printed !== '') lines.push(`printed:\n${printed.trimEnd()}`)
  return `${lines.join('\n').replaceAll('\n', '\n      ')}\n`
}

function summary(results: readonly TestResult[]): string {
  const count = (wanted: TestResult['status']): number =>
    results.filter(({ status }) => status === wanted).length
  const skipped = count('skipped') === 0 ? '' : `, ${count('skipped')} skipped`
  const failed = count('failed') + count('errored')
  return `${plural(results.length, 'test')}: ${count('passed')} passed, ${failed} failed${skipped}`
}
