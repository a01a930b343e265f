import { v2 } from '@reeve/contract'
import {
  createNotificationConfiguration,
  deleteNotificationConfiguration,
  findNotificationConfiguration,
  findWorkspaceWith,
  listNotificationConfigurations,
  updateNotificationConfiguration,
  verifyNotificationConfiguration,
  type NotificationContext,
} from '../../governance/index.ts'
import type { NotificationConfigurationRow } from '../../model/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  pageDocument,
  resourceDocument,
  offsetAndLimit,
} from './documents.ts'
import { endpoint, type JsonApiResult, type V2Endpoint, type V2Request } from './endpoint.ts'
import { resourcePath, formatTime, toOne } from './resources/links.ts'

const { v2Routes } = v2

export function notificationConfigurationEndpoints(
  host: NotificationContext,
): readonly V2Endpoint[] {
  const { context } = host
  return [
    endpoint(v2Routes.listNotificationConfigurations, (request) => listResponse(host, request)),
    endpoint(
      v2Routes.createNotificationConfiguration,
      async ({ caller, params, body }) => {
        const input = { workspaceId: params.workspace_id, data: body.data }
        return mapResult(await createNotificationConfiguration(host, caller, input), (row) =>
          createdDocument(configurationResource(host, row)),
        )
      },
      {
        authorize: ({ caller, params }) =>
          findWorkspaceWith(context, caller, {
            address: { workspaceId: params.workspace_id },
            right: 'update',
          }),
      },
    ),
    endpoint(v2Routes.readNotificationConfiguration, ({ caller, params }) =>
      mapResult(findNotificationConfiguration(context, caller, configurationIdOf(params)), (row) =>
        resourceDocument(configurationResource(host, row)),
      ),
    ),
    endpoint(
      v2Routes.updateNotificationConfiguration,
      async ({ caller, params, body }) => {
        const input = { id: configurationIdOf(params), data: body.data }
        return mapResult(await updateNotificationConfiguration(host, caller, input), (row) =>
          resourceDocument(configurationResource(host, row)),
        )
      },
      {
        authorize: ({ caller, params }) =>
          findNotificationConfiguration(context, caller, configurationIdOf(params)),
      },
    ),
    endpoint(v2Routes.verifyNotificationConfiguration, async ({ caller, params }) =>
      mapResult(
        await verifyNotificationConfiguration(host, caller, configurationIdOf(params)),
        (row) => resourceDocument(configurationResource(host, row)),
      ),
    ),
    endpoint(v2Routes.deleteNotificationConfiguration, async ({ caller, params }) =>
      mapResult(
        await deleteNotificationConfiguration(context, caller, configurationIdOf(params)),
        () => NO_CONTENT,
      ),
    ),
  ]
}

function configurationIdOf(params: { readonly notification_configuration_id: string }): string {
  return params.notification_configuration_id
}

function listResponse(
  host: NotificationContext,
  request: V2Request<typeof v2Routes.listNotificationConfigurations>,
): JsonApiResult {
  const { caller, params, page } = request
  const found = listNotificationConfigurations(host.context, caller, params.workspace_id)
  return mapResult(found, (rows) => {
    const { offset, limit } = offsetAndLimit(page)
    const items = rows.slice(offset, offset + limit).map((row) => configurationResource(host, row))
    return pageDocument(request, { items, total: rows.length })
  })
}

function configurationResource(
  { context }: NotificationContext,
  row: NotificationConfigurationRow,
): v2.NotificationConfiguration {
  const url = context.sealer.open(row.url)
  const { lastDelivery: delivery } = row
  return {
    id: row.id,
    type: 'notification-configurations',
    attributes: {
      name: row.name,
      'destination-type': row.destinationType,
      url,
      enabled: row.enabled,
      triggers: [...row.triggers],
      token: null,
      'created-at': formatTime(row.createdMs),
      'updated-at': formatTime(row.updatedMs),
      'delivery-responses':
        delivery === null
          ? []
          : [
              {
                url,
                code: delivery.code,
                body: delivery.body,
                'sent-at': formatTime(delivery.atMs),
                successful: delivery.successful,
              },
            ],
    },
    relationships: { subscribable: toOne('workspaces', row.workspaceId) },
    links: { self: resourcePath('notification-configurations', row.id) },
  }
}
