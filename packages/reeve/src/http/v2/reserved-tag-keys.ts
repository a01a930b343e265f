import { v2 } from '@reeve/contract'
import {
  createReservedTagKey,
  deleteReservedTagKey,
  findManagedTagKey,
  findTagKeyManager,
  listReservedTagKeys,
  updateReservedTagKey,
  type GovernanceContext,
} from '../../governance/index.ts'
import { answer, created, NO_CONTENT, paged, single, windowOf } from './documents.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { reservedTagKeyResource } from './resources/reserved-tag-key.ts'

const { v2Routes } = v2

/** Keys that an organization suggests, and may keep workspaces from overriding. */
export function reservedTagKeyEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listReservedTagKeys, (request) =>
      answer(
        listReservedTagKeys(context, request.caller, {
          organizationName: request.params.organization_name,
          ...windowOf(request.page),
        }),
        ({ keys, total }) => paged(request, { items: keys.map(reservedTagKeyResource), total }),
      ),
    ),
    endpoint(
      v2Routes.createReservedTagKey,
      async ({ caller, params, body }) =>
        answer(
          await createReservedTagKey(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (seen) => created(reservedTagKeyResource(seen)),
        ),
      {
        guard: ({ caller, params }) => findTagKeyManager(context, caller, params.organization_name),
      },
    ),
    endpoint(
      v2Routes.updateReservedTagKey,
      async ({ caller, params, body }) =>
        answer(
          await updateReservedTagKey(context, caller, {
            id: params.reserved_tag_key_id,
            data: body.data,
          }),
          (seen) => single(reservedTagKeyResource(seen)),
        ),
      {
        guard: ({ caller, params }) =>
          findManagedTagKey(context, caller, params.reserved_tag_key_id),
      },
    ),
    endpoint(v2Routes.deleteReservedTagKey, async ({ caller, params }) =>
      answer(
        await deleteReservedTagKey(context, caller, params.reserved_tag_key_id),
        () => NO_CONTENT,
      ),
    ),
  ]
}
