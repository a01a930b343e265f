import type { NoDataMessage } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { pipeMessages, type StreamSocket } from '@reeve/kit/stream-socket.ts'
import { isClientTerminal, LIMITS, type AllocationRow } from '../model/index.ts'
import type { WorkloadContext } from '../workload/index.ts'
import type { NodeGateway } from '../workload/index.ts'
import type { NodeSession } from './node-sessions.ts'

interface DataMigrationsDeps {
  readonly context: WorkloadContext
  readonly gateway: NodeGateway
}

/** Source of the migrated data. */
interface MigrationSource {
  readonly from: AllocationRow
  readonly tasks: readonly string[]
}

/**
 * Migrates data of terminal allocations to the nodes of their replacements (contract: migrate.ts).
 * A node gets only the data of its own allocation's predecessor.
 */
export class DataMigrations {
  readonly #deps: DataMigrationsDeps
  /** Waiting and active migrations, by session and allocation. */
  readonly #pending = new Map<NodeSession, Map<string, AbortController>>()

  constructor(host: DataMigrationsDeps) {
    this.#deps = host
  }

  /** Handles a node's request for the data of one of its allocations. It is always answered. */
  request(session: NodeSession, allocation: string): void {
    const pending = this.#pending.get(session) ?? new Map<string, AbortController>()
    // Repeated request: the response to the first is pending.
    if (pending.has(allocation)) return
    if (pending.size >= LIMITS.nodeMigrationsMax)
      return sendRefusal(session, allocation, 'the node asks for too much at once')
    const abort = new AbortController()
    pending.set(allocation, abort)
    this.#pending.set(session, pending)
    void this.#respond(session, allocation, abort.signal).finally(() => pending.delete(allocation))
  }

  async #respond(session: NodeSession, allocation: string, signal: AbortSignal): Promise<void> {
    const problem = await this.#connectNodes(session, allocation, signal)
    if (problem !== undefined && !signal.aborted) sendRefusal(session, allocation, problem)
  }

  /** The node's channel has closed: it repeats its request on the next one. */
  onSessionClosed(session: NodeSession): void {
    for (const abort of this.#pending.get(session)?.values() ?? []) abort.abort()
    this.#pending.delete(session)
  }

  /** Connects the two nodes. Returns the reason if that fails. */
  async #connectNodes(
    { nodeId }: NodeSession,
    allocation: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { context, gateway } = this.#deps
    const transfer = findMigrationSource(context, nodeId, allocation)
    if (!transfer.ok) return transfer.error
    const { from, tasks } = transfer.value
    if (!(await this.#whenTerminal(from.ID, signal)))
      return 'the allocation before it did not end in time'
    const request = { verb: 'data', allocation: from.ID, tasks } as const
    const source = await gateway.open(from.NodeID, { request, accessorId: '' })
    if (!source.ok) return source.error.message
    const targetRequest = { verb: 'take-data', allocation } as const
    const target = await gateway.open(nodeId, { request: targetRequest, accessorId: '' })
    if (!target.ok) {
      source.value.close(1001, 'nobody takes it')
      return target.error.message
    }
    pipeData(source.value, target.value)
    return undefined
  }

  /** Waits until the allocation is terminal; true if it is, by its node or the servers. */
  #whenTerminal(allocation: string, signal: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#deps.context
    const { promise, resolve } = Promise.withResolvers<boolean>()
    let unwatch: () => void = () => undefined
    const check = (): void => {
      const row = store.tables.allocations.find(allocation)
      if (row === undefined || isClientTerminal(row)) return resolve(row !== undefined)
      unwatch = store.watches.watch([{ table: 'allocations', key: allocation }], check)
    }
    const cancel = clock.after(LIMITS.nodeMigrationWaitTimeoutMs, () => resolve(false))
    signal.addEventListener('abort', () => resolve(false), { once: true })
    check()
    return promise.finally(() => {
      cancel()
      unwatch()
    })
  }
}

/** Finds the predecessor, if the group migrates data. */
function findMigrationSource(
  { store: { tables }, view }: WorkloadContext,
  nodeId: string,
  allocation: string,
): Result<MigrationSource, string> {
  const to = tables.allocations.find(allocation)
  if (to === undefined || to.NodeID !== nodeId) return err('the allocation is not of this node')
  const from = tables.allocations.find(to.PreviousAllocation ?? '')
  const isSame =
    from?.Namespace === to.Namespace && from.JobID === to.JobID && from.TaskGroup === to.TaskGroup
  if (from === undefined || !isSame) return err('there is no allocation before it')
  const group = view.jobVersionOf(to)?.TaskGroups.find(({ Name }) => Name === to.TaskGroup)
  if (group?.EphemeralDisk?.Migrate !== true) return err('its group does not ask for data')
  return ok({ from, tasks: group.Tasks.map(({ Name }) => Name) })
}

function pipeData(source: StreamSocket, target: StreamSocket): void {
  source.onClose((code) => target.close(code === 1000 ? 1000 : 1011, ''))
  target.onClose(() => source.close(1001, 'nobody takes it'))
  // The target sends nothing; it is read to detect its end.
  target.onMessage(() => undefined)
  pipeMessages(source, target)
}

function sendRefusal(session: NodeSession, allocation: string, reason: string): void {
  const message: NoDataMessage = { kind: 'no-data', allocation, reason }
  session.send(JSON.stringify(message))
}
