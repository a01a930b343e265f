import { errorAt, makeObject, quoteText, type ObjectValue } from '@reeve/hcl'
import { report } from '../findings.ts'
import { checkRule } from './rule.ts'
import {
  collectBody,
  collectEnvironment,
  collectFlags,
  UNDECLARED,
  type VariableCollector,
} from './source.ts'

import type { Body } from '@reeve/hcl'

/** Sources of values in ascending precedence. */
export interface VariableSources {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Additional prefixes of environment variables; the product's own prefix takes precedence. */
  readonly variablePrefixes: readonly string[]
  /** Variable files in order, the text of the request last. */
  readonly bodies: readonly Body[]
  readonly flags: Readonly<Record<string, string>>
}

export interface Variables {
  readonly values: ObjectValue
  /** Whether every variable has a value of its type; validation rules may still reject it. */
  readonly isComplete: boolean
}

/**
 * Resolves the value of every declared variable: default, environment, variable files, flags, in
 * ascending precedence. Reports unset and invalid values.
 */
export function resolveVariables(
  sources: VariableSources,
  options: Omit<VariableCollector, 'values'>,
): Variables {
  const collecting: VariableCollector = { ...options, values: new Map() }
  collectEnvironment(sources, collecting)
  for (const body of sources.bodies) collectBody(body, collecting)
  collectFlags(sources.flags, collecting)
  const values = makeObject(
    [...options.declarations.values()].flatMap((declaration) => {
      const given = collecting.values.get(declaration.name) ?? declaration.defaultValue
      if (given !== undefined) return [[declaration.name, given.value] as const]
      const { name, span } = declaration
      const detail = () =>
        `The variable ${quoteText(name)} has no default, so it must be set. Give it a default, or a value along with the file: ${name} = …`
      report(options.findings, () => errorAt(span, 'Unset variable', detail()))
      return []
    }),
  )
  const isComplete = options.findings.errors.every(({ summary }) => summary === UNDECLARED)
  // Validating a missing or invalid value would only repeat the error.
  if (isComplete) checkRules(collecting)
  return { values, isComplete }
}

function checkRules({ declarations, values, scope, findings }: VariableCollector): void {
  for (const { name, defaultValue, rules } of declarations.values()) {
    const given = values.get(name) ?? defaultValue
    if (given === undefined) continue
    for (const rule of rules) checkRule(rule, { name, given, scope, findings })
  }
}
