import * as t from './json-api.ts'
import { create, list, read, remove, update, routes } from './define.ts'

const category = t.Literal('policy-set')

/** A value that the policies of a set can read. */
export const PolicySetParameter = t.ResourceOf('PolicySetParameter', 'vars', {
  attributes: t.Object({
    key: t.String(),
    value: t.Nullable(t.String({ description: 'Null once the parameter is sensitive.' })),
    category,
    sensitive: t.Boolean({ description: 'Cannot be turned off again.' }),
    'created-at': t.Timestamp(),
  }),
  relationships: t.Object({ configurable: t.ToOne('policy-sets') }),
  links: t.SelfLink(),
})
export type PolicySetParameter = t.Infer<typeof PolicySetParameter>

const key = t.String({ minLength: 1, maxLength: t.PARAMETER_KEY_LENGTH_MAX })
const writable = {
  // A missing value is an empty one.
  value: t.Optional(t.Nullable(t.String({ maxLength: t.PARAMETER_VALUE_LENGTH_MAX }))),
  sensitive: t.Optional(t.Boolean()),
}

export const PolicySetParameterCreateRequest = t.RequestOf(
  'PolicySetParameterCreateRequest',
  'vars',
  { attributes: t.Object({ key, category, ...writable }) },
)
export type PolicySetParameterCreateRequest = t.Infer<typeof PolicySetParameterCreateRequest>

export const PolicySetParameterUpdateRequest = t.UpdateRequestOf(
  'PolicySetParameterUpdateRequest',
  'vars',
  { key, category, ...writable },
)
export type PolicySetParameterUpdateRequest = t.Infer<typeof PolicySetParameterUpdateRequest>

const managers = 'Owners team, teams with Manage policies, or the organization token.'
const readers =
  'Teams with Manage policies or Read policies, owners team, or the organization token.'
const noParameter = 'Policy set or parameter not found, or the caller is not authorized.'
const brokenRule = 'A rule on an attribute is broken, or the key is taken.'

export const policySetParameterRoutes = routes('Policy set parameters', {
  listPolicySetParameters: list('/policy-sets/:policy_set_id/parameters', {
    summary: 'List the parameters of a policy set.',
    returns: PolicySetParameter,
    needs: readers,
  }),
  createPolicySetParameter: create('/policy-sets/:policy_set_id/parameters', {
    summary: 'Create a parameter of a policy set.',
    body: PolicySetParameterCreateRequest,
    returns: PolicySetParameter,
    errors: { 422: brokenRule },
    needs: managers,
  }),
  readPolicySetParameter: read('/policy-sets/:policy_set_id/parameters/:parameter_id', {
    summary: 'Show a parameter of a policy set.',
    returns: PolicySetParameter,
    errors: { 404: noParameter },
    needs: readers,
  }),
  updatePolicySetParameter: update('/policy-sets/:policy_set_id/parameters/:parameter_id', {
    summary: 'Change a parameter of a policy set.',
    body: PolicySetParameterUpdateRequest,
    returns: PolicySetParameter,
    errors: { 404: noParameter, 422: brokenRule },
    needs: managers,
  }),
  deletePolicySetParameter: remove('/policy-sets/:policy_set_id/parameters/:parameter_id', {
    summary: 'Delete a parameter of a policy set.',
    errors: { 404: noParameter },
    needs: managers,
  }),
})
