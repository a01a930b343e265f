import type { NamespaceCapability, NodePoolCapability } from '@reeve/contract'
import { NOTHING } from '../../acl/index.ts'
import type { Requirement } from './endpoint.ts'

/** Anyone may call, with or without a token; the use case decides what it shows. */
export const anyone: Requirement = () => true

/**
 * Any caller with some right; which ones matter is decided for each part of the answer. The body of
 * a caller without any is not even received.
 */
export const anyRight: Requirement = (caller) => caller.grants !== NOTHING

export const management: Requirement = (caller) => caller.grants.isManagement

/** Any one of the capabilities in the request's namespace; with `*`, in any namespace. */
export function inNamespace(...capabilities: readonly NamespaceCapability[]): Requirement {
  return (caller, { namespace }) =>
    capabilities.some((capability) =>
      namespace === '*'
        ? caller.grants.allowsSomewhere(capability)
        : caller.grants.allows(namespace, capability),
    )
}

/**
 * Any one of the capabilities in any namespace. For routes whose body names the namespace: the use
 * case asks again, but who may nowhere is refused before the body is looked at.
 */
export function somewhere(...capabilities: readonly NamespaceCapability[]): Requirement {
  return (caller) => capabilities.some((capability) => caller.grants.allowsSomewhere(capability))
}

/** Both of them. */
export function both(first: Requirement, second: Requirement): Requirement {
  return (caller, request) => first(caller, request) && second(caller, request)
}

export const nodeRead: Requirement = (caller) => caller.grants.node('read')
export const nodeWrite: Requirement = (caller) => caller.grants.node('write')
export const operatorRead: Requirement = (caller) => caller.grants.operator('read')
export const operatorWrite: Requirement = (caller) => caller.grants.operator('write')

/** For some pool; which one the path or the body says, and the handler asks again for that. */
export function somePool(capability: NodePoolCapability): Requirement {
  return (caller) => caller.grants.nodePoolSomewhere(capability)
}
export const agentRead: Requirement = (caller) => caller.grants.agent('read')
export const agentWrite: Requirement = (caller) => caller.grants.agent('write')
