import { Type } from 'typebox'
import { routes } from '../route.ts'
import { create, list, read, remove, update } from './define.ts'
import { Nullable, Timestamp, type Infer } from '../schema.ts'
import { DocumentOf, PageOf, RequestOf, ResourceOf, SelfLink, ToOne } from './json-api.ts'
import { PARAMETER_KEY_LENGTH_MAX, PARAMETER_VALUE_LENGTH_MAX } from './limits.ts'
import { fieldsQuery } from './query.ts'

const category = Type.Literal('policy-set')

/** A value that the policies of a set can read. */
export const PolicySetParameter = ResourceOf('PolicySetParameter', 'vars', {
  attributes: Type.Object({
    key: Type.String(),
    value: Nullable(Type.String({ description: 'Null once the parameter is sensitive.' })),
    category,
    sensitive: Type.Boolean({ description: 'Cannot be turned off again.' }),
    'created-at': Timestamp(),
  }),
  relationships: Type.Object({ configurable: ToOne('policy-sets') }),
  links: SelfLink(),
})
export type PolicySetParameter = Infer<typeof PolicySetParameter>

export const PolicySetParameterDocument = DocumentOf(PolicySetParameter)

export const PolicySetParameterPage = PageOf(PolicySetParameter)

const key = Type.String({ minLength: 1, maxLength: PARAMETER_KEY_LENGTH_MAX })
const writable = {
  // A missing value is an empty one.
  value: Type.Optional(Nullable(Type.String({ maxLength: PARAMETER_VALUE_LENGTH_MAX }))),
  sensitive: Type.Optional(Type.Boolean()),
}

export const PolicySetParameterCreateRequest = RequestOf(
  'PolicySetParameterCreateRequest',
  'vars',
  { attributes: Type.Object({ key, category, ...writable }) },
)
export type PolicySetParameterCreateRequest = Infer<typeof PolicySetParameterCreateRequest>

export const PolicySetParameterUpdateRequest = RequestOf(
  'PolicySetParameterUpdateRequest',
  'vars',
  {
    attributes: Type.Optional(
      Type.Object({ key: Type.Optional(key), category: Type.Optional(category), ...writable }),
    ),
  },
)
export type PolicySetParameterUpdateRequest = Infer<typeof PolicySetParameterUpdateRequest>

const managers = 'Owners team, teams with Manage policies, or the organization token.'
const readers =
  'Teams with Manage policies or Read policies, owners team, or the organization token.'
const noParameter = 'Policy set or parameter not found, or the caller is not authorized.'
const brokenRule = 'A rule on an attribute is broken, or the key is taken.'

export const policySetParameterRoutes = routes('Policy set parameters', {
  listPolicySetParameters: list('/policy-sets/:policy_set_id/parameters', {
    summary: 'List the parameters of a policy set.',
    query: { ...fieldsQuery('vars') },
    returns: PolicySetParameterPage,
    needs: readers,
  }),
  createPolicySetParameter: create('/policy-sets/:policy_set_id/parameters', {
    summary: 'Create a parameter of a policy set.',
    body: PolicySetParameterCreateRequest,
    returns: PolicySetParameterDocument,
    errors: { 422: brokenRule },
    needs: managers,
  }),
  readPolicySetParameter: read('/policy-sets/:policy_set_id/parameters/:parameter_id', {
    summary: 'Show a parameter of a policy set.',
    query: fieldsQuery('vars'),
    returns: PolicySetParameterDocument,
    errors: { 404: noParameter },
    needs: readers,
  }),
  updatePolicySetParameter: update('/policy-sets/:policy_set_id/parameters/:parameter_id', {
    summary: 'Change a parameter of a policy set.',
    body: PolicySetParameterUpdateRequest,
    returns: PolicySetParameterDocument,
    errors: { 404: noParameter, 422: brokenRule },
    needs: managers,
  }),
  deletePolicySetParameter: remove('/policy-sets/:policy_set_id/parameters/:parameter_id', {
    summary: 'Delete a parameter of a policy set.',
    errors: { 404: noParameter },
    needs: managers,
  }),
})
