import { v2 } from '@reeve/contract'
import {
  createVersion,
  findPolicySet,
  findVersion,
  setVersions,
  uploadVersion,
  uploadVersionByKey,
  type GovernanceContext,
} from '../../governance/index.ts'
import { ok } from '@reeve/kit/result.ts'
import { answer, created, paged, single, windowOf } from './documents.ts'
import { endpoint, type Outcome, type V2Endpoint } from './endpoint.ts'
import { pathOf } from './resources/links.ts'
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
        const items = all.slice(skip, skip + take).map((row) => policySetVersionResource(row))
        return paged(request, { items, total: all.length })
      })
    }),
    endpoint(v2Routes.createPolicySetVersion, async ({ caller, params, address }) =>
      answer(await createVersion(context, caller, params.policy_set_id), (made) => {
        const url = `${address.origin}${pathOf('uploads', 'policy-set-version', made.uploadKey)}`
        return created(policySetVersionResource(made.version, url))
      }),
    ),
    endpoint(v2Routes.readPolicySetVersion, ({ caller, params }) => {
      const { policy_set_version_id: versionId } = params
      const seen = findVersion(context, caller, { versionId, right: 'read' })
      return answer(seen, ({ version }) => single(policySetVersionResource(version)))
    }),
    endpoint(
      v2Routes.uploadKeyedPolicySetVersion,
      async ({ caller, params, body }) =>
        answer(
          await uploadVersionByKey(context, caller, { uploadKey: params.upload_key, bytes: body }),
          () => STORED,
        ),
      { isOpen: true },
    ),
    endpoint(
      v2Routes.uploadPolicySetVersion,
      async ({ caller, params, body }) =>
        answer(
          await uploadVersion(context, caller, {
            versionId: params.policy_set_version_id,
            bytes: body,
          }),
          () => STORED,
        ),
      {
        guard: ({ caller, params }) =>
          findVersion(context, caller, {
            versionId: params.policy_set_version_id,
            right: 'update',
          }),
      },
    ),
  ]
}

const STORED: Outcome = ok({ kind: 'empty', status: 200 })
