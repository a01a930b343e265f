import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  isEqual,
  NOT_FOUND,
  type GovernanceRefusal,
  type NotificationConfigurationRow,
} from '../../model/index.ts'
import { put, remove, type Change, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { rowsByCreation } from '../list-index.ts'
import { findWorkspaceWith } from '../workspaces/find-workspace.ts'
import { sendNotification, type Notifier } from './send-notification.ts'

/** Dependencies of use cases that send notifications. */
export interface NotificationContext {
  readonly context: GovernanceContext
  readonly notifier: Notifier
}

/** Returns the notification configurations of a workspace, oldest first. */
export function listNotificationConfigurations(
  context: GovernanceContext,
  caller: GovernanceCaller,
  workspaceId: string,
): Result<readonly NotificationConfigurationRow[], GovernanceRefusal> {
  const found = findWorkspaceWith(context, caller, { address: { workspaceId }, right: 'update' })
  if (!found.ok) return found
  const { notification_configurations: configurations } = context.store.tables
  return ok(rowsByCreation(configurations, 'workspace', workspaceId))
}

export function findNotificationConfiguration(
  context: GovernanceContext,
  caller: GovernanceCaller,
  id: string,
): Result<NotificationConfigurationRow, GovernanceRefusal> {
  const row = context.store.tables.notification_configurations.find(id)
  if (row === undefined) return err(NOT_FOUND)
  const address = { workspaceId: row.workspaceId }
  const found = findWorkspaceWith(context, caller, { address, right: 'update' })
  return found.ok ? ok(row) : found
}

type Attributes = NonNullable<v2.NotificationConfigurationUpdateRequest['data']['attributes']>

/**
 * Creates a configuration. If it is enabled, its receiver must first respond to a test with 2xx.
 */
export async function createNotificationConfiguration(
  dependencies: NotificationContext,
  caller: GovernanceCaller,
  request: {
    readonly workspaceId: string
    readonly data: v2.NotificationConfigurationCreateRequest['data']
  },
): Promise<Result<NotificationConfigurationRow, GovernanceRefusal>> {
  const { context } = dependencies
  const { workspaceId, data } = request
  const find = () =>
    findWorkspaceWith(context, caller, { address: { workspaceId }, right: 'update' })
  const found = find()
  if (!found.ok) return found
  const { attributes } = data
  const nowMs = context.clock.nowMs()
  const blank: NotificationConfigurationRow = {
    id: newId(context.ids, 'notification-configurations'),
    organizationId: found.value.organization.id,
    workspaceId,
    name: attributes.name,
    destinationType: attributes['destination-type'],
    url: '',
    token: null,
    enabled: false,
    triggers: [],
    createdMs: nowMs,
    updatedMs: nowMs,
    enabledMs: nowMs,
    lastDelivery: null,
  }
  const problem = urlProblem(attributes.url) ?? countProblem(context.store.tables, workspaceId)
  if (problem !== undefined) return err(problem)
  const tested = await withTestResult(dependencies, applyAttributes(context, blank, attributes))
  if (!tested.ok) return tested
  // During the test the workspace may have been deleted, or other configurations created.
  const foundAgain = find()
  if (!foundAgain.ok) return foundAgain
  const countRefusal = countProblem(context.store.tables, workspaceId)
  if (countRefusal !== undefined) return err(countRefusal)
  await commitConfiguration(context, caller, tested.value)
  return tested
}

function countProblem(
  { notification_configurations: configurations }: Tables,
  workspaceId: string,
): GovernanceRefusal | undefined {
  const max = v2.NOTIFICATION_CONFIGURATIONS_MAX
  if (configurations.countByIndex('workspace', workspaceId) < max) return undefined
  return invalidAttribute('/data', `A workspace has at most ${max} notification configurations`)
}

function urlProblem(url: string | undefined): GovernanceRefusal | undefined {
  if (url === undefined) return undefined
  const parsed = URL.parse(url)
  if (parsed?.protocol === 'https:' || parsed?.protocol === 'http:') return undefined
  const found = parsed === null ? 'is invalid' : `has the scheme "${parsed.protocol.slice(0, -1)}"`
  return invalidAttribute(
    '/data/attributes/url',
    `Url ${found}; it must begin with http:// or https://`,
  )
}

/** Applies a request. Omitted attributes are unchanged; an empty token removes the signature. */
function applyAttributes(
  { sealer, clock }: Pick<GovernanceContext, 'sealer' | 'clock'>,
  before: NotificationConfigurationRow,
  attributes: Attributes,
): NotificationConfigurationRow {
  const { name, url, token, enabled, triggers } = attributes
  const isNewUrl = url !== undefined && (before.url === '' || sealer.open(before.url) !== url)
  const isEnabled = enabled ?? before.enabled
  const isNewTrigger = triggers?.some((one) => !before.triggers.includes(one)) ?? false
  return {
    ...before,
    name: name ?? before.name,
    url: isNewUrl ? sealer.seal(url) : before.url,
    token: token === undefined ? before.token : token ? sealer.seal(token) : null,
    enabled: isEnabled,
    triggers: triggers === undefined ? before.triggers : [...new Set(triggers)],
    enabledMs: isEnabled && (isNewTrigger || !before.enabled) ? clock.nowMs() : before.enabledMs,
  }
}

/** Returns the row with the result of its test, if one is required. */
async function withTestResult(
  { notifier }: NotificationContext,
  row: NotificationConfigurationRow,
): Promise<Result<NotificationConfigurationRow, GovernanceRefusal>> {
  if (!row.enabled) return ok(row)
  const lastDelivery = await sendNotification(notifier, row)
  return lastDelivery.successful ? ok({ ...row, lastDelivery }) : err(deliveryProblem(lastDelivery))
}

function deliveryProblem({
  code,
  body,
}: NonNullable<NotificationConfigurationRow['lastDelivery']>): GovernanceRefusal {
  const reason = code === null ? `no response: ${body}` : `HTTP status ${code}`
  return invalidAttribute(
    '/data/attributes/url',
    `Url failed verification: ${reason}; the receiver must respond with 2xx`,
  )
}

const CHANGED_CONCURRENTLY: GovernanceRefusal = {
  code: 'conflict',
  detail: 'The configuration was changed during its test; try again',
}

export async function updateNotificationConfiguration(
  dependencies: NotificationContext,
  caller: GovernanceCaller,
  request: {
    readonly id: string
    readonly data: v2.NotificationConfigurationUpdateRequest['data']
  },
): Promise<Result<NotificationConfigurationRow, GovernanceRefusal>> {
  const { context } = dependencies
  const { id, data } = request
  const { attributes = {} } = data
  const found = findNotificationConfiguration(context, caller, id)
  if (!found.ok) return found
  const problem = urlProblem(attributes.url)
  if (problem !== undefined) return err(problem)
  const changed = applyAttributes(context, found.value, attributes)
  if (isEqual(changed, found.value)) return found
  const tested = await withTestResult(dependencies, changed)
  if (!tested.ok) return tested
  const foundAgain = findNotificationConfiguration(context, caller, id)
  if (!foundAgain.ok) return foundAgain
  // The test used the receiver of the row before it; other changes are kept.
  const current = foundAgain.value
  if (!hasSameReceiver(current, found.value)) return err(CHANGED_CONCURRENTLY)
  const { lastDelivery } = changed.enabled ? tested.value : current
  const updatedMs = context.clock.nowMs()
  const row = { ...applyAttributes(context, current, attributes), lastDelivery, updatedMs }
  await commitConfiguration(context, caller, row)
  return ok(row)
}

function hasSameReceiver(
  a: NotificationConfigurationRow,
  b: NotificationConfigurationRow,
): boolean {
  return a.url === b.url && a.token === b.token && a.enabled === b.enabled
}

/** Sends a test and stores its result, whether or not it succeeds. */
export async function verifyNotificationConfiguration(
  { context, notifier }: NotificationContext,
  caller: GovernanceCaller,
  id: string,
): Promise<Result<NotificationConfigurationRow, GovernanceRefusal>> {
  const found = findNotificationConfiguration(context, caller, id)
  if (!found.ok) return found
  const lastDelivery = await sendNotification(notifier, found.value)
  const foundAgain = findNotificationConfiguration(context, caller, id)
  if (!foundAgain.ok) return foundAgain
  const row = { ...foundAgain.value, lastDelivery }
  await commitConfiguration(context, caller, row)
  return lastDelivery.successful ? ok(row) : err(deliveryProblem(lastDelivery))
}

export async function deleteNotificationConfiguration(
  context: GovernanceContext,
  caller: GovernanceCaller,
  id: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findNotificationConfiguration(context, caller, id)
  if (!found.ok) return found
  await commitWrite(context, {
    caller,
    organizationId: found.value.organizationId,
    affectedIds: [id],
    changes: deleteConfigurationChanges(context.store.tables, id),
  })
  return ok(undefined)
}

function deleteConfigurationChanges(tables: Tables, id: string): readonly Change[] {
  const deliveries = [...tables.notifications.keysByIndex('configuration', id)]
  return [
    ...deliveries.map((key) => remove('notifications', key)),
    remove('notification_configurations', id),
  ]
}

async function commitConfiguration(
  context: GovernanceContext,
  caller: GovernanceCaller,
  row: NotificationConfigurationRow,
): Promise<void> {
  await commitWrite(context, {
    caller,
    organizationId: row.organizationId,
    affectedIds: [row.id],
    changes: [put('notification_configurations', row)],
  })
}
