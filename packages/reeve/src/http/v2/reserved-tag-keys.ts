import { v2 } from '@reeve/contract'
import {
  createReservedTagKey,
  deleteReservedTagKey,
  findManagedTagKey,
  findOrganizationToManageTagKeys,
  listReservedTagKeys,
  updateReservedTagKey,
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
import { reservedTagKeyResource } from './resources/reserved-tag-key.ts'

const { v2Routes } = v2

/**
 * Returns the routes of reserved tag keys: keys that an organization suggests, optionally without
 * overrides.
 */
export function reservedTagKeyEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listReservedTagKeys, (request) =>
      mapResult(
        listReservedTagKeys(context, request.caller, {
          organizationName: request.params.organization_name,
          ...offsetAndLimit(request.page),
        }),
        ({ keys, total }) =>
          pageDocument(request, { items: keys.map(reservedTagKeyResource), total }),
      ),
    ),
    endpoint(
      v2Routes.createReservedTagKey,
      async ({ caller, params, body }) =>
        mapResult(
          await createReservedTagKey(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (visible) => createdDocument(reservedTagKeyResource(visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findOrganizationToManageTagKeys(context, caller, params.organization_name),
      },
    ),
    endpoint(
      v2Routes.updateReservedTagKey,
      async ({ caller, params, body }) =>
        mapResult(
          await updateReservedTagKey(context, caller, {
            id: params.reserved_tag_key_id,
            data: body.data,
          }),
          (visible) => resourceDocument(reservedTagKeyResource(visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findManagedTagKey(context, caller, params.reserved_tag_key_id),
      },
    ),
    endpoint(v2Routes.deleteReservedTagKey, async ({ caller, params }) =>
      mapResult(
        await deleteReservedTagKey(context, caller, params.reserved_tag_key_id),
        () => NO_CONTENT,
      ),
    ),
  ]
}
