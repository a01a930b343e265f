import * as t from './json-api.ts'
import { action, create, list, read, remove, update, routes } from './define.ts'

/** Events of a run that trigger a notification. */
export const NOTIFICATION_TRIGGERS = [
  'run:created',
  'run:planning',
  'run:needs_attention',
  'run:applying',
  'run:completed',
  'run:errored',
  'workspace:auto_destroy_reminder',
] as const
export type NotificationTrigger = (typeof NOTIFICATION_TRIGGERS)[number]

/** Format of a notification: a JSON document with a signature. */
export const NOTIFICATION_DESTINATIONS = ['generic'] as const

const DeliveryResponse = t.Object({
  url: t.String(),
  code: t.Nullable(t.Integer({ description: 'Null if there was no response.' })),
  body: t.String({ description: 'Beginning of the response body, or the error.' }),
  'sent-at': t.Timestamp(),
  successful: t.Boolean(),
})

/** A webhook that receives run events of a workspace. */
export const NotificationConfiguration = t.ResourceOf(
  'NotificationConfiguration',
  'notification-configurations',
  {
    attributes: t.Object({
      name: t.String(),
      'destination-type': t.OneOf(NOTIFICATION_DESTINATIONS),
      url: t.String(),
      enabled: t.Boolean(),
      triggers: t.Array(t.OneOf(NOTIFICATION_TRIGGERS)),
      token: t.Nullable(t.String({ description: 'Always null: it is not shown again.' })),
      'created-at': t.Timestamp(),
      'updated-at': t.Timestamp(),
      'delivery-responses': t.Array(DeliveryResponse, {
        description: 'The latest attempt; empty before the first.',
      }),
    }),
    relationships: t.Object({ subscribable: t.ToOne('workspaces') }),
    links: t.SelfLink(),
  },
)
export type NotificationConfiguration = t.Infer<typeof NotificationConfiguration>

const url = t.String({
  minLength: 1,
  maxLength: t.LINE_LENGTH_MAX,
  description: 'An `http` or `https` URL.',
})
const writable = {
  enabled: t.Optional(
    t.Boolean({ description: 'The receiver must answer a test with 2xx first.' }),
  ),
  token: t.Optional(
    t.Nullable(
      t.String({
        maxLength: t.LINE_LENGTH_MAX,
        description: 'Signs the body: HMAC-SHA512, in hexadecimal, in a header.',
      }),
    ),
  ),
  triggers: t.Optional(
    t.Array(t.OneOf(NOTIFICATION_TRIGGERS), { maxItems: NOTIFICATION_TRIGGERS.length }),
  ),
}

export const NotificationConfigurationCreateRequest = t.RequestOf(
  'NotificationConfigurationCreateRequest',
  'notification-configurations',
  {
    attributes: t.Object({
      name: t.TeamName('Shown in lists.'),
      'destination-type': t.OneOf(NOTIFICATION_DESTINATIONS),
      url,
      ...writable,
    }),
  },
)
export type NotificationConfigurationCreateRequest = t.Infer<
  typeof NotificationConfigurationCreateRequest
>

export const NotificationConfigurationUpdateRequest = t.UpdateRequestOf(
  'NotificationConfigurationUpdateRequest',
  'notification-configurations',
  { name: t.TeamName('Shown in lists.'), url, ...writable },
)
export type NotificationConfigurationUpdateRequest = t.Infer<
  typeof NotificationConfigurationUpdateRequest
>

const reads = 'Permission to update the workspace: the URL may hold a secret.'
const writes = 'Permission to update the workspace.'
const conflict =
  'The id in the body is not the one in the path, or the configuration was changed during its test.'
const brokenRule =
  'A rule on an attribute is broken, the receiver did not respond to the test with 2xx, or there are ' +
  `${t.NOTIFICATION_CONFIGURATIONS_MAX} in the workspace.`

export const notificationConfigurationRoutes = routes('Notifications', {
  listNotificationConfigurations: list('/workspaces/:workspace_id/notification-configurations', {
    summary: 'List the notification configurations of a workspace, oldest first.',
    returns: NotificationConfiguration,
    needs: reads,
  }),
  createNotificationConfiguration: create('/workspaces/:workspace_id/notification-configurations', {
    summary: 'Create a notification configuration. An enabled one is tested first.',
    body: NotificationConfigurationCreateRequest,
    returns: NotificationConfiguration,
    errors: { 422: brokenRule },
    needs: writes,
  }),
  readNotificationConfiguration: read(
    '/notification-configurations/:notification_configuration_id',
    {
      summary: 'Show a notification configuration.',
      returns: NotificationConfiguration,
      needs: reads,
    },
  ),
  updateNotificationConfiguration: update(
    '/notification-configurations/:notification_configuration_id',
    {
      summary: 'Change a notification configuration. An enabled one is tested first.',
      body: NotificationConfigurationUpdateRequest,
      returns: NotificationConfiguration,
      errors: { 409: conflict, 422: brokenRule },
      needs: writes,
    },
  ),
  verifyNotificationConfiguration: action(
    '/notification-configurations/:notification_configuration_id/actions/verify',
    {
      summary: 'Send a test to the receiver of a notification configuration.',
      returns: NotificationConfiguration,
      errors: {
        422: 'The receiver did not respond with 2xx; the test is stored in `delivery-responses`.',
      },
      needs: writes,
    },
  ),
  deleteNotificationConfiguration: remove(
    '/notification-configurations/:notification_configuration_id',
    { summary: 'Delete a notification configuration.', needs: writes },
  ),
})
