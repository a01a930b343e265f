import { v2 } from '@reeve/contract'
import {
  createNotificationConfiguration,
  deleteNotificationConfiguration,
  findNotificationConfiguration,
  findWorkspaceWith,
  listNotificationConfigurations,
  updateNotificationConfiguration,
  verifyNotificationConfiguration,
  type NotifyingContext,
} from '../../governance/index.ts'
import type { NotificationConfigurationRow } from '../../model/index.ts'
import { answer, created, NO_CONTENT, paged, single, windowOf } from './documents.ts'
import { endpoint, type Outcome, type V2Endpoint, type V2Request } from './endpoint.ts'
import { pathOf, timeText, toOne } from './resources/links.ts'

const { v2Routes } = v2

export function notificationConfigurationEndpoints(host: NotifyingContext): readonly V2Endpoint[] {
  const { context } = host
  return [
    endpoint(v2Routes.listNotificationConfigurations, (request) => answerList(host, request)),
    endpoint(
      v2Routes.createNotificationConfiguration,
      async ({ caller, params, body }) => {
        const wish = { workspaceId: params.workspace_id, data: body.data }
        return answer(await createNotificationConfiguration(host, caller, wish), (row) =>
          created(resourceOf(host, row)),
        )
      },
      {
        guard: ({ caller, params }) =>
          findWorkspaceWith(context, caller, {
            address: { workspaceId: params.workspace_id },
            right: 'update',
          }),
      },
    ),
    endpoint(v2Routes.readNotificationConfiguration, ({ caller, params }) =>
      answer(findNotificationConfiguration(context, caller, idOf(params)), (row) =>
        single(resourceOf(host, row)),
      ),
    ),
    endpoint(
      v2Routes.updateNotificationConfiguration,
      async ({ caller, params, body }) => {
        const wish = { id: idOf(params), data: body.data }
        return answer(await updateNotificationConfiguration(host, caller, wish), (row) =>
          single(resourceOf(host, row)),
        )
      },
      {
        guard: ({ caller, params }) => findNotificationConfiguration(context, caller, idOf(params)),
      },
    ),
    endpoint(v2Routes.verifyNotificationConfiguration, async ({ caller, params }) =>
      answer(await verifyNotificationConfiguration(host, caller, idOf(params)), (row) =>
        single(resourceOf(host, row)),
      ),
    ),
    endpoint(v2Routes.deleteNotificationConfiguration, async ({ caller, params }) =>
      answer(
        await deleteNotificationConfiguration(context, caller, idOf(params)),
        () => NO_CONTENT,
      ),
    ),
  ]
}

function idOf(params: { readonly notification_configuration_id: string }): string {
  return params.notification_configuration_id
}

function answerList(
  host: NotifyingContext,
  request: V2Request<typeof v2Routes.listNotificationConfigurations>,
): Outcome {
  const { caller, params, page } = request
  const found = listNotificationConfigurations(host.context, caller, params.workspace_id)
  return answer(found, (rows) => {
    const { skip, take } = windowOf(page)
    const items = rows.slice(skip, skip + take).map((row) => resourceOf(host, row))
    return paged(request, { items, total: rows.length })
  })
}

function resourceOf(
  { context }: NotifyingContext,
  row: NotificationConfigurationRow,
): v2.NotificationConfiguration {
  const url = context.sealer.open(row.url)
  const { lastDelivery: last } = row
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
      'created-at': timeText(row.createdMs),
      'updated-at': timeText(row.updatedMs),
      'delivery-responses':
        last === null
          ? []
          : [
              {
                url,
                code: last.code,
                body: last.body,
                'sent-at': timeText(last.atMs),
                successful: last.successful,
              },
            ],
    },
    relationships: { subscribable: toOne('workspaces', row.workspaceId) },
    links: { self: pathOf('notification-configurations', row.id) },
  }
}
