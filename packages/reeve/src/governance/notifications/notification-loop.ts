import { setImmediate } from 'node:timers/promises'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { Logger } from '@reeve/kit/log.ts'
import type {
  NotificationConfigurationRow,
  NotificationDelivery,
  NotificationRow,
} from '../../model/index.ts'
import {
  ENABLED_NOTIFICATION_KEY,
  put,
  remove,
  RETRIED_NOTIFICATION_KEY,
  SCHEDULED_KEY,
  type Change,
} from '../../state/index.ts'
import { commitSystemWrite } from '../commit.ts'
import {
  mayNeedReminder,
  OCCURRENCE_AGE_MS_MAX,
  occurrencesFor,
  type Occurrence,
  sendNotification,
  type Notifier,
} from './send-notification.ts'

interface NotificationLoopOptions {
  readonly notifier: Notifier
  readonly log: Pick<Logger, 'warn'>
}

/** Maximum delay of reminders and retries. */
const POLL_INTERVAL_MS = 30_000

/** Attempts to deliver one occurrence to a failing receiver. */
const ATTEMPTS_MAX = 5
const FIRST_RETRY_DELAY_MS = 15_000
const RETRY_DELAY_MS_MAX = retryDelayMs(ATTEMPTS_MAX - 1)

/** Concurrent deliveries. */
const CONCURRENT_DELIVERIES_MAX = 8

/** Delivery records are kept long enough to prevent repeated deliveries. */
const DELIVERY_RETENTION_MS = 24 * OCCURRENCE_AGE_MS_MAX

/**
 * Delivers notifications of run and workspace events. Pending deliveries are derived from the rows
 * of runs and workspaces, and each delivery is recorded in a row: a restarted server continues
 * where the previous one stopped. A delivery is repeated only if its record could not be stored.
 */
export class NotificationLoop {
  readonly #options: NotificationLoopOptions
  /** Configurations that may have pending deliveries. */
  readonly #pendingIds = new Set<string>()
  /** Configurations that are being served. */
  readonly #inProgress = new Map<string, Promise<void>>()
  /** Aborted by `stop`. */
  readonly #stopping = new AbortController()
  #cancelTimer: () => void = () => undefined
  #unsubscribes: readonly (() => void)[] = []

  constructor(options: NotificationLoopOptions) {
    this.#options = options
  }

  start(): void {
    const { store } = this.#options.notifier.context
    const reset = () => this.#enqueueAll()
    this.#unsubscribes = [
      store.observe('runs', {
        changed: (_before, after) => after && this.#enqueueWorkspace(after.workspaceId),
        reset,
      }),
      store.observe('notification_configurations', {
        changed: (before, after) =>
          after && isNewlyEnabled(before, after) && this.#enqueue([after.id]),
        reset,
      }),
    ]
    this.#enqueueAll()
    this.#schedulePoll()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#cancelTimer()
    for (const unsubscribe of this.#unsubscribes) unsubscribe()
    this.#pendingIds.clear()
    await this.deliverPending()
  }

  /** Performs the pending deliveries. */
  async deliverPending(): Promise<void> {
    this.#startDeliveries()
    while (this.#inProgress.size > 0) await Promise.all(this.#inProgress.values())
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted
  }

  #enqueueWorkspace(workspaceId: string): void {
    const { tables } = this.#options.notifier.context.store
    this.#enqueue(tables.notification_configurations.keysByIndex('workspace', workspaceId))
  }

