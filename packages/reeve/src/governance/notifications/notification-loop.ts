import { setImmediate } from 'node:timers/promises'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type {
  NotificationConfigurationRow,
  NotificationDelivery,
  NotificationRow,
} from '../../model/index.ts'
import {
  ENABLED_NOTIFICATIONS,
  put,
  remove,
  RETRIED_NOTIFICATIONS,
  SCHEDULED_WORKSPACES,
  type Change,
} from '../../state/index.ts'
import { isReminded, OCCURRENCE_MS_MAX, occurrencesFor, type Occurrence } from './occurrences.ts'
import { sendNotification, type Notifier } from './send-notification.ts'

export interface NotificationLog {
  warn(fields: object, message: string): void
}

export interface NotificationLoopOptions {
  readonly notifier: Notifier
  readonly log: NotificationLog
}

/** Maximum delay of reminders and retries. */
const POLL_INTERVAL_MS = 30_000

/** Attempts to deliver one occurrence to a failing receiver. */
const ATTEMPTS_MAX = 5
const RETRY_MS_FIRST = 15_000
const RETRY_MS_MAX = retryDelayMs(ATTEMPTS_MAX - 1)

/** Concurrent deliveries. */
const CONCURRENT_MAX = 8

/** Records of deliveries are kept for as long as the deliveries could be repeated. */
const DELIVERY_KEPT_MS = 24 * OCCURRENCE_MS_MAX

/**
 * Delivers notifications of run and workspace events. Pending deliveries are derived from the rows
 * of runs and workspaces, and each delivery is recorded in a row: a restarted server continues
 * where the previous one stopped. A delivery is repeated only if its record could not be stored.
 */
export class NotificationLoop {
  readonly #options: NotificationLoopOptions
  /** Configurations that may have pending deliveries. */
  readonly #waiting = new Set<string>()
  /** Configurations that are being served. */
  readonly #served = new Map<string, Promise<void>>()
  /** Aborted by `stop`. */
  readonly #stopping = new AbortController()
  #cancelTimer: () => void = () => undefined
  #unsubscribes: readonly (() => void)[] = []

  constructor(options: NotificationLoopOptions) {
    this.#options = options
  }

  start(): void {
    const { store } = this.#options.notifier.context
    const reset = () => this.#wakeAll()
    this.#unsubscribes = [
      store.observe('runs', {
        changed: (_before, after) => after && this.#wakeWorkspace(after.workspaceId),
        reset,
      }),
      store.observe('notification_configurations', {
        changed: (before, after) => after && isEnabledAnew(before, after) && this.#wake([after.id]),
        reset,
      }),
    ]
    this.#wakeAll()
    this.#schedulePoll()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#cancelTimer()
    for (const unsubscribe of this.#unsubscribes) unsubscribe()
    this.#waiting.clear()
    await this.work()
  }

  /** Performs the pending deliveries. */
  async work(): Promise<void> {
    this.#serveWaiting()
    while (this.#served.size > 0) await Promise.all(this.#served.values())
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted
  }

  #wakeWorkspace(workspaceId: string): void {
    const { tables } = this.#options.notifier.context.store
    this.#wake(tables.notification_configurations.keysIn('workspace', workspaceId))
  }

