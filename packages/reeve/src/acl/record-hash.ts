import type { AclPolicyRecord, AclRole, AclToken, Namespace, NodePool } from '@reeve/contract'
import { blake2b256 } from '@reeve/kit/hash.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'

/**
 * Returns the `Hash` of a record: BLAKE2b-256 over its fields, concatenated without separators. It
 * only shows whether two copies are equal; it is not a security feature.
 */
function hashFields(parts: readonly string[]): string {
  return blake2b256(parts.join(''))
}

export function tokenHash(
  token: Pick<AclToken, 'Name' | 'Policies' | 'Roles' | 'Global'> & { readonly Type: string },
): string {
  return hashFields([
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
  return hashFields([policy.Name, policy.Description, policy.Rules, ...workload])
}

export function roleHash(role: Pick<AclRole, 'Name' | 'Description' | 'Policies'>): string {
  return hashFields([role.Name, role.Description, ...role.Policies.map((link) => link.Name)])
}

export function namespaceHash(
  namespace: Omit<Namespace, 'Hash' | 'CreateIndex' | 'ModifyIndex'>,
): string {
  const { Capabilities: uses, NodePoolConfiguration: pools } = namespace
  return hashFields([
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
  return hashFields([
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
