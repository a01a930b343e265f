import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { parseExactJson, type JsonValue, type StandardImportOptions } from '@reeve/native-policy'
import { policyDocument } from '../policy/index.ts'
import type { Answer } from './answer.ts'
import { evaluateNative } from './evaluate-native.ts'
import { evaluateRego } from './evaluate-rego.ts'
import { exactJson } from './exact-json.ts'
import { readText } from './files.ts'
import { fileProblem, formatProblem, toJsonProblem, type ToolProblem } from './problem.ts'
import type { RegoTesting } from './rego-tests.ts'
import { findTargets } from './targets.ts'
import { TOOL_CODES, type ToolTerminal } from './terminal.ts'

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
  readonly rego: RegoTesting['options']
  readonly terminal: ToolTerminal
}

/** `reeve policy eval`. */
export async function evaluatePolicies(request: EvaluateRequest): Promise<number> {
  const answers = await answersOf(request)
  if (!answers.ok) {
    const { isJson, terminal } = request
    const problems = answers.error
    if (isJson) terminal.out(`${JSON.stringify({ problems: problems.map(toJsonProblem) })}\n`)
    else terminal.err(`${problems.map(formatProblem).join('\n\n')}\n`)
    return TOOL_CODES.refused
  }
  return told(request, answers.value)
}

async function answersOf(
  request: EvaluateRequest,
): Promise<Result<readonly Answer[], readonly ToolProblem[]>> {
  const targets = await findTargets(request.paths)
  if (!targets.ok) return targets
  const input = await readInput(request.input)
  if (!input.ok) return err([input.error])
  const { settings, query } = request
  const params = new Map(request.params.map(paramOf))
  const answers = targets.value.native.map(({ policy, base }) =>
    evaluateNative(policy, {
      surroundings: { ...base, params: new Map([...base.params, ...params]) },
      input: input.value,
      settings,
    }),
  )
  if (targets.value.rego.length > 0)
    answers.push(
      ...evaluateRego(targets.value, { query, input: input.value, params, options: request.rego }),
    )
  return ok(answers)
}

async function readInput(file: string | undefined): Promise<Result<JsonValue, ToolProblem>> {
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

function paramOf(text: string): readonly [string, JsonValue] {
  const at = text.indexOf('=')
  const [name, value] = at < 0 ? [text, 'true'] : [text.slice(0, at), text.slice(at + 1)]
  try {
    return [name, parseExactJson(value)]
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return [name, value]
    throw thrown
  }
}

function told({ isJson, terminal }: EvaluateRequest, answers: readonly Answer[]): number {
  const code = Math.max(...answers.map(({ outcome }) => TOOL_CODES[outcome]))
  if (isJson) {
    const policies = answers.map(({ policy, outcome, problems, printed, trace }) => ({
      policy,
      result: outcome === 'pass',
      outcome,
      print: printed,
      problems: problems.map(toJsonProblem),
      trace,
    }))
    const result = code === TOOL_CODES.pass
    terminal.out(`${exactJson({ result, policies })}\n`)
    return code
  }
  for (const { policy, outcome, lines, problems, printed } of answers) {
    if (printed !== '') terminal.out(printed)
    terminal.out(`${policy}: ${outcome}\n`)
    for (const line of lines) terminal.out(`  ${line}\n`)
    for (const problem of problems) terminal.err(`${formatProblem(problem)}\n`)
  }
  return code
}
