import { Type } from 'typebox'
import { route } from '../route.ts'
import type { Shape } from '../shape.ts'
import { bodyRefusals, emptyAnswer } from './answers.ts'
import { MembersRequestOf } from './json-api.ts'
import { TAG_SELECTORS_MAX } from './limits.ts'
import { PolicySetPath } from './paths.ts'
import { NewTagSelector } from './policy-set.ts'

/** Reference §4.7: what is in a policy set and where it applies, changed member by member. */

export const PolicySetPoliciesRequest = MembersRequestOf('PolicySetPoliciesRequest', 'policies')
export type PolicySetPoliciesRequest = Shape<typeof PolicySetPoliciesRequest>

export const PolicySetProjectsRequest = MembersRequestOf('PolicySetProjectsRequest', 'projects')
export type PolicySetProjectsRequest = Shape<typeof PolicySetProjectsRequest>

export const PolicySetWorkspacesRequest = MembersRequestOf(
  'PolicySetWorkspacesRequest',
  'workspaces',
)
export type PolicySetWorkspacesRequest = Shape<typeof PolicySetWorkspacesRequest>

/** Ours (architecture §8): namespaces of the workload API, by name. */
export const PolicySetNamespacesRequest = MembersRequestOf(
  'PolicySetNamespacesRequest',
  'namespaces',
)
export type PolicySetNamespacesRequest = Shape<typeof PolicySetNamespacesRequest>

/** Bare objects without `type`, unlike every other member list (reference §4.7). */
export const TagSelectorsRequest = Type.Object(
  { data: Type.Array(NewTagSelector, { minItems: 1, maxItems: TAG_SELECTORS_MAX }) },
  { $id: 'TagSelectorsRequest' },
)
export type TagSelectorsRequest = Shape<typeof TagSelectorsRequest>

const unseen = 'Policy set not found, or the caller is not authorized.'
const unknownMember = 'An id does not exist, or the list is malformed; nothing is changed.'
const malformed = 'The list is empty, too long, or an item has no id or another type.'

const change = {
  section: 'Policy sets',
  params: PolicySetPath,
  needs: 'Owners team, teams with Manage policies, or the organization token.',
} as const

const add = {
  ...change,
  answers: {
    204: emptyAnswer('Added; members that were there already are ignored.'),
    ...bodyRefusals({ 404: unseen, 422: unknownMember }),
  },
} as const

const attach = {
  ...change,
  answers: {
    204: emptyAnswer('Added; members that were there already are ignored.'),
    ...bodyRefusals({
      404: unseen,
      422: 'The set is global or scoped by tags, or an id does not exist; nothing is changed.',
    }),
  },
} as const

const remove = {
  ...change,
  answers: {
    204: emptyAnswer('Removed; ids that were no members are ignored.'),
    ...bodyRefusals({ 404: unseen, 422: malformed }),
  },
} as const

