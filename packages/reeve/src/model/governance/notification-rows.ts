import type { v2 } from '@reeve/contract'

/** Where to say what happens to the runs of a workspace. */
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
  /** What happened before is not told. */
  readonly enabledMs: number
  readonly lastDelivery: NotificationDelivery | null
}

/** One attempt to tell a receiver something. */
export interface NotificationDelivery {
  readonly atMs: number
  /** Null where the receiver did not answer. */
  readonly code: number | null
  /** The beginning of the answer, or why there was none. */
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