  #enqueueAll(): void {
    const { tables } = this.#options.notifier.context.store
    this.#enqueue(
      tables.notification_configurations.keysByIndex('enabled', ENABLED_NOTIFICATION_KEY),
    )
  }

  /** Called during a commit; the deliveries start after it. */
  #enqueue(ids: Iterable<string>): void {
    if (this.#isStopped) return
    for (const id of ids) this.#pendingIds.add(id)
    if (this.#pendingIds.size > 0) void Promise.resolve().then(() => this.#startDeliveries())
  }

  #schedulePoll(): void {
    this.#cancelTimer = this.#options.notifier.context.clock.after(POLL_INTERVAL_MS, () => {
      this.#schedulePoll()
      this.#enqueueReminders()
      this.#enqueueRetries()
    })
  }

  /** Receivers are served independently, so that a slow one delays only its own notifications. */
  #enqueueReminders(): void {
    const { store, clock } = this.#options.notifier.context
    const { workspaces, notification_configurations: configurations } = store.tables
    const isReminderDue = (workspaceId: string): boolean => {
      const workspace = workspaces.find(workspaceId)
      return workspace !== undefined && mayNeedReminder(workspace, clock.nowMs())
    }
    const scheduled = workspaces.countByIndex('scheduled', SCHEDULED_KEY)
    if (scheduled < configurations.countByIndex('reminded', ENABLED_NOTIFICATION_KEY)) {
      const workspaceIds = [...workspaces.keysByIndex('scheduled', SCHEDULED_KEY)].filter(
        isReminderDue,
      )
      for (const id of workspaceIds) this.#enqueueWorkspace(id)
    } else {
      const reminded = configurations.rowsByIndex('reminded', ENABLED_NOTIFICATION_KEY)
      this.#enqueue(reminded.filter((row) => isReminderDue(row.workspaceId)).map(({ id }) => id))
    }
  }

  /** Wakes receivers with a due retry, and deletes retries whose occurrence is too old. */
  #enqueueRetries(): void {
    const { store, clock } = this.#options.notifier.context
    const nowMs = clock.nowMs()
    const retried = store.tables.notifications.rowsByIndex('retried', RETRIED_NOTIFICATION_KEY)
    const isTooOld = ({ atMs }: NotificationRow) => nowMs - atMs > OCCURRENCE_AGE_MS_MAX
    const expiredChanges = retried.filter(isTooOld).map(({ id }) => remove('notifications', id))
    const due = retried.filter((row) => !isTooOld(row) && isRetryDue(row, nowMs))
    this.#enqueue(due.map(({ configurationId }) => configurationId))
    if (expiredChanges.length === 0 || !this.#isWritable()) return
    try {
      commitSystemWrite({ store }, { changes: expiredChanges, emitsEvents: false })
    } catch (thrown) {
      this.#logFault(thrown)
    }
  }

  /** Receivers are served independently, so that a slow one delays only its own notifications. */
  #startDeliveries(): void {
    while (this.#inProgress.size < CONCURRENT_DELIVERIES_MAX) {
      const id = this.#takePendingId()
      if (id === undefined) return
      const served = this.#deliverNext(id).finally(() => {
        this.#inProgress.delete(id)
        this.#startDeliveries()
      })
      this.#inProgress.set(id, served)
    }
  }

  #takePendingId(): string | undefined {
    if (this.#isStopped) return undefined
    for (const id of this.#pendingIds) {
      if (this.#inProgress.has(id)) continue
      this.#pendingIds.delete(id)
      return id
    }
    return undefined
  }

  /** Delivers the oldest pending notification of a receiver, which then waits for its next turn. */
  async #deliverNext(id: string): Promise<void> {
    const { store } = this.#options.notifier.context
    try {
      // Deriving pending deliveries reads many rows: other work runs between two receivers.
      await setImmediate()
      const due = this.#findDue(id)
      if (due === undefined) return
      // The rows may not be durable yet, and may be rolled back.
      await store.whenDurable()
      const configuration = store.tables.notification_configurations.find(id)
      if (configuration?.enabled !== true || this.#isStopped || !this.#isWritable()) return
      await this.#deliver({ ...due, configuration })
      this.#enqueue([id])
    } catch (thrown) {
      this.#logFault(thrown)
    }
  }

  /** Reports whether deliveries can be recorded. */
  #isWritable(): boolean {
    const { store } = this.#options.notifier.context
    return store.fault === undefined && store.restriction === undefined
  }

  /** Logs a failure of the storage; the next start of the loop continues. */
  #logFault(thrown: unknown): void {
    if (!(thrown instanceof Fault)) throw thrown
    this.#options.log.warn(
      { err: errorMessage(thrown) },
      'recording of notification deliveries failed',
    )
  }

  /** Returns the oldest occurrence that is due for a receiver. */
  #findDue(id: string): DueDelivery | undefined {
    if (this.#isStopped) return undefined
    const { store, clock } = this.#options.notifier.context
    const { notification_configurations: configurations, notifications } = store.tables
    const configuration = configurations.find(id)
    if (configuration === undefined || !configuration.enabled) return undefined
    const nowMs = clock.nowMs()
    for (const occurrence of occurrencesFor(store.tables, configuration, nowMs)) {
      const previous = notifications.find(notificationId(configuration, occurrence))
      if (previous === undefined || isRetryDue(previous, nowMs))
        return { configuration, occurrence, attempts: previous?.attempts ?? 0 }
    }
    return undefined
  }

  async #deliver(due: DueDelivery): Promise<void> {
    const { notifier } = this.#options
    const { store } = notifier.context
    const { configuration, occurrence } = due
    const { signal } = this.#stopping
    const delivery = await sendNotification(notifier, configuration, { occurrence, signal })
    // An aborted attempt says nothing about the receiver.
    if (signal.aborted && delivery.code === null) return
    const current = store.tables.notification_configurations.find(configuration.id)
    if (current === undefined) return
    const changes = [
      put('notification_configurations', { ...current, lastDelivery: delivery }),
      put('notifications', toNotificationRow(due, delivery)),
      ...this.#deleteExpiredChanges(current, delivery.atMs),
    ]
    await commitSystemWrite({ store }, { changes, emitsEvents: false }).durable
  }

  /** Deletes expired records of a receiver. This reads all of them, so it is done once an hour. */
  #deleteExpiredChanges(
    { id, lastDelivery }: NotificationConfigurationRow,
    nowMs: number,
  ): readonly Change[] {
    if (lastDelivery !== null && hourOf(lastDelivery.atMs) === hourOf(nowMs)) return []
    return this.#options.notifier.context.store.tables.notifications
      .rowsByIndex('configuration', id)
      .filter(({ atMs }) => nowMs - atMs > DELIVERY_RETENTION_MS)
      .map((row) => remove('notifications', row.id))
  }
}

