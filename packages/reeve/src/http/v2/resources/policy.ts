import type { v2 } from '@reeve/contract'
import { policyFile, type SeenPolicy } from '../../../governance/index.ts'
import type { PolicyCodeRow } from '../../../model/index.ts'
import { scopedKey, type Tables } from '../../../state/index.ts'
import { optionalTime, pathOf, timeText, toMany, toOne } from './links.ts'

export function policyResource(tables: Tables, seen: SeenPolicy): v2.RunPolicy {
  const { links, ...rest } = createdPolicyResource(tables, seen)
  return { ...rest, links: { ...links, download: pathOf('policies', seen.policy.id, 'download') } }
}

/** The answer to create names no download. */
export function createdPolicyResource(tables: Tables, seen: SeenPolicy): v2.CreatedRunPolicy {
  const { policy, organization } = seen
  const sets = policySetsOf(tables, policy.id)
  return {
    id: policy.id,
    type: 'policies',
    attributes: {
      name: policy.name,
      description: policy.description,
      kind: policy.kind,
      query: policy.query,
      'enforcement-level': policy.enforcementLevel,
      // Always one entry, also before the first upload.
      enforce: [{ path: policyFile(policy), mode: policy.enforcementLevel }],
      'policy-set-count': sets.length,
      'updated-at': optionalTime(policy.updatedMs),
      'created-at': timeText(policy.createdMs),
      'code-size': policy.code?.bytes ?? null,
      'code-sha256': policy.code?.sha256 ?? null,
      diagnostics: [...(policy.code?.diagnostics ?? [])],
    },
    relationships: {
      organization: toOne('organizations', organization.name),
      'policy-sets': toMany('policy-sets', sets),
    },
    links: { self: pathOf('policies', policy.id), upload: pathOf('policies', policy.id, 'upload') },
  }
}

/** Ids of the sets that hold a policy. */
export function policySetsOf(tables: Tables, policyId: string): readonly string[] {
  return tables.policy_set_members
    .rowsIn('member', scopedKey('policies', policyId))
    .map(({ policySetId }) => policySetId)
}

export function policyVersionResource(row: PolicyCodeRow): v2.RunPolicyVersion {
  return {
    id: row.id,
    type: 'policy-versions',
    attributes: {
      'created-at': timeText(row.createdMs),
      'code-size': row.bytes,
      'code-sha256': row.sha256,
    },
    relationships: {
      policy: toOne('policies', row.ownerId),
      'created-by': toOne('users', row.createdById),
    },
    links: { download: `${pathOf('policies', row.ownerId, 'download')}?version=${row.id}` },
  }
}