export const policySetMemberRoutes = {
  addPolicySetPolicies: route({
    id: 'addPolicySetPolicies',
    methods: ['POST'],
    path: '/api/v2/policy-sets/:policy_set_id/relationships/policies',
    summary: 'Add policies to a policy set.',
    body: PolicySetPoliciesRequest,
    ...change,
    answers: {
      204: emptyAnswer('Added; members that were there already are ignored.'),
      ...bodyRefusals({
        404: unseen,
        422: 'A policy does not exist or has another kind, or the set is versioned.',
      }),
    },
  }),
  removePolicySetPolicies: route({
    id: 'removePolicySetPolicies',
    methods: ['DELETE'],
    path: '/api/v2/policy-sets/:policy_set_id/relationships/policies',
    summary: 'Take policies out of a policy set.',
    body: PolicySetPoliciesRequest,
    ...remove,
  }),
  addPolicySetProjects: route({
    id: 'addPolicySetProjects',
    methods: ['POST'],
    path: '/api/v2/policy-sets/:policy_set_id/relationships/projects',
    summary: 'Apply a policy set to projects.',
    body: PolicySetProjectsRequest,
    ...attach,
  }),
  removePolicySetProjects: route({
    id: 'removePolicySetProjects',
    methods: ['DELETE'],
    path: '/api/v2/policy-sets/:policy_set_id/relationships/projects',
    summary: 'Stop applying a policy set to projects.',
    body: PolicySetProjectsRequest,
    ...remove,
  }),
  addPolicySetWorkspaces: route({
    id: 'addPolicySetWorkspaces',
    methods: ['POST'],
    path: '/api/v2/policy-sets/:policy_set_id/relationships/workspaces',
    summary: 'Apply a policy set to workspaces.',
    body: PolicySetWorkspacesRequest,
    ...attach,
  }),
  removePolicySetWorkspaces: route({
    id: 'removePolicySetWorkspaces',
    methods: ['DELETE'],
    path: '/api/v2/policy-sets/:policy_set_id/relationships/workspaces',
    summary: 'Stop applying a policy set to workspaces.',
    body: PolicySetWorkspacesRequest,
    ...remove,
  }),
  addPolicySetNamespaces: route({
    id: 'addPolicySetNamespaces',
    methods: ['POST'],
    path: '/api/v2/policy-sets/:policy_set_id/relationships/namespaces',
    summary: 'Apply a policy set to job submissions in workload namespaces.',
    body: PolicySetNamespacesRequest,
    ...attach,
    needs:
      `${change.needs} For a namespace that belongs to no project of the organization: ` +
      'the site administrator, where `/v1` asks for rights.',
  }),
  removePolicySetNamespaces: route({
    id: 'removePolicySetNamespaces',
    methods: ['DELETE'],
    path: '/api/v2/policy-sets/:policy_set_id/relationships/namespaces',
    summary: 'Stop applying a policy set to workload namespaces.',
    body: PolicySetNamespacesRequest,
    ...remove,
  }),
  addPolicySetWorkspaceExclusions: route({
    id: 'addPolicySetWorkspaceExclusions',
    methods: ['POST'],
    path: '/api/v2/policy-sets/:policy_set_id/relationships/workspace-exclusions',
    summary: 'Exclude workspaces from a policy set, however it would apply to them.',
    body: PolicySetWorkspacesRequest,
    ...add,
  }),
  removePolicySetWorkspaceExclusions: route({
    id: 'removePolicySetWorkspaceExclusions',
    methods: ['DELETE'],
    path: '/api/v2/policy-sets/:policy_set_id/relationships/workspace-exclusions',
    summary: 'Stop excluding workspaces from a policy set.',
    body: PolicySetWorkspacesRequest,
    ...remove,
  }),
  addPolicySetProjectExclusions: route({
    id: 'addPolicySetProjectExclusions',
    methods: ['POST'],
    path: '/api/v2/policy-sets/:policy_set_id/relationships/project-exclusions',
    summary: 'Exclude projects from a policy set, however it would apply to them.',
    body: PolicySetProjectsRequest,
    ...add,
  }),
  removePolicySetProjectExclusions: route({
    id: 'removePolicySetProjectExclusions',
    methods: ['DELETE'],
    path: '/api/v2/policy-sets/:policy_set_id/relationships/project-exclusions',
    summary: 'Stop excluding projects from a policy set.',
    body: PolicySetProjectsRequest,
    ...remove,
  }),
  addPolicySetTagSelectors: route({
    id: 'addPolicySetTagSelectors',
    methods: ['POST'],
    path: '/api/v2/policy-sets/:policy_set_id/tag-selectors',
    summary: 'Apply a policy set by tags of workspaces.',
    body: TagSelectorsRequest,
    ...change,
    answers: {
      204: emptyAnswer('Added; selectors that were there already are ignored.'),
      ...bodyRefusals({
        404: unseen,
        422: 'The set names projects or workspaces, or a selector breaks its rules.',
      }),
    },
  }),
  removePolicySetTagSelectors: route({
    id: 'removePolicySetTagSelectors',
    methods: ['DELETE'],
    path: '/api/v2/policy-sets/:policy_set_id/tag-selectors',
    summary: 'Stop applying a policy set by tags.',
    body: TagSelectorsRequest,
    ...remove,
  }),
} as const