  #wakeAll(): void {
    const { tables } = this.#options.notifier.context.store
    this.#wake(tables.notification_configurations.keysIn('enabled', ENABLED_NOTIFICATIONS))
  }

  /** Called during a commit; the deliveries start after it. */
  #wake(ids: Iterable<string>): void {
    if (this.#isStopped) return
    for (const id of ids) this.#waiting.add(id)
    if (this.#waiting.size > 0) void Promise.resolve().then(() => this.#serveWaiting())
  }

  #schedulePoll(): void {
    this.#cancelTimer = this.#options.notifier.context.clock.after(POLL_INTERVAL_MS, () => {
      this.#schedulePoll()
      this.#wakeReminded()
      this.#wakeRetried()
    })
  }

  /** Wakes receivers of reminders that may be due, from the smaller of the two indexes. */
  #wakeReminded(): void {
    const { store, clock } = this.#options.notifier.context
    const { workspaces, notification_configurations: configurations } = store.tables
    const isNear = (workspaceId: string): boolean => {
      const workspace = workspaces.find(workspaceId)
      return workspace !== undefined && isReminded(workspace, clock.nowMs())
    }
    const scheduled = workspaces.countIn('scheduled', SCHEDULED_WORKSPACES)
    if (scheduled < configurations.countIn('reminded', ENABLED_NOTIFICATIONS)) {
      const near = [...workspaces.keysIn('scheduled', SCHEDULED_WORKSPACES)].filter(isNear)
      for (const id of near) this.#wakeWorkspace(id)
    } else {
      const reminded = configurations.rowsIn('reminded', ENABLED_NOTIFICATIONS)
      this.#wake(reminded.filter((row) => isNear(row.workspaceId)).map(({ id }) => id))
    }
  }

  /** Wakes receivers with a due retry, and deletes retries whose occurrence is too old. */
  #wakeRetried(): void {
    const { store, clock } = this.#options.notifier.context
    const nowMs = clock.nowMs()
    const retried = store.tables.notifications.rowsIn('retried', RETRIED_NOTIFICATIONS)
    const isTooOld = ({ atMs }: NotificationRow) => nowMs - atMs > OCCURRENCE_MS_MAX
    const old = retried.filter(isTooOld).map(({ id }) => remove('notifications', id))
    const due = retried.filter((row) => !isTooOld(row) && isRetryDue(row, nowMs))
    this.#wake(due.map(({ configurationId }) => configurationId))
    if (old.length === 0 || !this.#isWritable()) return
    try {
      store.commit({ by: 'system', cause: undefined, changes: () => old })
    } catch (thrown) {
      this.#failed(thrown)
    }
  }

  /** Receivers are served independently, so that a slow one delays only its own notifications. */
  #serveWaiting(): void {
    while (this.#served.size < CONCURRENT_MAX) {
      const id = this.#take()
      if (id === undefined) return
      const served = this.#serve(id).finally(() => {
        this.#served.delete(id)
        this.#serveWaiting()
      })
      this.#served.set(id, served)
    }
  }

  #take(): string | undefined {
    if (this.#isStopped) return undefined
    for (const id of this.#waiting) {
      if (this.#served.has(id)) continue
      this.#waiting.delete(id)
      return id
    }
    return undefined
  }

  /** Delivers the oldest pending notification of a receiver, which then waits for its next turn. */
  async #serve(id: string): Promise<void> {
    const { store } = this.#options.notifier.context
    try {
      // Deriving pending deliveries reads many rows: other work runs between two receivers.
      await setImmediate()
      const due = this.#next(id)
      if (due === undefined) return
      // The rows may not be durable yet, and may be rolled back.
      await store.settled()
      const configuration = store.tables.notification_configurations.find(id)
      if (configuration?.enabled !== true || this.#isStopped || !this.#isWritable()) return
      await this.#deliver({ ...due, configuration })
      this.#wake([id])
    } catch (thrown) {
      this.#failed(thrown)
    }
  }

  /** Whether a delivery could be recorded. */
  #isWritable(): boolean {
    const { store } = this.#options.notifier.context
    return store.fault === undefined && store.restriction === undefined
  }

  /** The storage failed or the server stops; the next start continues. */
  #failed(thrown: unknown): void {
    if (!(thrown instanceof Fault)) throw thrown
    this.#options.log.warn({ err: errorMessage(thrown) }, 'notifications could not be recorded')
  }

  /** Returns the oldest occurrence that is due for a receiver. */
  #next(id: string): Due | undefined {
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

  async #deliver(due: Due): Promise<void> {
    const { notifier } = this.#options
    const { store } = notifier.context
    const { configuration, occurrence } = due
    const { signal } = this.#stopping
    const delivery = await sendNotification(notifier, configuration, { occurrence, signal })
    // An aborted attempt says nothing about the receiver.
    if (signal.aborted && delivery.code === null) return
    const current = store.tables.notification_configurations.find(configuration.id)
    if (current === undefined) return
    await store.commit({
      by: 'system',
      cause: undefined,
      changes: () => [
        put('notification_configurations', { ...current, lastDelivery: delivery }),
        put('notifications', deliveredRow(due, delivery)),
        ...this.#expired(current, delivery.atMs),
      ],
    }).durable
  }

  /** Old records of a receiver; determined once an hour, because it reads all of them. */
  #expired({ id, lastDelivery }: NotificationConfigurationRow, nowMs: number): readonly Change[] {
    if (lastDelivery !== null && hourOf(lastDelivery.atMs) === hourOf(nowMs)) return []
    return this.#options.notifier.context.store.tables.notifications
      .rowsIn('configuration', id)
      .filter(({ atMs }) => nowMs - atMs > DELIVERY_KEPT_MS)
      .map((row) => remove('notifications', row.id))
  }
}

function hourOf(ms: number): number {
  return Math.floor(ms / OCCURRENCE_MS_MAX)
}

/** Whether a configuration was created or enabled, or has a new trigger. */
function isEnabledAnew(
  before: NotificationConfigurationRow | undefined,
  after: NotificationConfigurationRow,
): boolean {
  return before?.enabled !== after.enabled || before.enabledMs !== after.enabledMs
}

/** 15 s, 1 min, 4 min, 16 min. */
function retryDelayMs(attempts: number): number {
  return RETRY_MS_FIRST * 4 ** (attempts - 1)
}

/** A retry that is too far in the future was scheduled by a clock that was ahead. */
function isRetryDue({ retryMs }: NotificationRow, nowMs: number): boolean {
  return retryMs !== null && (retryMs <= nowMs || retryMs > nowMs + RETRY_MS_MAX)
}

interface Due {
  readonly configuration: NotificationConfigurationRow
  readonly occurrence: Occurrence
  /** Number of attempts so far. */
  readonly attempts: number
}

function notificationId({ id }: NotificationConfigurationRow, { key }: Occurrence): string {
  return `${id} ${key}`
}

function deliveredRow(due: Due, { successful, atMs }: NotificationDelivery): NotificationRow {
  const { configuration, occurrence } = due
  const attempts = due.attempts + 1
  const isOver = successful || attempts >= ATTEMPTS_MAX
  return {
    id: notificationId(configuration, occurrence),
    organizationId: configuration.organizationId,
    workspaceId: configuration.workspaceId,
    configurationId: configuration.id,
    attempts,
    atMs,
    retryMs: isOver ? null : atMs + retryDelayMs(attempts),
  }
}
