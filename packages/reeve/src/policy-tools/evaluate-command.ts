import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { parseExactJson, type JsonValue, type StandardImportOptions } from '@reeve/native-policy'
import { policyDocument } from '../policy/index.ts'
import {
  type EvaluationReport,
  fileProblem,
  formatProblem,
  POLICY_EXIT_CODES,
  stringifyExact,
  toJsonProblem,
  type ToolDiagnostic,
  type ToolTerminal,
} from './report.ts'
import { evaluateNative } from './native.ts'
import { evaluateRego, type RegoTestOptions } from './rego.ts'
import { readText } from './files.ts'
import { findTargets } from './targets.ts'

export interface EvaluateRequest {
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
