import type { NamespaceCapability, NodePoolCapability } from '@reeve/contract'
import { NO_GRANTS } from '../../acl/index.ts'
import type { AccessRule } from './endpoint.ts'

/** Allows every caller, with or without a token; the use case filters the result. */
export const allowAll: AccessRule = () => true

/**
 * Allows any caller with a permission; which ones matter is decided for each part of the response.
 * The body of a caller without any is not even received.
 */
export const anyPermission: AccessRule = (caller) => caller.grants !== NO_GRANTS

export const management: AccessRule = (caller) => caller.grants.isManagement

/** Requires one of the capabilities in the request's namespace; with `*`, in any namespace. */
export function inNamespace(...capabilities: readonly NamespaceCapability[]): AccessRule {
  return (caller, { namespace }) =>
    capabilities.some((capability) =>
      namespace === '*'
        ? caller.grants.allowsInAnyNamespace(capability)
        : caller.grants.allows(namespace, capability),
    )
}

/**
 * Requires one of the capabilities in any namespace. For routes whose body names the namespace: the
 * use case checks that one, but a caller without any is rejected before the body is read.
 */
export function inAnyNamespace(...capabilities: readonly NamespaceCapability[]): AccessRule {
  return (caller) =>
    capabilities.some((capability) => caller.grants.allowsInAnyNamespace(capability))
}

/** Requires both rules. */
export function requireAll(first: AccessRule, second: AccessRule): AccessRule {
  return (caller, request) => first(caller, request) && second(caller, request)
}

export const nodeRead: AccessRule = (caller) => caller.grants.node('read')
export const nodeWrite: AccessRule = (caller) => caller.grants.node('write')
export const operatorRead: AccessRule = (caller) => caller.grants.operator('read')
export const operatorWrite: AccessRule = (caller) => caller.grants.operator('write')

/**
 * Requires the capability for any node pool. The path or the body names the pool, and the handler
 * checks that one.
 */
export function anyNodePool(capability: NodePoolCapability): AccessRule {
  return (caller) => caller.grants.allowsAnyNodePool(capability)
}
export const agentRead: AccessRule = (caller) => caller.grants.agent('read')
export const agentWrite: AccessRule = (caller) => caller.grants.agent('write')
