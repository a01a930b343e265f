import type { v2 } from '@reeve/contract'

/** A webhook that receives run events of a workspace. */
export interface NotificationConfigurationRow {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly name: string
  readonly destinationType: (typeof v2.NOTIFICATION_DESTINATIONS)[number]
  /** Sealed: a URL may hold a secret. */
  readonly url: string
  /** Sealed; null where bodies are not signed. */
  readonly token: string | null
  readonly enabled: boolean
  readonly triggers: readonly v2.NotificationTrigger[]
  readonly createdMs: number
  readonly updatedMs: number
  /** Earlier events are not delivered. */
  readonly enabledMs: number
  readonly lastDelivery: NotificationDelivery | null
}

/** One attempt to deliver a notification. */
export interface NotificationDelivery {
  readonly atMs: number
  /** Null if there was no response. */
  readonly code: number | null
  /** Beginning of the response body, or the error. */
  readonly body: string
  readonly successful: boolean
}

/** A delivery of one occurrence to a receiver, completed or still to be retried. */
export interface NotificationRow {
  /** Derived from configuration and occurrence: one occurrence is delivered once. */
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly configurationId: string
  readonly attempts: number
  readonly atMs: number
  /** Time of the next attempt; null once it is delivered or abandoned. */
  readonly retryMs: number | null
}
