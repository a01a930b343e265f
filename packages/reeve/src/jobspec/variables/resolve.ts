import { errorAt, makeObject, quoteText, type ObjectValue } from '@reeve/hcl'
import { note } from '../findings.ts'
import { checkRule } from './rule.ts'
import {
  collectBody,
  collectEnvironment,
  collectFlags,
  UNDECLARED,
  type Collecting,
} from './source.ts'

import type { Body } from '@reeve/hcl'

/** Where values come from, weakest first. */
export interface VariableSources {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Variable files in the order given, the text that came with the request last. */
  readonly bodies: readonly Body[]
  readonly flags: Readonly<Record<string, string>>
}

export interface Variables {
  readonly values: ObjectValue
  /** Every variable has a fitting value, though a rule may refuse it. */
  readonly isComplete: boolean
}

/**
 * The value of every declared variable: default, environment, variable files, flags; a later one
 * wins. What is unset, unfit or refused by a rule is noted.
 */
export function resolveVariables(
  sources: VariableSources,
  options: Omit<Collecting, 'values'>,
): Variables {
  const collecting: Collecting = { ...options, values: new Map() }
  collectEnvironment(sources.environment, collecting)
  for (const body of sources.bodies) collectBody(body, collecting)
  collectFlags(sources.flags, collecting)
  const values = makeObject(
    [...options.declarations.values()].flatMap((declaration) => {
      const given = collecting.values.get(declaration.name) ?? declaration.fallback
      if (given !== undefined) return [[declaration.name, given.value] as const]
      const { name, span } = declaration
      const detail = () =>
        `The variable ${quoteText(name)} has no default, so it must be set. Give it a default, or a value along with the file: ${name} = …`
      note(options.findings, () => errorAt(span, 'Unset variable', detail()))
      return []
    }),
  )
  const isComplete = options.findings.errors.every(({ summary }) => summary === UNDECLARED)
  // A rule about a value that is wrong or missing would only repeat it.
  if (isComplete) checkRules(collecting)
  return { values, isComplete }
}

function checkRules({ declarations, values, scope, findings }: Collecting): void {
  for (const { name, fallback, rules } of declarations.values()) {
    const given = values.get(name) ?? fallback
    if (given === undefined) continue
    for (const rule of rules) checkRule(rule, { name, given, scope, findings })
  }
}
