import type { StandardImportOptions } from '@reeve/native-policy'
import { Coverage, formatCoverage } from './coverage.ts'
import { runNativeTests } from './native.ts'
import {
  formatProblem,
  plural,
  POLICY_EXIT_CODES,
  type TestFilter,
  type TestResult,
  toJsonProblem,
  type ToolDiagnostic,
  type ToolTerminal,
} from './report.ts'
import { runRegoTests, type RegoTestOptions } from './rego.ts'
import { findTargets } from './targets.ts'

export interface TestRequest {
  readonly paths: readonly string[]
  /** Runs only tests whose name contains this text. */
  readonly only: string | undefined
  readonly withCoverage: boolean
  readonly isJson: boolean
  readonly settings: StandardImportOptions
  readonly rego: RegoTestOptions['options']
  readonly terminal: ToolTerminal
}

/** `reeve policy test`. */
export async function testPolicies(request: TestRequest): Promise<number> {
  const { only, settings, rego } = request
  const coverage = request.withCoverage ? new Coverage() : undefined
  const isWanted: TestFilter = ({ policy, name }) =>
    only === undefined || `${policy}/${name}`.includes(only)
  const targets = await findTargets(request.paths)
  if (!targets.ok) return reportProblems(request, targets.error)
  const results: TestResult[] = []
  for (const { policy, environment } of targets.value.native)
    results.push(...(await runNativeTests(policy, { settings, coverage, isWanted, environment })))
  if (targets.value.rego.length > 0) {
    const found = runRegoTests(targets.value.rego, { options: rego, coverage, isWanted })
    if (!found.ok) return reportProblems(request, found.error)
    results.push(...found.value)
  }
  return reportResults(request, results, coverage)
}

function reportProblems(
  { isJson, terminal }: TestRequest,
  problems: readonly ToolDiagnostic[],
): number {
  if (isJson) {
    const output = { passed: false, tests: [], problems: problems.map(toJsonProblem) }
    terminal.out(`${JSON.stringify(output)}\n`)
  } else terminal.err(`${problems.map(formatProblem).join('\n\n')}\n`)
  return POLICY_EXIT_CODES.fail
}

function reportResults(
  { isJson, terminal }: TestRequest,
  results: readonly TestResult[],
  coverage: Coverage | undefined,
): number {
  const failed = results.filter(({ status }) => status === 'failed' || status === 'errored')
  const code =
    failed.length === 0 && results.length > 0 ? POLICY_EXIT_CODES.pass : POLICY_EXIT_CODES.fail
  if (isJson) {
    const tests = results.map((result) => ({
      ...result,
      problems: result.problems.map(toJsonProblem),
    }))
    const output = { passed: code === POLICY_EXIT_CODES.pass, tests, coverage: coverage?.report() }
    terminal.out(`${JSON.stringify(output)}\n`)
    return code
  }
  for (const result of results) terminal.out(formatResult(result))
  for (const one of coverage?.report() ?? []) terminal.out(`${formatCoverage(one)}\n`)
  if (results.length === 0) terminal.err('There are no tests.\n')
  else terminal.out(`${summary(results)}\n`)
  return code
}

const STATUS_LABELS = { passed: 'PASS', failed: 'FAIL', errored: 'ERROR', skipped: 'SKIP' } as const

function formatResult({ policy, name, status, reasons, problems, printed }: TestResult): string {
  const lines = [`${STATUS_LABELS[status]}  ${policy}/${name}`]
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
