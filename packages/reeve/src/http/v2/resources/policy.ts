import type { v2 } from '@reeve/contract'
import { policyFileName, type VisiblePolicy } from '../../../governance/index.ts'
import type { PolicyCodeRow } from '../../../model/index.ts'
import { scopedKey, type Tables } from '../../../state/index.ts'
import { formatOptionalTime, resourcePath, formatTime, toMany, toOne } from './links.ts'

export function policyResource(tables: Tables, visible: VisiblePolicy): v2.RunPolicy {
  const { links, ...rest } = createdPolicyResource(tables, visible)
  return {
    ...rest,
    links: { ...links, download: resourcePath('policies', visible.policy.id, 'download') },
  }
}

/** Returns a policy in the response of its creation, which has no download link. */
export function createdPolicyResource(tables: Tables, visible: VisiblePolicy): v2.CreatedRunPolicy {
  const { policy, organization } = visible
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
      enforce: [{ path: policyFileName(policy), mode: policy.enforcementLevel }],
      'policy-set-count': sets.length,
      'updated-at': formatOptionalTime(policy.updatedMs),
      'created-at': formatTime(policy.createdMs),
      'code-size': policy.code?.bytes ?? null,
      'code-sha256': policy.code?.sha256 ?? null,
      diagnostics: [...(policy.code?.diagnostics ?? [])],
    },
    relationships: {
      organization: toOne('organizations', organization.name),
      'policy-sets': toMany('policy-sets', sets),
    },
    links: {
      self: resourcePath('policies', policy.id),
      upload: resourcePath('policies', policy.id, 'upload'),
    },
  }
}

/** Returns the IDs of the sets that contain a policy. */
export function policySetsOf(tables: Tables, policyId: string): readonly string[] {
  return tables.policy_set_members
    .rowsByIndex('member', scopedKey('policies', policyId))
    .map(({ policySetId }) => policySetId)
}

export function policyVersionResource(row: PolicyCodeRow): v2.RunPolicyVersion {
  return {
    id: row.id,
    type: 'policy-versions',
    attributes: {
      'created-at': formatTime(row.createdMs),
      'code-size': row.bytes,
      'code-sha256': row.sha256,
    },
    relationships: {
      policy: toOne('policies', row.ownerId),
      'created-by': toOne('users', row.createdById),
    },
    links: { download: `${resourcePath('policies', row.ownerId, 'download')}?version=${row.id}` },
  }
}
