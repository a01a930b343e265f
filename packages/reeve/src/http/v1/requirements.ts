import type { NamespaceCapability } from '@reeve/contract'
import type { Requirement } from './endpoint.ts'

/** Anyone may call, with or without a token; the use case decides what it shows. */
export const anyone: Requirement = () => true

export const management: Requirement = (caller) => caller.grants.isManagement

/**
 * Any one of the capabilities in the request's namespace; with `*`, in any namespace (reference
 * §3.2).
 */
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

export const nodeRead: Requirement = (caller) => caller.grants.node('read')
export const agentRead: Requirement = (caller) => caller.grants.agent('read')
