import type { Node, VariableLock } from '@reeve/contract'
import {
  hasPoolCapability,
  hasSomePoolCapability,
  type AclPermissions,
  hasSomeVariableCapability,
  hasVariableCapability,
  type VariableName,
} from '../session/acl-permissions.ts'
import {
  firstDisabledReason,
  requiresClusterPolicy,
  type DisabledReason,
  requiresCapability,
  requiresManagementToken,
} from './disabled-reason.ts'

type NodeState = Pick<Node, 'Status' | 'Drain' | 'SchedulingEligibility'>
type NodeCheck = (node: NodeState, rights: AclPermissions) => DisabledReason

/** Why an action on the node is disabled, by its state or for this token. */
export const nodeDisabledReason = {
  /** Drain, or change the deadline of the current drain. */
  drain: (node, permissions) =>
    firstDisabledReason(
      node.Status === 'down' && 'The node is down: its allocations are already replaced.',
      requiresClusterPolicy(permissions, 'Node', 'write'),
    ),
  /** Drain without `DrainSpec`. */
  endDrain: (node, permissions) =>
    firstDisabledReason(
      !node.Drain && 'The node is not draining.',
      requiresClusterPolicy(permissions, 'Node', 'write'),
    ),
  /** Eligibility: refused while the node drains. */
  changeEligibility: (node, permissions) =>
    firstDisabledReason(
      node.Drain && 'The node is draining: stop the drain first.',
      requiresClusterPolicy(permissions, 'Node', 'write'),
    ),
  /** Purge. A live node would register again at once. */
  purge: (node, permissions) =>
    firstDisabledReason(
      node.Status !== 'down' &&
        `The node is ${node.Status}: only nodes that are down can be purged.`,
      requiresClusterPolicy(permissions, 'Node', 'write'),
    ),
  /** Evaluate. */
  evaluate: (_node, permissions) => requiresClusterPolicy(permissions, 'Node', 'write'),
} as const satisfies Record<string, NodeCheck>

/** Node pools that cannot be changed or deleted. */
const BUILT_IN_POOLS: readonly string[] = ['all', 'default']

type NodePoolCheck = (pool: string, rights: AclPermissions) => DisabledReason

/** Why an action on a node pool is disabled. */
export const nodePoolDisabledReason = {
  /** Create and update. */
  write: (pool, permissions) =>
    firstDisabledReason(builtInReason(pool), requiresPoolCapability(pool, permissions, 'write')),
  /** Delete. The server rejects a pool that has nodes or live jobs. */
  destroy: (pool, permissions) =>
    firstDisabledReason(builtInReason(pool), requiresPoolCapability(pool, permissions, 'delete')),
} as const satisfies Record<string, NodePoolCheck>

/** Why the token cannot create any node pool; undefined if it can. */
export function createPoolDisabledReason(permissions: AclPermissions): DisabledReason {
  if (hasSomePoolCapability(permissions, 'write')) return undefined
  return 'Your token lacks node_pool:write on every pool.'
}

function builtInReason(pool: string): DisabledReason {
  return BUILT_IN_POOLS.includes(pool) ? 'Built-in pools cannot be changed.' : undefined
}

function requiresPoolCapability(
  pool: string,
  permissions: AclPermissions,
  capability: 'write' | 'delete',
): DisabledReason {
  if (hasPoolCapability(permissions, pool, capability)) return undefined
  return `Your token lacks node_pool:${capability} on "${pool}".`
}

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

/** Why an action on tokens, ACL policies, roles or namespaces is disabled. */
export const accessDisabledReason = {
  write: (permissions: AclPermissions): DisabledReason => requiresManagementToken(permissions),
  /** Create and update. */
  writeNamespace: (permissions: AclPermissions): DisabledReason =>
    requiresManagementToken(permissions),
  /** Delete. */
  deleteNamespace: (name: string, permissions: AclPermissions): DisabledReason =>
    firstDisabledReason(
      name === 'default' && 'The namespace "default" cannot be deleted.',
      requiresManagementToken(permissions),
    ),
  /** Delete a stale registration of a service. */
  deleteRegistration: (namespace: string, permissions: AclPermissions): DisabledReason =>
    requiresCapability(permissions, namespace, 'submit-job', 'delete-service-registration'),
} as const
