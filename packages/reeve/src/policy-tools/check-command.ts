import { compileRego } from '@reeve/rego'
import { qualifyQuery } from '../policy/index.ts'
import type { TextFile } from './files.ts'
import {
  fileProblem,
  formatProblem,
  fromNative,
  fromRego,
  plural,
  POLICY_EXIT_CODES,
  toJsonProblem,
  type ToolDiagnostic,
  type ToolTerminal,
} from './report.ts'
import { compileInEnvironment } from './environment.ts'
import { findTargets, type NativeTarget, type Targets } from './targets.ts'

interface CheckRequest {
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
    const output = { valid: isValid, files: count, problems: problems.map(toJsonProblem) }
    terminal.out(`${JSON.stringify(output)}\n`)
  } else {
    for (const problem of problems) terminal.err(`${formatProblem(problem)}\n\n`)
    if (isValid) terminal.out(`The policies can be evaluated (${plural(count, 'file')}).\n`)
    else terminal.err(`${plural(problems.length, 'problem')}.\n`)
  }
  return isValid ? POLICY_EXIT_CODES.pass : POLICY_EXIT_CODES.fail
}

function checkNative({ policy, environment }: NativeTarget): readonly ToolDiagnostic[] {
  const compiled = compileInEnvironment(policy, environment)
  return compiled.ok
    ? compiled.value.warnings.map((problem) => fromNative(problem, 'warning'))
    : compiled.error.map((problem) => fromNative(problem))
}

function checkRego({ rego, queries }: Targets): readonly ToolDiagnostic[] {
  if (rego.length === 0) return []
  const texts = textsOf(rego)
  const compiled = compileRego({ modules: rego, version: 'detect' })
  if (!compiled.ok) return compiled.error.map((problem) => fromRego(problem, texts))
  return queries.flatMap(({ name, query }) => {
    const prepared = compiled.value.prepareDocument(qualifyQuery(query))
    return prepared.ok ? [] : [fileProblem(`query of "${name}"`, prepared.error.message)]
  })
}

export function textsOf(files: readonly TextFile[]): ReadonlyMap<string, string> {
  return new Map(files.map(({ file, text }) => [file, text]))
}
