import type { AclPolicyRecord, AclRole, AclToken, Namespace, NodePool } from '@reeve/contract'
import { blake2b256 } from '@reeve/kit/hash.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'

/**
 * `Hash` of a record: BLAKE2b-256 over its own fields, concatenated without separators. It tells
 * whether two copies are equal; nothing trusts it.
 */
function hashOf(parts: readonly string[]): string {
  return blake2b256(parts.join(''))
}

export function tokenHash(
  token: Pick<AclToken, 'Name' | 'Policies' | 'Roles' | 'Global'> & { readonly Type: string },
): string {
  return hashOf([
    token.Name,
    token.Type,
    ...(token.Policies ?? []),
    token.Global ? 'global' : 'local',
    ...(token.Roles ?? []).map((role) => role.ID),
  ])
}

export function policyHash(
  policy: Pick<AclPolicyRecord, 'Name' | 'Description' | 'Rules' | 'JobACL'>,
): string {
  const { JobACL: job } = policy
  const workload = job === null ? [] : [job.Namespace, job.JobID, job.Group, job.Task]
  return hashOf([policy.Name, policy.Description, policy.Rules, ...workload])
}

export function roleHash(role: Pick<AclRole, 'Name' | 'Description' | 'Policies'>): string {
  return hashOf([role.Name, role.Description, ...role.Policies.map((link) => link.Name)])
}

export function namespaceHash(
  namespace: Omit<Namespace, 'Hash' | 'CreateIndex' | 'ModifyIndex'>,
): string {
  const { Capabilities: uses, NodePoolConfiguration: pools } = namespace
  return hashOf([
    namespace.Name,
    namespace.Description,
    namespace.Quota,
    ...(uses?.EnabledTaskDrivers ?? []),
    ...(uses?.DisabledTaskDrivers ?? []),
    ...(uses?.EnabledNetworkModes ?? []),
    ...(uses?.DisabledNetworkModes ?? []),
    pools?.Default ?? '',
    ...(pools?.Allowed ?? []),
    ...(pools?.Denied ?? []),
    ...metaParts(namespace.Meta),
  ])
}

export function nodePoolHash(pool: Omit<NodePool, 'Hash' | 'CreateIndex' | 'ModifyIndex'>): string {
  const { SchedulerConfiguration: scheduler } = pool
  return hashOf([
    pool.Name,
    pool.Description,
    scheduler?.SchedulerAlgorithm ?? '',
    String(scheduler?.MemoryOversubscriptionEnabled ?? ''),
    ...metaParts(pool.Meta),
  ])
}

function metaParts(meta: Readonly<Record<string, string>> | null): readonly string[] {
  return Object.entries(meta ?? {})
    .toSorted(([a], [b]) => compareText(a, b))
    .flat()
}
