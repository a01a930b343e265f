import { writeFile } from 'node:fs/promises'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  formatNative,
  type JsonValue,
  parseExactJson,
  type StandardImportOptions,
} from '@reeve/native-policy'
import { formatRego } from '@reeve/rego'
import { policyDocument } from '../policy/index.ts'
import { Coverage, formatCoverage } from './coverage.ts'
import { findFiles, isDirectory, readText } from './files.ts'
import { evaluateNative, runNativeTests } from './native.ts'
import {
  type EvaluationReport,
  fileProblem,
  formatProblem,
  fromNative,
  fromRego,
  plural,
  POLICY_EXIT_CODES,
  stringifyExact,
  type TestFilter,
  type TestResult,
  toJsonProblem,
  type ToolDiagnostic,
  type ToolTerminal,
} from './report.ts'
import { runRegoTests, type RegoTestOptions, evaluateRego } from './rego.ts'
import { findTargets } from './targets.ts'

interface TestRequest {
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

interface FormatRequest {
  readonly paths: readonly string[]
  /** Lists unformatted files without changing them. */
  readonly isCheckOnly: boolean
  readonly terminal: ToolTerminal
}

/** `reeve policy fmt`: formats policies of both languages, by file suffix. */
export async function formatPolicies(request: FormatRequest): Promise<number> {
  const { isCheckOnly, terminal } = request
  const problems: ToolDiagnostic[] = []
  let changed = 0
  for (const file of await listFiles(request.paths)) {
    const text = await readText(file)
    if (!text.ok) {
      problems.push(text.error)
      continue
    }
    const formatted = formatText(file, text.value)
    if (!formatted.ok) problems.push(formatted.error)
    else if (formatted.value !== text.value) {
      changed++
      terminal.out(`${file}\n`)
      if (!isCheckOnly) await writeFile(file, formatted.value)
    }
  }
  for (const problem of problems) terminal.err(`${formatProblem(problem)}\n`)
  return problems.length > 0 || (isCheckOnly && changed > 0)
    ? POLICY_EXIT_CODES.fail
    : POLICY_EXIT_CODES.pass
}

const NATIVE_SUFFIX = '.native'
const REGO_SUFFIX = '.rego'

function formatText(file: string, text: string): Result<string, ToolDiagnostic> {
  if (!file.endsWith(REGO_SUFFIX)) {
    const native = formatNative(file, text)
    return native.ok ? native : err(fromNative(native.error))
  }
  const rego = formatRego(file, text)
  return rego.ok ? ok(rego.value) : err(fromRego(rego.error, new Map([[file, text]])))
}

async function listFiles(paths: readonly string[]): Promise<readonly string[]> {
  const files: string[] = []
  for (const path of paths)
    if (!(await isDirectory(path))) files.push(path)
    else
      for (const suffix of [NATIVE_SUFFIX, REGO_SUFFIX])
        files.push(...(await findFiles(path, suffix)))
  return files
}

interface EvaluateRequest {
  readonly paths: readonly string[]
  /** JSON file with the input of the policies. */
  readonly input: string | undefined
  /** Query of `opa` policies. */
  readonly query: string | undefined
  /** `name=value` each; a value that is not JSON is a string. */
  readonly params: readonly string[]
  readonly isJson: boolean
  readonly settings: StandardImportOptions
  readonly rego: RegoTestOptions['options']
  readonly terminal: ToolTerminal
}

/** `reeve policy eval`. */
export async function evaluatePolicies(request: EvaluateRequest): Promise<number> {
  const reports = await evaluateTargets(request)
  if (!reports.ok) {
    const { isJson, terminal } = request
    const problems = reports.error
    if (isJson) terminal.out(`${JSON.stringify({ problems: problems.map(toJsonProblem) })}\n`)
    else terminal.err(`${problems.map(formatProblem).join('\n\n')}\n`)
    return POLICY_EXIT_CODES.refused
  }
  return printReports(request, reports.value)
}

async function evaluateTargets(
  request: EvaluateRequest,
): Promise<Result<readonly EvaluationReport[], readonly ToolDiagnostic[]>> {
  const targets = await findTargets(request.paths)
  if (!targets.ok) return targets
  const input = await readInput(request.input)
  if (!input.ok) return err([input.error])
  const { settings, query } = request
  const params = new Map(request.params.map(parseParam))
  const reports = targets.value.native.map(({ policy, environment }) =>
    evaluateNative(policy, {
      environment: { ...environment, params: new Map([...environment.params, ...params]) },
      input: input.value,
      settings,
    }),
  )
  if (targets.value.rego.length > 0)
    reports.push(
      ...evaluateRego(targets.value, { query, input: input.value, params, options: request.rego }),
    )
  return ok(reports)
}

async function readInput(file: string | undefined): Promise<Result<JsonValue, ToolDiagnostic>> {
  if (file === undefined) return ok(undefined)
  const text = await readText(file)
  if (!text.ok) return text
  try {
    const document = policyDocument(parseExactJson(text.value))
    return document.ok ? document : err(fileProblem(file, `${document.error}.`))
  } catch (thrown) {
    return err(fileProblem(file, `It is no JSON: ${errorMessage(thrown)}.`))
  }
}

function parseParam(text: string): readonly [string, JsonValue] {
  const index = text.indexOf('=')
  const [name, value] = index < 0 ? [text, 'true'] : [text.slice(0, index), text.slice(index + 1)]
  try {
    return [name, parseExactJson(value)]
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return [name, value]
    throw thrown
  }
}

function printReports(
  { isJson, terminal }: EvaluateRequest,
  reports: readonly EvaluationReport[],
): number {
  const code = Math.max(...reports.map(({ outcome }) => POLICY_EXIT_CODES[outcome]))
  if (isJson) {
    const policies = reports.map(({ policy, outcome, problems, printed, trace }) => ({
      policy,
      result: outcome === 'pass',
      outcome,
      print: printed,
      problems: problems.map(toJsonProblem),
      trace,
    }))
    const result = code === POLICY_EXIT_CODES.pass
    terminal.out(`${stringifyExact({ result, policies })}\n`)
    return code
  }
  for (const { policy, outcome, lines, problems, printed } of reports) {
    if (printed !== '') terminal.out(printed)
    terminal.out(`${policy}: ${outcome}\n`)
    for (const line of lines) terminal.out(`  ${line}\n`)
    for (const problem of problems) terminal.err(`${formatProblem(problem)}\n`)
  }
  return code
}