function hourOf(ms: number): number {
  return Math.floor(ms / OCCURRENCE_AGE_MS_MAX)
}

/** Reports whether a configuration was created or enabled, or has a new trigger. */
function isNewlyEnabled(
  before: NotificationConfigurationRow | undefined,
  after: NotificationConfigurationRow,
): boolean {
  return before?.enabled !== after.enabled || before.enabledMs !== after.enabledMs
}

/** Delays of 15 s, 1 min, 4 min and 16 min. */
function retryDelayMs(attempts: number): number {
  return FIRST_RETRY_DELAY_MS * 4 ** (attempts - 1)
}

/** A retry that is too far in the future was scheduled by a clock that was ahead. */
function isRetryDue({ retryMs }: NotificationRow, nowMs: number): boolean {
  return retryMs !== null && (retryMs <= nowMs || retryMs > nowMs + RETRY_DELAY_MS_MAX)
}

interface DueDelivery {
  readonly configuration: NotificationConfigurationRow
  readonly occurrence: Occurrence
  /** Number of attempts so far. */
  readonly attempts: number
}

function notificationId({ id }: NotificationConfigurationRow, { key }: Occurrence): string {
  return `${id} ${key}`
}

function toNotificationRow(
  due: DueDelivery,
  { successful, atMs }: NotificationDelivery,
): NotificationRow {
  const { configuration, occurrence } = due
  const attempts = due.attempts + 1
  const isFinished = successful || attempts >= ATTEMPTS_MAX
  return {
    id: notificationId(configuration, occurrence),
    organizationId: configuration.organizationId,
    workspaceId: configuration.workspaceId,
    configurationId: configuration.id,
    attempts,
    atMs,
    retryMs: isFinished ? null : atMs + retryDelayMs(attempts),
  }
}
