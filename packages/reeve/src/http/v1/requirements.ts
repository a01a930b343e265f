import type { NamespaceCapability, NodePoolCapability } from '@reeve/contract'
import { NOTHING } from '../../acl/index.ts'
import type { Requirement } from './endpoint.ts'

/** Allows every caller, with or without a token; the use case filters the result. */
export const anyone: Requirement = () => true

/**
 * Allows any caller with a permission; which ones matter is decided for each part of the response.
 * The body of a caller without any is not even received.
 */
export const anyRight: Requirement = (caller) => caller.grants !== NOTHING

export const management: Requirement = (caller) => caller.grants.isManagement

/** Requires one of the capabilities in the request's namespace; with `*`, in any namespace. */
export function inNamespace(...capabilities: readonly NamespaceCapability[]): Requirement {
  return (caller, { namespace }) =>
    capabilities.some((capability) =>
      namespace === '*'
        ? caller.grants.allowsSomewhere(capability)
        : caller.grants.allows(namespace, capability),
    )
}

/**
 * Requires one of the capabilities in any namespace. For routes whose body names the namespace: the
 * use case checks that one, but a caller without any is rejected before the body is read.
 */
export function somewhere(...capabilities: readonly NamespaceCapability[]): Requirement {
  return (caller) => capabilities.some((capability) => caller.grants.allowsSomewhere(capability))
}

/** Requires both. */
export function both(first: Requirement, second: Requirement): Requirement {
  return (caller, request) => first(caller, request) && second(caller, request)
}

export const nodeRead: Requirement = (caller) => caller.grants.node('read')
export const nodeWrite: Requirement = (caller) => caller.grants.node('write')
export const operatorRead: Requirement = (caller) => caller.grants.operator('read')
export const operatorWrite: Requirement = (caller) => caller.grants.operator('write')

/**
 * Requires the capability for any node pool. The path or the body names the pool, and the handler
 * checks that one.
 */
export function somePool(capability: NodePoolCapability): Requirement {
  return (caller) => caller.grants.nodePoolSomewhere(capability)
}
export const agentRead: Requirement = (caller) => caller.grants.agent('read')
export const agentWrite: Requirement = (caller) => caller.grants.agent('write')
