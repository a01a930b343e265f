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
  type Change,
} from '../../state/index.ts'
import { OCCURRENCE_MS_MAX, occurrencesFor, type Occurrence } from './occurrences.ts'
import { sendNotification, type Notifier } from './send-notification.ts'

export interface NotificationLog {
  warn(fields: object, message: string): void
}

export interface NotificationLoopOptions {
  readonly notifier: Notifier
  readonly log: NotificationLog
}

/** Maximum delay of reminders and retries. */
const LOOK_EVERY_MS = 30_000

/** Attempts to deliver one occurrence to a failing receiver. */
const ATTEMPTS_MAX = 5
const RETRY_MS_FIRST = 15_000

/** Concurrent deliveries. */
const AT_ONCE_MAX = 8

/** Deliveries are remembered for as long as they could be repeated. */
const REMEMBERED_MS = 24 * OCCURRENCE_MS_MAX

/**
 * Delivers notifications of run and workspace events. Pending deliveries are derived from the rows
 * of runs and workspaces, and each delivery is recorded in a row: a restarted server continues
 * where the previous one stopped, and repeats a delivery only after a crash in between.
 */
export class NotificationLoop {
  readonly #options: NotificationLoopOptions
  /** Configurations with possible deliveries, so that a round costs as much as there is to do. */
  readonly #waiting = new Set<string>()
  /** Configurations with a delivery in progress. */
  readonly #served = new Set<string>()
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> | undefined
  #isStopped = false

  constructor(options: NotificationLoopOptions) {
    this.#options = options
    const { store } = options.notifier.context
    store.observe('runs', {
      changed: (_before, after) => after && this.#wakeWorkspace(after.workspaceId),
      reset: () => this.#wakeAll(),
    })
    store.observe('notification_configurations', {
      changed: (_before, after) => after && this.#wake([after.id]),
      reset: () => this.#wakeAll(),
    })
  }

  start(): void {
    this.#wakeAll()
    this.#lookLater()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    await this.#running
  }

  /** Performs the pending deliveries; only one round runs at a time. */
  work(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined
      // More events may have arrived since the round started.
      if (this.#waiting.size > 0 && !this.#isStopped) void this.work()
    })
    return this.#running
  }

  #wakeWorkspace(workspaceId: string): void {
    const { tables } = this.#options.notifier.context.store
    this.#wake(tables.notification_configurations.keysIn('workspace', workspaceId))
  }

  #wakeAll(): void {
    const { tables } = this.#options.notifier.context.store
    this.#wake(tables.notification_configurations.keysIn('enabled', ENABLED_NOTIFICATIONS))
  }

  /** Called during a commit; the round starts after it. */
  #wake(ids: Iterable<string>): void {
    for (const id of ids) this.#waiting.add(id)
    if (this.#waiting.size > 0 && !this.#isStopped) void Promise.resolve().then(() => this.work())
  }

  #lookLater(): void {
    this.#cancelTimer = this.#options.notifier.context.clock.after(LOOK_EVERY_MS, () => {
      this.#lookLater()
      const { tables } = this.#options.notifier.context.store
      const retried = tables.notifications.rowsIn('retried', RETRIED_NOTIFICATIONS)
      this.#wake(retried.map(({ configurationId }) => configurationId))
      this.#wake(tables.notification_configurations.keysIn('reminded', ENABLED_NOTIFICATIONS))
    })
  }

  /** Receivers are served independently, so that a slow one delays only its own notifications. */
  async #round(): Promise<void> {
    const serve = async (): Promise<void> => {
      for (let id = this.#take(); id !== undefined; id = this.#take()) {
        await this.#tellAll(id)
        this.#served.delete(id)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE_MAX }, serve))
  }

  #take(): string | undefined {
    // A receiver in progress is checked again when its delivery ends.
    const id = [...this.#waiting].find((one) => !this.#served.has(one))
    if (id === undefined || this.#isStopped) return undefined
    this.#waiting.delete(id)
    this.#served.add(id)
    return id
  }

  async #tellAll(id: string): Promise<void> {
    try {
      // Changes that are not yet durable may still be lost.
      await this.#options.notifier.context.store.settled()
      for (let due = this.#next(id); due !== undefined; due = this.#next(id)) await this.#tell(due)
    } catch (thrown) {
      // The storage failed or the server stops; the next start continues.
      if (!(thrown instanceof Fault)) throw thrown
      const fields = { configuration: id, err: errorMessage(thrown) }
      this.#options.log.warn(fields, 'notifications could not be sent')
    }
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
      const told = notifications.find(notificationId(configuration, occurrence))
      if (told === undefined || (told.retryMs !== null && told.retryMs <= nowMs))
        return { configuration, occurrence, attempts: told?.attempts ?? 0 }
    }
    return undefined
  }

  async #tell(due: Due): Promise<void> {
    const { notifier } = this.#options
    const { store } = notifier.context
    const delivery = await sendNotification(notifier, due.configuration, due.occurrence)
    const now = store.tables.notification_configurations.find(due.configuration.id)
    if (now === undefined) return
    await store.commit({
      by: 'system',
      cause: undefined,
      changes: () => [
        put('notification_configurations', { ...now, lastDelivery: delivery }),
        put('notifications', toldRow(due, delivery)),
        ...this.#forgotten(now, delivery.atMs),
      ],
    }).durable
  }

  #forgotten({ id }: NotificationConfigurationRow, nowMs: number): readonly Change[] {
    return this.#options.notifier.context.store.tables.notifications
      .rowsIn('configuration', id)
      .filter(({ atMs }) => nowMs - atMs > REMEMBERED_MS)
      .map((row) => remove('notifications', row.id))
  }
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

function toldRow(due: Due, { successful, atMs }: NotificationDelivery): NotificationRow {
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
    // 15 s, 1 min, 4 min, 16 min.
    retryMs: isOver ? null : atMs + RETRY_MS_FIRST * 4 ** (attempts - 1),
  }
}
