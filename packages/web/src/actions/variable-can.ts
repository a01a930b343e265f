import type { VariableLock } from '@reeve/contract'
import {
  hasSomeVariableCapability,
  hasVariableCapability,
  type AclPermissions,
  type VariableName,
} from '../session/rights.ts'
import { firstDisabledReason, type DisabledReason } from './verdict.ts'

interface VariableState extends VariableName {
  readonly lock: VariableLock | undefined
}
type VariableCheck = (variable: VariableState, rights: AclPermissions) => DisabledReason

const LOCKED_REASON = 'The variable is locked: only the holder of the lock can change it.'

/** Why an action on a variable is disabled. */
export const variableDisabledReason = {
  /** Requires `write` on the path. Only the holder of a lock can change a locked variable. */
  write: (variable, permissions) =>
    firstDisabledReason(
      requiresVariableCapability(variable, permissions, 'write'),
      variable.lock !== undefined && LOCKED_REASON,
    ),
  /** Requires `destroy` on the path. */
  destroy: (variable, permissions) =>
    firstDisabledReason(
      requiresVariableCapability(variable, permissions, 'destroy'),
      variable.lock !== undefined && LOCKED_REASON,
    ),
} as const satisfies Record<string, VariableCheck>

/** Why the token cannot create any variable; undefined if it can. */
export function createVariableDisabledReason(permissions: AclPermissions): DisabledReason {
  if (hasSomeVariableCapability(permissions, 'write')) return undefined
  return 'Your token lacks variables:write on every path.'
}

function requiresVariableCapability(
  name: VariableName,
  permissions: AclPermissions,
  capability: 'write' | 'destroy',
): DisabledReason {
  if (hasVariableCapability(permissions, name, capability)) return undefined
  const { namespace, path } = name
  return `Your token lacks variables:${capability} on "${path}" in the namespace "${namespace}".`
}
