import type { v2 } from '@reeve/contract'
import {
  listMemberIds,
  policyFileName,
  type VisiblePolicy,
  type VisiblePolicySet,
} from '../../../governance/index.ts'
import type {
  PolicyCodeRow,
  PolicySetParameterRow,
  PolicySetRow,
  PolicySetVersionRow,
} from '../../../model/index.ts'
import { scopedKey, type Tables } from '../../../state/index.ts'
import { resourcePath, formatTime, toMany, toOne, formatOptionalTime } from './links.ts'

export function policySetResource(tables: Tables, visible: VisiblePolicySet): v2.PolicySet {
  const { set, organization } = visible
  const members = (relation: Parameters<typeof listMemberIds>[2]): readonly string[] =>
    listMemberIds(tables, set.id, relation)
  const relationships = {
    organization: toOne('organizations', organization.name),
    policies: toMany('policies', members('policies')),
    'workspace-exclusions': toMany('workspaces', members('workspace-exclusions')),
    'project-exclusions': toMany('projects', members('project-exclusions')),
    'current-version': versionRelationship(set.currentVersionId),
    'newest-version': versionRelationship(set.newestVersionId),
  }
  const attached = {
    workspaces: toMany('workspaces', members('workspaces')),
    projects: toMany('projects', members('projects')),
    namespaces: toMany('namespaces', members('namespaces')),
  }
  return {
    id: set.id,
    type: 'policy-sets',
    attributes: {
      ...policySetAttributes(set),
      'policy-count': countPolicies(tables, set),
      'workspace-count': attached.workspaces.data.length,
      'project-count': attached.projects.data.length,
    },
    // A global set has no attachments.
    relationships: set.global ? relationships : { ...relationships, ...attached },
    links: { self: resourcePath('policy-sets', set.id) },
  }
}

function policySetAttributes(set: PolicySetRow) {
  return {
    name: set.name,
    description: set.description,
    global: set.global,
    kind: set.kind,
    overridable: set.overridable,
    'agent-enabled': set.agentEnabled,
    'policy-tool-version': set.policyToolVersion,
    versioned: set.currentVersionId !== null,
    'policies-path': set.policiesPath,
    'policy-update-patterns': [...set.policyUpdatePatterns],
    'tag-selectors': [...set.tagSelectors],
    'scoping-type': set.scopingType,
    'created-at': formatTime(set.createdMs),
    'updated-at': formatTime(set.updatedMs),
  }
}

/** Counts the policies of the current version, or the member records. */
function countPolicies(tables: Tables, { id, currentVersionId }: PolicySetRow): number {
  if (currentVersionId === null) return listMemberIds(tables, id, 'policies').length
  return tables.policy_set_versions.get(currentVersionId).policies.length
}

function versionRelationship(id: string | null) {
  return id === null ? { data: null } : toOne('policy-set-versions', id)
}

export function policySetVersionResource(
  row: PolicySetVersionRow,
  /** Only in the response of create. */
  uploadUrl?: string,
): v2.PolicySetVersion {
  const { id, status } = row
  const self = resourcePath('policy-set-versions', id)
  const times = Object.entries(row.statusMs).map(([name, ms]) => [name, formatTime(ms)] as const)
  return {
    id,
    type: 'policy-set-versions',
    attributes: {
      source: 'api',
      status,
      'status-timestamps': Object.fromEntries(times),
      error: row.error,
      policies: row.policies.map(({ name, enforcementLevel }) => ({
        name,
        'enforcement-level': enforcementLevel,
      })),
      'created-at': formatTime(row.createdMs),
      'updated-at': formatTime(row.updatedMs),
    },
    relationships: { 'policy-set': toOne('policy-sets', row.policySetId) },
    links: { self, ...(uploadUrl !== undefined && { upload: uploadUrl }) },
  }
}

/** Returns a parameter. Sensitive values are never returned. */
export function parameterResource(row: PolicySetParameterRow): v2.PolicySetParameter {
  return {
    id: row.id,
    type: 'vars',
    attributes: {
      key: row.key,
      value: row.sensitive ? null : row.value,
      category: 'policy-set',
      sensitive: row.sensitive,
      'created-at': formatTime(row.createdMs),
    },
    relationships: { configurable: toOne('policy-sets', row.policySetId) },
    links: { self: resourcePath('policy-sets', row.policySetId, 'parameters', row.id) },
  }
}

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
