import { v2 } from '@reeve/contract'
import {
  createParameter,
  deleteParameter,
  findParameter,
  findPolicySet,
  listParameters,
  updateParameter,
  type GovernanceContext,
} from '../../governance/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  pageDocument,
  resourceDocument,
  offsetAndLimit,
} from './documents.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { parameterResource } from './resources/policy-set.ts'

const { v2Routes } = v2

/** Returns the routes of policy set parameters, which the policies of the set can read. */
export function policySetParameterEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const parameterRef = (params: {
    readonly policy_set_id: string
    readonly parameter_id: string
  }) => ({
    policySetId: params.policy_set_id,
    parameterId: params.parameter_id,
  })
  return [
    endpoint(v2Routes.listPolicySetParameters, (request) => {
      const { caller, params, page } = request
      const { policy_set_id: policySetId } = params
      const visible = findPolicySet(context, caller, { policySetId, right: 'read' })
      return mapResult(visible, ({ set }) => {
        const all = listParameters(context.store.tables, set.id)
        const { offset, limit } = offsetAndLimit(page)
        const items = all.slice(offset, offset + limit).map(parameterResource)
        return pageDocument(request, { items, total: all.length })
      })
    }),
    endpoint(
      v2Routes.createPolicySetParameter,
      async ({ caller, params, body }) =>
        mapResult(
          await createParameter(context, caller, {
            policySetId: params.policy_set_id,
            data: body.data,
          }),
          ({ parameter }) => createdDocument(parameterResource(parameter)),
        ),
      {
        authorize: ({ caller, params }) =>
          findPolicySet(context, caller, { policySetId: params.policy_set_id, right: 'update' }),
      },
    ),
    endpoint(v2Routes.readPolicySetParameter, ({ caller, params }) =>
      mapResult(
        findParameter(context, caller, { ...parameterRef(params), right: 'read' }),
        ({ parameter }) => resourceDocument(parameterResource(parameter)),
      ),
    ),
    endpoint(
      v2Routes.updatePolicySetParameter,
      async ({ caller, params, body }) =>
        mapResult(
          await updateParameter(context, caller, { ...parameterRef(params), data: body.data }),
          ({ parameter }) => resourceDocument(parameterResource(parameter)),
        ),
      {
        authorize: ({ caller, params }) =>
          findParameter(context, caller, { ...parameterRef(params), right: 'update' }),
      },
    ),
    endpoint(v2Routes.deletePolicySetParameter, async ({ caller, params }) =>
      mapResult(await deleteParameter(context, caller, parameterRef(params)), () => NO_CONTENT),
    ),
  ]
}
