import { AsyncLocalStorage } from 'node:async_hooks'
import type { AuditActor, AuditRecord, Route } from '@reeve/contract'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../kit/clock.ts'
import { Fault, messageOf } from '../../kit/fault.ts'
import { auditKey, put, type Change, type PlannedCommit, type Store } from '../../state/index.ts'
import { writtenIds, writtenNamespace } from './written-rows.ts'

/** Refusals are gathered this long: one commit for many, so that refusing stays cheap. */
const GATHER_MS = 100
/** Refusals that wait for it. Beyond it they are counted in the log only. */
const REFUSALS_HELD_MAX = 1_000
/** Ids kept in one record: a write may touch a thousand things. */
const RESOURCES_MAX = 20
const RESOURCE_CHARS_MAX = 256

/** A write as the shell sees it before it is carried out. */
export interface AuditedWrite {
  readonly actor: AuditActor
  readonly request: Pick<FastifyRequest, 'id' | 'ip' | 'method'>
  readonly route: Pick<Route, 'id' | 'path' | 'answers'>
  readonly namespace: string
  /** What the path names. */
  readonly named: readonly string[]
}

/** How a write ended that left no commit of its own. */
export interface AuditedEnd {
  readonly status: number
  readonly organizationId?: string
}

interface Scope {
  readonly write: AuditedWrite
  /** False once the record is written, and after the write: what it woke up is not it. */
  isOpen: boolean
}

export interface AuditLogOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: { error(fields: object, message: string): void }
}

/**
 * Who wrote what, when and from where. The record of a write goes into the commit of that write:
 * neither is durable without the other, and it costs no commit of its own. Refusals change nothing,
 * so they are gathered and written together a little later.
 */
export class AuditLog {
  readonly #options: AuditLogOptions
  readonly #scopes = new AsyncLocalStorage<Scope>()
  #held: Omit<AuditRecord, 'ID'>[] = []
  #dropped = 0
  #cancelFlush: (() => void) | undefined

  constructor(options: AuditLogOptions) {
    this.#options = options
    options.store.accompany((commit) => this.#accompany(commit))
  }

  /** Carries out a write: its first commit gets the record. */
  async run<T>(write: AuditedWrite, act: () => T | Promise<T>): Promise<T> {
    const scope: Scope = { write, isOpen: true }
    try {
      return await this.#scopes.run(scope, act)
    } finally {
      scope.isOpen = false
    }
  }

  /** Records a write that was refused, or one that acted on a node and committed nothing. */
  note(write: AuditedWrite, end: AuditedEnd): void {
    if (this.#held.length >= REFUSALS_HELD_MAX) {
      this.#dropped++
      return
    }
    this.#held.push({
      ...recordOf(write, this.#options.clock.nowMs()),
      OrganizationID: end.organizationId ?? '',
      Resources: resourcesOf(write.named),
      Status: end.status,
    })
    this.#cancelFlush ??= this.#options.clock.after(GATHER_MS, () => this.flush())
  }

  /** Writes what is held. Before a list, and when the server stops. */
  flush(): void {
    const { store, log } = this.#options
    this.#cancelFlush?.()
    this.#cancelFlush = undefined
    const held = this.#held
    if (held.length === 0) return
    this.#held = []
    if (this.#dropped > 0)
      log.error({ dropped: this.#dropped }, 'too many refused writes: some have no audit record')
    this.#dropped = 0
    try {
      store.commit({
        cause: undefined,
        changes: ({ timeMs, index }) =>
          held.map((record, place) => withId(record, auditKey(timeMs, index, place))),
      })
    } catch (thrown) {
      // The storage has failed: nothing can be written any more, and the log says why.
      if (!(thrown instanceof Fault)) throw thrown
      log.error({ err: messageOf(thrown), records: held.length }, 'audit records were lost')
    }
  }

  #accompany(commit: PlannedCommit): readonly Change[] {
    const scope = this.#scopes.getStore()
    if (scope === undefined || !scope.isOpen) return NOTHING
    scope.isOpen = false
    const { write } = scope
    const { timeMs, index, about, changes } = commit
    const written = about?.subjects ?? writtenIds(changes)
    const record = {
      ...recordOf(write, timeMs),
      Namespace: writtenNamespace(changes) ?? write.namespace,
      OrganizationID: about?.organizationId ?? '',
      Resources: resourcesOf([...write.named, ...written]),
      Status: successOf(write.route),
    }
    return [withId(record, auditKey(timeMs, index))]
  }
}

const NOTHING: readonly Change[] = []

function withId(record: Omit<AuditRecord, 'ID'>, ID: string): Change {
  return put('audit_records', { ID, ...record })
}

function recordOf({ actor, request, route, namespace }: AuditedWrite, timeMs: number) {
  return {
    Time: new Date(timeMs).toISOString(),
    Actor: actor,
    Address: request.ip,
    RequestID: request.id,
    Method: request.method,
    Route: route.path,
    Action: route.id,
    Namespace: namespace,
  }
}

function resourcesOf(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)].slice(0, RESOURCES_MAX).map((id) => id.slice(0, RESOURCE_CHARS_MAX))
}

/** What is committed succeeds with the status that the contract has for it. */
function successOf({ answers }: Pick<Route, 'answers'>): number {
  for (const status in answers) if (status.startsWith('2')) return Number(status)
  return 200
}
