import type { DiscoveryBlock, Input, WorkloadIdentity } from '@reeve/contract'
import { applyDefaults, isUnset, nonEmptyOr, stringsOrNull } from './unset.ts'

export function canonicalizeIdentity(
  input: Input<WorkloadIdentity> | null | undefined,
): WorkloadIdentity | null {
  if (isUnset(input)) return null
  return {
    Name: nonEmptyOr(input.Name, 'default'),
    Audience: stringsOrNull(input.Audience),
    ChangeMode: input.ChangeMode ?? '',
    ChangeSignal: (input.ChangeSignal ?? '').toUpperCase(),
    Env: input.Env ?? false,
    File: input.File ?? false,
    Filepath: input.Filepath ?? '',
    ServiceName: input.ServiceName ?? '',
    TTL: input.TTL ?? 0,
  }
}

export function canonicalizeDiscovery(
  input: Input<DiscoveryBlock> | null | undefined,
): DiscoveryBlock | null {
  if (isUnset(input)) return null
  return applyDefaults({ Namespace: '', Cluster: 'default', Partition: '' }, input)
}
