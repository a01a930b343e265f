import * as t from './json-api.ts'
import { create, list, read, remove, update, routes } from './define.ts'
import { POLICY_KINDS } from './policy.ts'

export const POLICY_SET_SCOPINGS = ['explicit', 'tag'] as const
export const POLICY_SET_INCLUDES = [
  'policies',
  'workspaces',
  'projects',
  'workspace_exclusions',
  'project_exclusions',
  'current_version',
  'newest_version',
] as const

/** Selector that includes or excludes workspaces with a tag. */
export const TagSelector = t.Named('TagSelector', {
  'tag-key': t.TagKey(),
  'tag-value': t.Nullable(t.TagValue()),
  'is-exclude': t.Boolean(),
})
export type TagSelector = t.Infer<typeof TagSelector>

export const PolicySet = t.ResourceOf('PolicySet', 'policy-sets', {
  attributes: t.Object({
    name: t.Name('Unique in the organization, case ignored.'),
    description: t.Nullable(t.String()),
    global: t.Boolean(),
    kind: t.OneOf(POLICY_KINDS),
    // Null for a `native` set that is not evaluated by an agent, where it has no effect.
    overridable: t.Nullable(t.Boolean()),
    'agent-enabled': t.Boolean(),
    'policy-tool-version': t.Nullable(t.String()),
    'policy-count': t.Integer({ minimum: 0 }),
    'workspace-count': t.Integer({ minimum: 0 }),
    'project-count': t.Integer({ minimum: 0 }),
    versioned: t.Boolean(),
    'policies-path': t.Nullable(t.String()),
    'policy-update-patterns': t.Array(t.String()),
    'tag-selectors': t.Array(TagSelector),
    'scoping-type': t.OneOf(POLICY_SET_SCOPINGS),
    'created-at': t.Timestamp(),
    'updated-at': t.Timestamp(),
  }),
  relationships: t.Object({
    organization: t.ToOne('organizations'),
    policies: t.ToMany('policies'),
    // A global set has no attachments, so its documents omit these three.
    workspaces: t.Optional(t.ToMany('workspaces')),
    projects: t.Optional(t.ToMany('projects')),
    namespaces: t.Optional(t.ToMany('namespaces')),
    'workspace-exclusions': t.ToMany('workspaces'),
    'project-exclusions': t.ToMany('projects'),
    'current-version': t.ToOneOrNone('policy-set-versions'),
    'newest-version': t.ToOneOrNone('policy-set-versions'),
  }),
  links: t.SelfLink(),
})
export type PolicySet = t.Infer<typeof PolicySet>

export type PolicySetDocument = t.Document<typeof PolicySet>

export type PolicySetPage = t.Page<typeof PolicySet>

/** Members of a new tag selector; by default `is-exclude` is false and `tag-value` null. */
export const NewTagSelector = t.Named('NewTagSelector', {
  'tag-key': t.TagKey(),
  'tag-value': t.Optional(t.Nullable(t.TagValue())),
  'is-exclude': t.Optional(t.Boolean()),
})
export type NewTagSelector = t.Infer<typeof NewTagSelector>

const writable = {
  description: t.Optional(t.Nullable(t.String({ maxLength: t.DESCRIPTION_LENGTH_MAX }))),
  global: t.Optional(t.Boolean()),
  overridable: t.Optional(t.Nullable(t.Boolean())),
  'agent-enabled': t.Optional(t.Boolean()),
  'policy-tool-version': t.Optional(t.Nullable(t.String({ maxLength: t.LINE_LENGTH_MAX }))),
  'policies-path': t.Optional(t.Nullable(t.String({ maxLength: t.LINE_LENGTH_MAX }))),
  'policy-update-patterns': t.Optional(
    t.Array(t.String({ maxLength: t.LINE_LENGTH_MAX }), { maxItems: t.UPDATE_PATTERNS_MAX }),
  ),
  'tag-selectors': t.Optional(t.Array(NewTagSelector, { maxItems: t.TAG_SELECTORS_MAX })),
}

const attachments = {
  projects: t.Optional(t.NewMembers('projects')),
  workspaces: t.Optional(t.NewMembers('workspaces')),
  // Namespaces of the workload API whose job submissions the set applies to, by name. Specific to
  // this product.
  namespaces: t.Optional(t.NewMembers('namespaces')),
  'workspace-exclusions': t.Optional(t.NewMembers('workspaces')),
  'project-exclusions': t.Optional(t.NewMembers('projects')),
  policies: t.Optional(t.NewMembers('policies')),
}

export const PolicySetCreateRequest = t.RequestOf('PolicySetCreateRequest', 'policy-sets', {
  attributes: t.Object({
    name: t.Name('Unique in the organization.'),
    kind: t.Optional(t.OneOf(POLICY_KINDS, '`native` when omitted; cannot be changed.')),
    ...writable,
  }),
  relationships: t.Optional(t.Object(attachments)),
})
export type PolicySetCreateRequest = t.Infer<typeof PolicySetCreateRequest>

/**
 * Update of a policy set. Each relationship that is present is replaced as a whole; `[]` clears
 * it.
 */
export const PolicySetUpdateRequest = t.RequestOf('PolicySetUpdateRequest', 'policy-sets', {
  attributes: t.Optional(
    t.Object({
      name: t.Optional(t.Name('Unique in the organization.')),
      // Accepted only if unchanged.
      kind: t.Optional(t.String()),
      ...writable,
    }),
  ),
  relationships: t.Optional(t.Object(attachments)),
})
export type PolicySetUpdateRequest = t.Infer<typeof PolicySetUpdateRequest>

const managers = 'Owners team, teams with Manage policies, or the organization token.'
const readers =
  'Teams with Manage policies or Read policies, owners team, or the organization token.'
const brokenRule =
  'A rule on an attribute is broken, the name is taken, or a related resource does not fit.'

export const policySetRoutes = routes('Policy sets', {
  listPolicySets: list('/organizations/:organization_name/policy-sets', {
    summary: 'List the policy sets of an organization, oldest first.',
    query: {
      'search[name]': t.Optional(t.String({ description: 'Part of the name, case ignored.' })),
      'filter[kind]': t.Optional(t.OneOf(POLICY_KINDS)),
      'filter[versioned]': t.Optional(t.Boolean()),
      ...t.includeQuery(POLICY_SET_INCLUDES),
    },
    returns: PolicySet,
    needs: readers,
  }),
  createPolicySet: create('/organizations/:organization_name/policy-sets', {
    summary: 'Create a policy set, with its policies and where it applies.',
    body: PolicySetCreateRequest,
    returns: PolicySet,
    errors: { 422: brokenRule },
    needs: managers,
  }),
  readPolicySet: read('/policy-sets/:policy_set_id', {
    summary: 'Show a policy set.',
    query: t.includeQuery(POLICY_SET_INCLUDES),
    returns: PolicySet,
    needs: readers,
  }),
  updatePolicySet: update('/policy-sets/:policy_set_id', {
    summary: 'Change a policy set. Turning `global` on drops its attachments.',
    body: PolicySetUpdateRequest,
    returns: PolicySet,
    errors: { 422: brokenRule },
    needs: managers,
  }),
  deletePolicySet: remove('/policy-sets/:policy_set_id', {
    summary: 'Delete a policy set; its policies stay.',
    needs: managers,
  }),
})
