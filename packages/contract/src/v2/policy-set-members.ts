import * as t from './json-api.ts'
import { add, remove, routes } from './define.ts'
import { NewTagSelector } from './policy-set.ts'

/**
 * Members of a policy set, and the workspaces, projects and namespaces that it applies to. Each
 * request changes single members.
 */

export const PolicySetPoliciesRequest = t.MembersRequestOf('PolicySetPoliciesRequest', 'policies')
export type PolicySetPoliciesRequest = t.Infer<typeof PolicySetPoliciesRequest>

export const PolicySetProjectsRequest = t.MembersRequestOf('PolicySetProjectsRequest', 'projects')

export const PolicySetWorkspacesRequest = t.MembersRequestOf(
  'PolicySetWorkspacesRequest',
  'workspaces',
)

/** Namespaces of the workload API, by name. Specific to this product. */
export const PolicySetNamespacesRequest = t.MembersRequestOf(
  'PolicySetNamespacesRequest',
  'namespaces',
)

/** Bare objects without `type`, unlike all other member lists. */
export const TagSelectorsRequest = t.Named('TagSelectorsRequest', {
  data: t.Array(NewTagSelector, { minItems: 1, maxItems: t.TAG_SELECTORS_MAX }),
})

const needs = 'Owners team, teams with Manage policies, or the organization token.'

const added = {
  result: 'Added; existing members are ignored.',
  errors: { 422: 'An id does not exist, or the list is malformed; nothing is changed.' },
  needs,
} as const

const attached = {
  ...added,
  errors: {
    422: 'The set is global or scoped by tags, or an id does not exist; nothing is changed.',
  },
} as const

const removed = {
  result: 'Removed; ids that were no members are ignored.',
  errors: { 422: 'The list is empty, too long, or an item has no id or another type.' },
  needs,
} as const

export const policySetMemberRoutes = routes('Policy sets', {
  addPolicySetPolicies: add('/policy-sets/:policy_set_id/relationships/policies', {
    summary: 'Add policies to a policy set.',
    body: PolicySetPoliciesRequest,
    ...added,
    errors: { 422: 'A policy does not exist or has another kind, or the set is versioned.' },
  }),
  removePolicySetPolicies: remove('/policy-sets/:policy_set_id/relationships/policies', {
    summary: 'Take policies out of a policy set.',
    body: PolicySetPoliciesRequest,
    ...removed,
  }),
  addPolicySetProjects: add('/policy-sets/:policy_set_id/relationships/projects', {
    summary: 'Apply a policy set to projects.',
    body: PolicySetProjectsRequest,
    ...attached,
  }),
  removePolicySetProjects: remove('/policy-sets/:policy_set_id/relationships/projects', {
    summary: 'Stop applying a policy set to projects.',
    body: PolicySetProjectsRequest,
    ...removed,
  }),
  addPolicySetWorkspaces: add('/policy-sets/:policy_set_id/relationships/workspaces', {
    summary: 'Apply a policy set to workspaces.',
    body: PolicySetWorkspacesRequest,
    ...attached,
  }),
  removePolicySetWorkspaces: remove('/policy-sets/:policy_set_id/relationships/workspaces', {
    summary: 'Stop applying a policy set to workspaces.',
    body: PolicySetWorkspacesRequest,
    ...removed,
  }),
  addPolicySetNamespaces: add('/policy-sets/:policy_set_id/relationships/namespaces', {
    summary: 'Apply a policy set to job submissions in workload namespaces.',
    body: PolicySetNamespacesRequest,
    ...attached,
    needs:
      `${needs} For a namespace that belongs to no project of the organization: ` +
      'the site administrator, where `/v1` asks for rights.',
  }),
  removePolicySetNamespaces: remove('/policy-sets/:policy_set_id/relationships/namespaces', {
    summary: 'Stop applying a policy set to workload namespaces.',
    body: PolicySetNamespacesRequest,
    ...removed,
  }),
  addPolicySetWorkspaceExclusions: add(
    '/policy-sets/:policy_set_id/relationships/workspace-exclusions',
    {
      summary: 'Exclude workspaces from a policy set, however it would apply to them.',
      body: PolicySetWorkspacesRequest,
      ...added,
    },
  ),
  removePolicySetWorkspaceExclusions: remove(
    '/policy-sets/:policy_set_id/relationships/workspace-exclusions',
    {
      summary: 'Stop excluding workspaces from a policy set.',
      body: PolicySetWorkspacesRequest,
      ...removed,
    },
  ),
  addPolicySetProjectExclusions: add(
    '/policy-sets/:policy_set_id/relationships/project-exclusions',
    {
      summary: 'Exclude projects from a policy set, however it would apply to them.',
      body: PolicySetProjectsRequest,
      ...added,
    },
  ),
  removePolicySetProjectExclusions: remove(
    '/policy-sets/:policy_set_id/relationships/project-exclusions',
    {
      summary: 'Stop excluding projects from a policy set.',
      body: PolicySetProjectsRequest,
      ...removed,
    },
  ),
  addPolicySetTagSelectors: add('/policy-sets/:policy_set_id/tag-selectors', {
    summary: 'Apply a policy set by tags of workspaces.',
    body: TagSelectorsRequest,
    result: 'Added; existing selectors are ignored.',
    errors: { 422: 'The set names projects or workspaces, or a selector breaks its rules.' },
    needs,
  }),
  removePolicySetTagSelectors: remove('/policy-sets/:policy_set_id/tag-selectors', {
    summary: 'Stop applying a policy set by tags.',
    body: TagSelectorsRequest,
    ...removed,
  }),
})
