import { AsyncLocalStorage } from 'node:async_hooks'
import type { AuditActor, AuditRecord, AuditVia, Route } from '@reeve/contract'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../kit/clock.ts'
import { Fault, messageOf } from '../../kit/fault.ts'
import { auditKey, put, type Change, type PlannedCommit, type Store } from '../../state/index.ts'
import { writtenIds, writtenNamespace } from './written-rows.ts'

/** Refusals are gathered this long: one commit for many, so that refusing stays cheap. */
const GATHER_MS = 100
/** Refusals that wait for it. Beyond it they are counted in the log only. */
const REFUSALS_HELD_MAX = 1_000
/** Ids, and parts of a command, kept in one record: a write may touch a thousand things. */
const RESOURCES_MAX = 20
const RESOURCE_CHARS_MAX = 256

/** A write as the shell sees it before it is carried out. */
export interface AuditedWrite {
  readonly actor: AuditActor
  readonly request: Pick<FastifyRequest, 'id' | 'clientAddress' | 'method'>
  readonly route: Pick<Route, 'id' | 'path' | 'answers'>
  /** How it came from another region, as that region says. */
  readonly via?: AuditVia | undefined
  readonly namespace: string
  /** What the path names. */
  readonly named: readonly string[]
}

/** How a write ended that left no commit of its own. */
export interface AuditedEnd {
  readonly status: number
  readonly organizationId?: string
  readonly command?: readonly string[]
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
  /** Without their ids, which end with the commit to come. */
  #held: { readonly record: AuditRecord; readonly timeMs: number }[] = []
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
    const timeMs = this.#options.clock.nowMs()
    this.#held.push({ record: recordOfEnd(write, end, timeMs), timeMs })
    this.#cancelFlush ??= this.#options.clock.after(GATHER_MS, () => this.flush())
  }

  /**
   * Records what is about to be done on a node, in a commit of its own, and waits until that is
   * durable: a session inside a task does not begin without its record.
   */
  async record(write: AuditedWrite, end: AuditedEnd): Promise<void> {
    const { store, clock } = this.#options
    const record = recordOfEnd(write, end, clock.nowMs())
    store.commit({
      cause: undefined,
      changes: ({ timeMs, index }) => [
        put('audit_records', { ...record, ID: auditKey(timeMs, index) }),
      ],
    })
    await store.settled()
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
        // Filed under the time of the refusal: between what was written before and after it.
        changes: ({ index }) =>
          held.map(({ record, timeMs }, place) =>
            put('audit_records', { ...record, ID: auditKey(timeMs, index, place) }),
          ),
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
    const { timeMs, index, cause, about, changes } = commit
    // It remembers why the write was refused, and is not the write: that is noted as a refusal.
    if (cause === 'PolicyDenied') return NOTHING
    scope.isOpen = false
    const { write } = scope
    const written = about?.subjects ?? writtenIds(changes)
    const record = recordOf(write, {
      ID: auditKey(timeMs, index),
      timeMs,
      namespace: writtenNamespace(changes) ?? write.namespace,
      organizationId: about?.organizationId ?? '',
      resources: written,
      status: successOf(write.route),
    })
    return [put('audit_records', record)]
  }
}

const NOTHING: readonly Change[] = []

function recordOfEnd(
  write: AuditedWrite,
  { status, organizationId, command }: AuditedEnd,
  timeMs: number,
): AuditRecord {
  const record = recordOf(write, {
    ID: '',
    timeMs,
    namespace: write.namespace,
    organizationId: organizationId ?? '',
    resources: [],
    status,
  })
  return command === undefined ? record : { ...record, Command: shortened(command) }
}

interface Recorded {
  readonly ID: string
  readonly timeMs: number
  readonly namespace: string
  readonly organizationId: string
  readonly resources: readonly string[]
  readonly status: number
}

/** On the way of every write: one literal, no copies of copies. */
function recordOf(write: AuditedWrite, recorded: Recorded): AuditRecord {
  const { actor, request, route, named, via } = write
  const record: AuditRecord = {
    ID: recorded.ID,
    Time: timeText(recorded.timeMs),
    Actor: actor,
    Address: request.clientAddress,
    RequestID: request.id,
    Method: request.method,
    Route: route.path,
    Action: route.id,
    Namespace: recorded.namespace,
    OrganizationID: recorded.organizationId,
    Resources: resourcesOf(named, recorded.resources),
    Status: recorded.status,
  }
  return via === undefined ? record : { ...record, Via: via }
}

let lastTime = { ms: 0, text: new Date(0).toISOString() }

/** Many writes come in one millisecond, and the text takes longer than the rest of a record. */
function timeText(ms: number): string {
  if (lastTime.ms !== ms) lastTime = { ms, text: new Date(ms).toISOString() }
  return lastTime.text
}

function resourcesOf(named: readonly string[], written: readonly string[]): readonly string[] {
  const ids: string[] = []
  for (const list of [named, written])
    for (const id of list) {
      if (ids.length === RESOURCES_MAX) return ids
      const text = id.slice(0, RESOURCE_CHARS_MAX)
      if (!ids.includes(text)) ids.push(text)
    }
  return ids
}

function shortened(command: readonly string[]): readonly string[] {
  return command.slice(0, RESOURCES_MAX).map((part) => part.slice(0, RESOURCE_CHARS_MAX))
}

const successes = new WeakMap<Route['answers'], number>()

/** What is committed succeeds with the status that the contract has for it. */
function successOf({ answers }: Pick<Route, 'answers'>): number {
  const known = successes.get(answers)
  if (known !== undefined) return known
  const status = Number(Object.keys(answers).find((one) => one.startsWith('2')) ?? 200)
  successes.set(answers, status)
  return status
}
