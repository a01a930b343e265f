import { createHmac } from 'node:crypto'
import type { NotificationConfigurationRow, NotificationDelivery } from '../../model/index.ts'
import { usernameOf } from '../caller.ts'
import type { GovernanceOptions } from '../context.ts'
import type { Occurrence } from './occurrences.ts'

/** A request to a notification receiver. */
export interface WebhookRequest {
  readonly url: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined
}

/** Result of the request. */
export interface WebhookResponse {
  /** Null if there was no response. */
  readonly code: number | null
  /** Beginning of the response, or the reason why there was none. */
  readonly body: string
}

/** Sends requests to receivers with limits on time and size; never rejects. */
export interface WebhookSender {
  send(request: WebhookRequest): Promise<WebhookResponse>
}

/** Sender for servers that cannot send notifications. */
export const UNSUPPORTED_WEBHOOKS: WebhookSender = {
  send: async () => ({ code: null, body: 'Notifications are not supported by this server' }),
}

/** Header with the signature of the body. */
export const SIGNATURE_HEADER = 'x-reeve-notification-signature'

export interface Notifier {
  readonly context: Pick<GovernanceOptions, 'store' | 'clock' | 'sealer'>
  readonly webhooks: WebhookSender
  /** Address of the web UI; empty if unknown. */
  readonly address: () => string
}

type Receiver = Pick<NotificationConfigurationRow, 'id' | 'workspaceId' | 'url' | 'token'>

interface SendOptions {
  /** A test is sent if undefined. */
  readonly occurrence?: Occurrence
  readonly signal?: AbortSignal
}

/** Sends one notification, or a test. */
export async function sendNotification(
  { context, webhooks, address }: Notifier,
  receiver: Receiver,
  { occurrence, signal }: SendOptions = {},
): Promise<NotificationDelivery> {
  const { sealer, clock } = context
  const payload = createPayload(context, receiver, { occurrence, address: address() })
  const body = JSON.stringify(payload)
  const response = await webhooks.send({
    url: sealer.open(receiver.url),
    body,
    signal,
    headers: {
      'content-type': 'application/json',
      ...(receiver.token === null
        ? {}
        : { [SIGNATURE_HEADER]: signBody(sealer.open(receiver.token), body) }),
    },
  })
  const successful = response.code !== null && response.code >= 200 && response.code < 300
  return { ...response, atMs: clock.nowMs(), successful }
}

/** HMAC-SHA512 of the body in hexadecimal. */
export function signBody(token: string, body: string): string {
  return createHmac('sha512', token).update(body).digest('hex')
}

interface PayloadInput {
  readonly occurrence: Occurrence | undefined
  readonly address: string
}

/** Payload version 1. Receivers depend on every field. */
function createPayload(
  context: Notifier['context'],
  { id, workspaceId }: Receiver,
  { occurrence, address }: PayloadInput,
): object {
  const { tables } = context.store
  const workspace = tables.workspaces.get(workspaceId)
  const organization = tables.organizations.get(workspace.organizationId)
  const run = occurrence?.run
  const createdBy =
    run && usernameOf(context, { userId: run.createdById, fallbackName: run.createdByName })
  return {
    payload_version: 1,
    notification_configuration_id: id,
    run_url:
      run === undefined || address === ''
        ? null
        : `${address}/ui/organizations/${encodeURIComponent(organization.name)}/runs/${run.id}`,
    run_id: run?.id ?? null,
    run_message: run?.message ?? null,
    run_created_at: formatTime(run?.createdMs),
    run_created_by: createdBy ?? null,
    workspace_id: workspace.id,
    workspace_name: workspace.name,
    organization_name: organization.name,
    notifications: [
      {
        message: occurrence?.message ?? `Verification of ${id}`,
        trigger: occurrence?.trigger ?? 'verification',
        run_status: run?.status ?? null,
        run_updated_at: formatTime(occurrence?.run && occurrence.atMs),
        run_updated_by: run?.decision?.byName ?? createdBy ?? null,
      },
    ],
  }
}

function formatTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}
