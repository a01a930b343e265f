import type { v2 } from '@reeve/contract'
import { setMembers, type SeenPolicySet } from '../../../governance/index.ts'
import type {
  PolicySetParameterRow,
  PolicySetRow,
  PolicySetVersionRow,
} from '../../../model/index.ts'
import type { Tables } from '../../../state/index.ts'
import { pathOf, timeText, toMany, toOne } from './links.ts'

export function policySetResource(tables: Tables, seen: SeenPolicySet): v2.PolicySet {
  const { set, organization } = seen
  const members = (relation: Parameters<typeof setMembers>[2]): readonly string[] =>
    setMembers(tables, set.id, relation)
  const relationships = {
    organization: toOne('organizations', organization.name),
    policies: toMany('policies', members('policies')),
    'workspace-exclusions': toMany('workspaces', members('workspace-exclusions')),
    'project-exclusions': toMany('projects', members('project-exclusions')),
    'current-version': version(set.currentVersionId),
    'newest-version': version(set.newestVersionId),
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
      ...attributesOf(set),
      'policy-count': countPolicies(tables, set),
      'workspace-count': attached.workspaces.data.length,
      'project-count': attached.projects.data.length,
    },
    // A global set has no attachments.
    relationships: set.global ? relationships : { ...relationships, ...attached },
    links: { self: pathOf('policy-sets', set.id) },
  }
}

function attributesOf(set: PolicySetRow) {
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
    'created-at': timeText(set.createdMs),
    'updated-at': timeText(set.updatedMs),
  }
}

/** Counts the policies of the current version, or the member records. */
function countPolicies(tables: Tables, { id, currentVersionId }: PolicySetRow): number {
  if (currentVersionId === null) return setMembers(tables, id, 'policies').length
  return tables.policy_set_versions.get(currentVersionId).policies.length
}

function version(id: string | null) {
  return id === null ? { data: null } : toOne('policy-set-versions', id)
}

export function policySetVersionResource(
  row: PolicySetVersionRow,
  /** Only in the response of create. */
  uploadUrl?: string,
): v2.PolicySetVersion {
  const { id, status } = row
  const self = pathOf('policy-set-versions', id)
  const times = Object.entries(row.statusMs).map(([name, ms]) => [name, timeText(ms)] as const)
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
      'created-at': timeText(row.createdMs),
      'updated-at': timeText(row.updatedMs),
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
      'created-at': timeText(row.createdMs),
    },
    relationships: { configurable: toOne('policy-sets', row.policySetId) },
    links: { self: pathOf('policy-sets', row.policySetId, 'parameters', row.id) },
  }
}
