import { v2 } from '@reeve/contract'
import {
  createVersion,
  findPolicySet,
  findVersion,
  listVersions,
  uploadVersion,
  uploadVersionByKey,
  type GovernanceContext,
} from '../../governance/index.ts'
import { ok } from '@reeve/kit/result.ts'
import {
  mapResult,
  createdDocument,
  pageDocument,
  resourceDocument,
  offsetAndLimit,
} from './documents.ts'
import { endpoint, type JsonApiResult, type V2Endpoint } from './endpoint.ts'
import { resourcePath } from './resources/links.ts'
import { policySetVersionResource } from './resources/policy-set.ts'

const { v2Routes } = v2

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
