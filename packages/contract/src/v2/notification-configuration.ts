import { Type } from 'typebox'
import { routes } from '../route.ts'
import { Nullable, Timestamp, type Infer } from '../schema.ts'
import { action, create, list, read, remove, update } from './define.ts'
import { DocumentOf, OneOf, PageOf, RequestOf, ResourceOf, SelfLink, ToOne } from './json-api.ts'
import { LINE_LENGTH_MAX, NOTIFICATION_CONFIGURATIONS_MAX } from './limits.ts'
import { TeamName } from './patterns.ts'
import { fieldsQuery } from './query.ts'

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

const DeliveryResponse = Type.Object({
  url: Type.String(),
  code: Nullable(Type.Integer({ description: 'Null if there was no response.' })),
  body: Type.String({ description: 'Beginning of the response body, or the error.' }),
  'sent-at': Timestamp(),
  successful: Type.Boolean(),
})

/** A webhook that receives run events of a workspace. */
export const NotificationConfiguration = ResourceOf(
  'NotificationConfiguration',
  'notification-configurations',
  {
    attributes: Type.Object({
      name: Type.String(),
      'destination-type': OneOf(NOTIFICATION_DESTINATIONS),
      url: Type.String(),
      enabled: Type.Boolean(),
      triggers: Type.Array(OneOf(NOTIFICATION_TRIGGERS)),
      token: Nullable(Type.String({ description: 'Always null: it is not shown again.' })),
      'created-at': Timestamp(),
      'updated-at': Timestamp(),
      'delivery-responses': Type.Array(DeliveryResponse, {
        description: 'The latest attempt; empty before the first.',
      }),
    }),
    relationships: Type.Object({ subscribable: ToOne('workspaces') }),
    links: SelfLink(),
  },
)
export type NotificationConfiguration = Infer<typeof NotificationConfiguration>

export const NotificationConfigurationDocument = DocumentOf(NotificationConfiguration)
export const NotificationConfigurationPage = PageOf(NotificationConfiguration)

const url = Type.String({
  minLength: 1,
  maxLength: LINE_LENGTH_MAX,
  description: 'An `http` or `https` URL.',
})
const writable = {
  enabled: Type.Optional(
    Type.Boolean({ description: 'The receiver must answer a test with 2xx first.' }),
  ),
  token: Type.Optional(
    Nullable(
      Type.String({
        maxLength: LINE_LENGTH_MAX,
        description: 'Signs the body: HMAC-SHA512, in hexadecimal, in a header.',
      }),
    ),
  ),
  triggers: Type.Optional(
    Type.Array(OneOf(NOTIFICATION_TRIGGERS), { maxItems: NOTIFICATION_TRIGGERS.length }),
  ),
}

export const NotificationConfigurationCreateRequest = RequestOf(
  'NotificationConfigurationCreateRequest',
  'notification-configurations',
  {
    attributes: Type.Object({
      name: TeamName('Shown in lists.'),
      'destination-type': OneOf(NOTIFICATION_DESTINATIONS),
      url,
      ...writable,
    }),
  },
)
export type NotificationConfigurationCreateRequest = Infer<
  typeof NotificationConfigurationCreateRequest
>

export const NotificationConfigurationUpdateRequest = RequestOf(
  'NotificationConfigurationUpdateRequest',
  'notification-configurations',
  {
    attributes: Type.Optional(
      Type.Object({
        name: Type.Optional(TeamName('Shown in lists.')),
        url: Type.Optional(url),
        ...writable,
      }),
    ),
  },
)
export type NotificationConfigurationUpdateRequest = Infer<
  typeof NotificationConfigurationUpdateRequest
>

const reads = 'Permission to update the workspace: the URL may hold a secret.'
const writes = 'Permission to update the workspace.'
const conflict =
  'The id in the body is not the one in the path, or the configuration was changed during its test.'
const brokenRule =
  'A rule on an attribute is broken, the receiver did not respond to the test with 2xx, or there are ' +
  `${NOTIFICATION_CONFIGURATIONS_MAX} in the workspace.`

export const notificationConfigurationRoutes = routes('Notifications', {
  listNotificationConfigurations: list('/workspaces/:workspace_id/notification-configurations', {
    summary: 'List the notification configurations of a workspace, oldest first.',
    query: fieldsQuery('notification-configurations'),
    returns: NotificationConfigurationPage,
    needs: reads,
  }),
  createNotificationConfiguration: create('/workspaces/:workspace_id/notification-configurations', {
    summary: 'Create a notification configuration. An enabled one is tested first.',
    body: NotificationConfigurationCreateRequest,
    returns: NotificationConfigurationDocument,
    errors: { 422: brokenRule },
    needs: writes,
  }),
  readNotificationConfiguration: read(
    '/notification-configurations/:notification_configuration_id',
    {
      summary: 'Show a notification configuration.',
      query: fieldsQuery('notification-configurations'),
      returns: NotificationConfigurationDocument,
      needs: reads,
    },
  ),
  updateNotificationConfiguration: update(
    '/notification-configurations/:notification_configuration_id',
    {
      summary: 'Change a notification configuration. An enabled one is tested first.',
      body: NotificationConfigurationUpdateRequest,
      returns: NotificationConfigurationDocument,
      errors: { 409: conflict, 422: brokenRule },
      needs: writes,
    },
  ),
  verifyNotificationConfiguration: action(
    '/notification-configurations/:notification_configuration_id/actions/verify',
    {
      summary: 'Send a test to the receiver of a notification configuration.',
      returns: NotificationConfigurationDocument,
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
