import { v2 } from '@reeve/contract'
import {
  createVersion,
  findPolicySet,
  findVersion,
  setVersions,
  uploadVersion,
  type GovernanceCaller,
  type GovernanceContext,
} from '../../governance/index.ts'
import { ok } from '@reeve/kit/result.ts'
import { answer, created, paged, single, windowOf } from './documents.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { policySetVersionResource } from './resources/policy-set.ts'

const { v2Routes } = v2

/** The policies of a set as one archive. */
export function policySetVersionEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listPolicySetVersions, (request) => {
      const { caller, params, page } = request
      const { policy_set_id: policySetId } = params
      const seen = findPolicySet(context, caller, { policySetId, right: 'read' })
      return answer(seen, ({ set }) => {
        const all = setVersions(context.store.tables, set.id)
        const { skip, take } = windowOf(page)
        const uploadUrl = mayUpload(context, caller, policySetId) ? request.uploadUrl : undefined
        const items = all
          .slice(skip, skip + take)
          .map((row) => policySetVersionResource(row, uploadUrl))
        return paged(request, { items, total: all.length })
      })
    }),
    endpoint(v2Routes.createPolicySetVersion, async ({ caller, params, uploadUrl }) =>
      answer(await createVersion(context, caller, params.policy_set_id), ({ version }) =>
        created(policySetVersionResource(version, uploadUrl)),
      ),
    ),
    endpoint(v2Routes.readPolicySetVersion, ({ caller, params, ...request }) => {
      const { policy_set_version_id: versionId } = params
      const seen = findVersion(context, caller, { versionId, right: 'read' })
      return answer(seen, ({ version, set }) => {
        const uploadUrl = mayUpload(context, caller, set.id) ? request.uploadUrl : undefined
        return single(policySetVersionResource(version, uploadUrl))
      })
    }),
    endpoint(
      v2Routes.uploadPolicySetVersion,
      async ({ caller, params, body }) =>
        answer(
          await uploadVersion(context, caller, {
            versionId: params.policy_set_version_id,
            bytes: body,
          }),
          () => ok({ kind: 'empty', status: 200 }),
        ),
      {
        acceptsUploadKey: true,
        guard: ({ caller, params }) =>
          findVersion(context, caller, {
            versionId: params.policy_set_version_id,
            right: 'update',
          }),
      },
    ),
  ]
}

function mayUpload(
  context: GovernanceContext,
  caller: GovernanceCaller,
  policySetId: string,
): boolean {
  return findPolicySet(context, caller, { policySetId, right: 'update' }).ok
}
