import { v2 } from '@reeve/contract'
import {
  createParameter,
  deleteParameter,
  findParameter,
  findPolicySet,
  setParameters,
  updateParameter,
  type GovernanceContext,
} from '../../governance/index.ts'
import { answer, created, NO_CONTENT, paged, single, windowOf } from './documents.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { parameterResource } from './resources/policy-set.ts'

const { v2Routes } = v2

/** Values that the policies of a set can read. */
export function policySetParameterEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const pathOf = (params: { readonly policy_set_id: string; readonly parameter_id: string }) => ({
    policySetId: params.policy_set_id,
    parameterId: params.parameter_id,
  })
  return [
    endpoint(v2Routes.listPolicySetParameters, (request) => {
      const { caller, params, page } = request
      const { policy_set_id: policySetId } = params
      const seen = findPolicySet(context, caller, { policySetId, right: 'read' })
      return answer(seen, ({ set }) => {
        const all = setParameters(context.store.tables, set.id)
        const { skip, take } = windowOf(page)
        const items = all.slice(skip, skip + take).map(parameterResource)
        return paged(request, { items, total: all.length })
      })
    }),
    endpoint(
      v2Routes.createPolicySetParameter,
      async ({ caller, params, body }) =>
        answer(
          await createParameter(context, caller, {
            policySetId: params.policy_set_id,
            data: body.data,
          }),
          ({ parameter }) => created(parameterResource(parameter)),
        ),
      {
        guard: ({ caller, params }) =>
          findPolicySet(context, caller, { policySetId: params.policy_set_id, right: 'update' }),
      },
    ),
    endpoint(v2Routes.readPolicySetParameter, ({ caller, params }) =>
      answer(
        findParameter(context, caller, { ...pathOf(params), right: 'read' }),
        ({ parameter }) => single(parameterResource(parameter)),
      ),
    ),
    endpoint(
      v2Routes.updatePolicySetParameter,
      async ({ caller, params, body }) =>
        answer(
          await updateParameter(context, caller, { ...pathOf(params), data: body.data }),
          ({ parameter }) => single(parameterResource(parameter)),
        ),
      {
        guard: ({ caller, params }) =>
          findParameter(context, caller, { ...pathOf(params), right: 'update' }),
      },
    ),
    endpoint(v2Routes.deletePolicySetParameter, async ({ caller, params }) =>
      answer(await deleteParameter(context, caller, pathOf(params)), () => NO_CONTENT),
    ),
  ]
}
