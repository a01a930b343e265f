import type { VariableLock } from '@reeve/contract'
import {
  mayOnSomeVariable,
  mayOnVariable,
  type Rights,
  type VariableName,
} from '../session/rights.ts'
import { firstReason, type Verdict } from './verdict.ts'

interface VariableState extends VariableName {
  readonly lock: VariableLock | undefined
}
type VariableCan = (variable: VariableState, rights: Rights) => Verdict

const LOCKED = 'It is locked: only the holder of the lock can change it.'

/** What may be done with a variable. */
export const variableCan = {
  /** `write` on the path. A lock keeps everybody else out. */
  write: (variable, rights) =>
    firstReason(needsOn(variable, rights, 'write'), variable.lock !== undefined && LOCKED),
  /** `destroy` on the path. */
  destroy: (variable, rights) =>
    firstReason(needsOn(variable, rights, 'destroy'), variable.lock !== undefined && LOCKED),
} as const satisfies Record<string, VariableCan>

/** Whether there is a path at all that the token may write. */
export function mayMakeVariable(rights: Rights): Verdict {
  if (mayOnSomeVariable(rights, 'write')) return undefined
  return 'Your token lacks variables:write on every path.'
}

function needsOn(name: VariableName, rights: Rights, capability: 'write' | 'destroy'): Verdict {
  if (mayOnVariable(rights, name, capability)) return undefined
  const { namespace, path } = name
  return `Your token lacks variables:${capability} on "${path}" in the namespace "${namespace}".`
}
