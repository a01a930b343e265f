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

/** Reminders and retries may be this much late. */
const LOOK_EVERY_MS = 30_000

/** A receiver that fails is asked this often for one occurrence. */
const ATTEMPTS_MAX = 5
const RETRY_MS_FIRST = 15_000

/** Receivers that are told something at the same time. */
const AT_ONCE_MAX = 8

/** What was told is remembered for as long as it could be told again. */
const REMEMBERED_MS = 24 * OCCURRENCE_MS_MAX

/**
 * Tells the receivers of notification configurations what happens. What there is to tell follows
 * from the rows of runs and workspaces, and what was told is a row: a server that starts goes on
 * where the last one stopped, and something is told twice only where a server died between the two.
 */
export class NotificationLoop {
  readonly #options: NotificationLoopOptions
  /** Configurations that are to be looked at, so that a round costs what happened. */
  readonly #waiting = new Set<string>()
  /** Configurations whose receivers are told something now. */
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

  /** Tells what there is to tell; one round at a time. */
  work(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined
      // Something may have happened since the round looked.
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

  /** Called in the middle of a commit: the round begins after it. */
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

  /** Every receiver by itself, so that one that is slow delays its own notifications only. */
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
    // Whoever serves a receiver looks at it again afterwards.
    const id = [...this.#waiting].find((one) => !this.#served.has(one))
    if (id === undefined || this.#isStopped) return undefined
    this.#waiting.delete(id)
    this.#served.add(id)
    return id
  }

  async #tellAll(id: string): Promise<void> {
    try {
      // What is not durable may never have happened.
      await this.#options.notifier.context.store.settled()
      for (let due = this.#next(id); due !== undefined; due = this.#next(id)) await this.#tell(due)
    } catch (thrown) {
      // The storage has failed, or the server stops: the next start goes on.
      if (!(thrown instanceof Fault)) throw thrown
      const fields = { configuration: id, err: errorMessage(thrown) }
      this.#options.log.warn(fields, 'notifications could not be sent')
    }
  }

  /** The oldest occurrence that a receiver has to be told now. */
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
  /** Those that were made. */
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
