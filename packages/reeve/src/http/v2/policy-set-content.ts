import { v2 } from '@reeve/contract'
import { ok } from '@reeve/kit/result.ts'
import {
  createParameter,
  deleteParameter,
  findParameter,
  findPolicySet,
  listParameters,
  updateParameter,
  type GovernanceContext,
  createVersion,
  findVersion,
  listVersions,
  uploadVersion,
  uploadVersionByKey,
} from '../../governance/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  pageDocument,
  resourceDocument,
  offsetAndLimit,
} from './documents.ts'
import { endpoint, type JsonApiResult, type V2Endpoint } from './endpoint.ts'
import { resourcePath } from './resources/links.ts'
import { parameterResource, policySetVersionResource } from './resources/policy-set.ts'

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

/** Returns the routes of policy set versions: the policies of a set as one archive. */
export function policySetVersionEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listPolicySetVersions, (request) => {
      const { caller, params, page } = request
      const { policy_set_id: policySetId } = params
      const visible = findPolicySet(context, caller, { policySetId, right: 'read' })
      return mapResult(visible, ({ set }) => {
        const all = listVersions(context.store.tables, set.id)
        const { offset, limit } = offsetAndLimit(page)
        const items = all.slice(offset, offset + limit).map((row) => policySetVersionResource(row))
        return pageDocument(request, { items, total: all.length })
      })
    }),
    endpoint(v2Routes.createPolicySetVersion, async ({ caller, params, requestUrl }) =>
      mapResult(await createVersion(context, caller, params.policy_set_id), (result) => {
        const url = `${requestUrl.origin}${resourcePath('uploads', 'policy-set-version', result.uploadKey)}`
        return createdDocument(policySetVersionResource(result.version, url))
      }),
    ),
    endpoint(v2Routes.readPolicySetVersion, ({ caller, params }) => {
      const { policy_set_version_id: versionId } = params
      const visible = findVersion(context, caller, { versionId, right: 'read' })
      return mapResult(visible, ({ version }) =>
        resourceDocument(policySetVersionResource(version)),
      )
    }),
    endpoint(
      v2Routes.uploadKeyedPolicySetVersion,
      async ({ caller, params, body }) =>
        mapResult(
          await uploadVersionByKey(context, caller, { uploadKey: params.upload_key, bytes: body }),
          () => UPLOADED,
        ),
      { isPublic: true },
    ),
    endpoint(
      v2Routes.uploadPolicySetVersion,
      async ({ caller, params, body }) =>
        mapResult(
          await uploadVersion(context, caller, {
            versionId: params.policy_set_version_id,
            bytes: body,
          }),
          () => UPLOADED,
        ),
      {
        authorize: ({ caller, params }) =>
          findVersion(context, caller, {
            versionId: params.policy_set_version_id,
            right: 'update',
          }),
      },
    ),
  ]
}

const UPLOADED: JsonApiResult = ok({ kind: 'empty', status: 200 })
