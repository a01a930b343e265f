import { createHmac } from 'node:crypto'
import type { v2 } from '@reeve/contract'
import type {
  NotificationConfigurationRow,
  NotificationDelivery,
  RunRow,
  WorkspaceRow,
} from '../../model/index.ts'
import type { Tables } from '../../state/index.ts'
import { usernameOf } from '../caller.ts'
import type { GovernanceOptions } from '../context.ts'
import { isTerminalStatus, isIdle } from '../runs/run-status.ts'

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

/** An event that may be delivered. */
export interface Occurrence {
  /** Stable identifier of the occurrence. */
  readonly key: string
  readonly trigger: v2.NotificationTrigger
  readonly atMs: number
  /** Undefined if the occurrence concerns the workspace. */
  readonly run: RunRow | undefined
  readonly message: string
}

const HOUR_MS = 3_600_000

/** Older occurrences are not delivered. */
export const OCCURRENCE_AGE_MS_MAX = HOUR_MS

/** Times of the two reminders before a workspace is destroyed. */
const REMINDER_HOURS = [24, 12] as const

/** Reports whether a reminder of a workspace may be due. */
export function mayNeedReminder({ autoDestroyAtMs: atMs }: WorkspaceRow, nowMs: number): boolean {
  return atMs !== null && atMs > nowMs && atMs - nowMs <= REMINDER_HOURS[0] * HOUR_MS
}

/** Returns the occurrences of a workspace that match a configuration, oldest first. */
export function occurrencesFor(
  tables: Tables,
  configuration: NotificationConfigurationRow,
  nowMs: number,
): readonly Occurrence[] {
  const { workspaceId, triggers, enabledMs } = configuration
  const workspace = tables.workspaces.find(workspaceId)
  if (workspace === undefined) return []
  // A time in the future comes from a clock that was ahead, and is ignored.
  const since = Math.max(enabledMs > nowMs ? 0 : enabledMs, nowMs - OCCURRENCE_AGE_MS_MAX)
  const runIds = triggers.some((one) => one.startsWith('run:'))
    ? [...tables.runs.keysByIndex('workspace', workspaceId)]
    : []
  const fromRuns = runIds.flatMap((id) => runOccurrences(tables.runs.get(id)))
  return [...fromRuns.filter(({ atMs }) => atMs >= since), ...reminders(workspace, nowMs)]
    .filter(({ trigger }) => triggers.includes(trigger))
    .toSorted((a, b) => a.atMs - b.atMs)
}

/** Returns the occurrences of a run, from the timestamps of its statuses. */
function runOccurrences(run: RunRow): readonly Occurrence[] {
  const { status, statusMs } = run
  const needsAttention =
    isIdle(status) && !isTerminalStatus(status) && status !== 'planned_and_saved'
  const lastMs = Math.max(run.createdMs, ...Object.values(statusMs))
  const times: readonly (readonly [v2.NotificationTrigger, number | undefined, string])[] = [
    ['run:created', run.createdMs, 'Run created'],
    ['run:planning', statusMs['planning-at'], 'Run is planning'],
    ['run:needs_attention', needsAttention ? lastMs : undefined, `Run needs attention (${status})`],
    ['run:applying', statusMs['applying-at'], 'Run is applying'],
    ['run:completed', COMPLETED.has(status) ? lastMs : undefined, `Run completed (${status})`],
    ['run:errored', FAILED.has(status) ? lastMs : undefined, failureText(status)],
  ]
  return times.flatMap(([trigger, atMs, message]) =>
    atMs === undefined
      ? []
      : [{ key: `${run.id} ${trigger}${keySuffix(trigger, status)}`, trigger, atMs, run, message }],
  )
}

/** A run may need attention twice: for its policies and for its confirmation. */
function keySuffix(trigger: v2.NotificationTrigger, status: v2.RunStatus): string {
  return trigger === 'run:needs_attention' ? ` ${status}` : ''
}

function failureText(status: v2.RunStatus): string {
  return status === 'canceled' ? 'Run was canceled' : `Run failed (${status})`
}

const COMPLETED: ReadonlySet<v2.RunStatus> = new Set(['applied', 'planned_and_finished'])
const FAILED: ReadonlySet<v2.RunStatus> = new Set(['errored', 'canceled', 'policy_soft_failed'])

/** Returns the latest due reminder that a workspace will be destroyed. */
function reminders(workspace: WorkspaceRow, nowMs: number): readonly Occurrence[] {
  const { autoDestroyAtMs: atMs } = workspace
  if (atMs === null || !mayNeedReminder(workspace, nowMs)) return []
  const due = REMINDER_HOURS.findLast((hours) => atMs - hours * HOUR_MS <= nowMs)
  if (due === undefined) return []
  return [
    {
      key: `${workspace.id} auto-destroy ${atMs} ${due}`,
      trigger: 'workspace:auto_destroy_reminder',
      atMs: nowMs,
      run: undefined,
      message: `Workspace ${workspace.name} will be destroyed at ${new Date(atMs).toISOString()}`,
    },
  ]
}
