import { compileRego } from '@reeve/rego'
import { withData } from '../policy/index.ts'
import type { TextFile } from './files.ts'
import { fileProblem, formatProblem, fromNative, fromRego, toJsonProblem } from './problem.ts'
import type { ToolProblem } from './problem.ts'
import { compileIn } from './surroundings.ts'
import { findTargets, type NativeTarget, type Targets } from './targets.ts'
import { plural, TOOL_CODES, type ToolTerminal } from './terminal.ts'

export interface CheckRequest {
  readonly paths: readonly string[]
  readonly isJson: boolean
  readonly terminal: ToolTerminal
}

/** `reeve policy check`. */
export async function checkPolicies({ paths, isJson, terminal }: CheckRequest): Promise<number> {
  const targets = await findTargets(paths)
  const problems = targets.ok
    ? [...targets.value.native.flatMap(checkNative), ...checkRego(targets.value)]
    : targets.error
  const isValid = problems.every(({ severity }) => severity === 'warning')
  const count = targets.ok ? targets.value.native.length + targets.value.rego.length : 0
  if (isJson) {
    const answer = { valid: isValid, files: count, problems: problems.map(toJsonProblem) }
    terminal.out(`${JSON.stringify(answer)}\n`)
  } else {
    for (const problem of problems) terminal.err(`${formatProblem(problem)}\n\n`)
    if (isValid) terminal.out(`The policies can be evaluated (${plural(count, 'file')}).\n`)
    else terminal.err(`${plural(problems.length, 'problem')}.\n`)
  }
  return isValid ? TOOL_CODES.pass : TOOL_CODES.fail
}

function checkNative({ policy, base }: NativeTarget): readonly ToolProblem[] {
  const compiled = compileIn(policy, base)
  return compiled.ok
    ? compiled.value.warnings.map((problem) => fromNative(problem, 'warning'))
    : compiled.error.map((problem) => fromNative(problem))
}

function checkRego({ rego, queries }: Targets): readonly ToolProblem[] {
  if (rego.length === 0) return []
  const texts = textsOf(rego)
  const compiled = compileRego({ modules: rego, version: 'detect' })
  if (!compiled.ok) return compiled.error.map((problem) => fromRego(problem, texts))
  return queries.flatMap(({ name, query }) => {
    const asked = compiled.value.prepareDocument(withData(query))
    return asked.ok ? [] : [fileProblem(`query of "${name}"`, asked.error.message)]
  })
}

export function textsOf(files: readonly TextFile[]): ReadonlyMap<string, string> {
  return new Map(files.map(({ file, text }) => [file, text]))
}
