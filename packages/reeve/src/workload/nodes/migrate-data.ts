import type { NoDataMessage } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { pipeMessages, type StreamSocket } from '@reeve/kit/stream-socket.ts'
import { isClientTerminal, LIMITS, type AllocationRow } from '../../model/index.ts'
import type { WorkloadContext } from '../context.ts'
import type { NodeGateway } from './node-gateway.ts'
import type { NodeSession } from './node-sessions.ts'

interface DataMigrationsHost {
  readonly context: WorkloadContext
  readonly gateway: NodeGateway
}

/** Source of the migrated data. */
interface Transfer {
  readonly from: AllocationRow
  readonly tasks: readonly string[]
}

/**
 * Migrates data of terminal allocations to the nodes of their replacements (contract: migrate.ts).
 * A node gets only the data of its own allocation's predecessor.
 */
export class DataMigrations {
  readonly #host: DataMigrationsHost
  /** Waiting and active migrations, by session and allocation. */
  readonly #pending = new Map<NodeSession, Map<string, AbortController>>()

  constructor(host: DataMigrationsHost) {
    this.#host = host
  }

  /** Handles a node's request for the data of one of its allocations. It is always answered. */
  ask(session: NodeSession, allocation: string): void {
    const pending = this.#pending.get(session) ?? new Map<string, AbortController>()
    // Repeated request: the response to the first is pending.
    if (pending.has(allocation)) return
    if (pending.size >= LIMITS.nodeMigrationsMax)
      return refuse(session, allocation, 'the node asks for too much at once')
    const over = new AbortController()
    pending.set(allocation, over)
    this.#pending.set(session, pending)
    void this.#answer(session, allocation, over.signal).finally(() => pending.delete(allocation))
  }

  async #answer(session: NodeSession, allocation: string, signal: AbortSignal): Promise<void> {
    const problem = await this.#bring(session, allocation, signal)
    if (problem !== undefined && !signal.aborted) refuse(session, allocation, problem)
  }

  /** The node's channel has closed: it repeats its request on the next one. */
  gone(session: NodeSession): void {
    for (const over of this.#pending.get(session)?.values() ?? []) over.abort()
    this.#pending.delete(session)
  }

  /** Connects the two nodes. Returns the reason if that fails. */
  async #bring(
    { nodeId }: NodeSession,
    allocation: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { context, gateway } = this.#host
    const transfer = findTransfer(context, nodeId, allocation)
    if (!transfer.ok) return transfer.error
    const { from, tasks } = transfer.value
    if (!(await this.#ended(from.ID, signal))) return 'the allocation before it did not end in time'
    const request = { verb: 'data', allocation: from.ID, tasks } as const
    const source = await gateway.open(from.NodeID, { request, accessorId: '' })
    if (!source.ok) return source.error.message
    const take = { verb: 'take-data', allocation } as const
    const target = await gateway.open(nodeId, { request: take, accessorId: '' })
    if (!target.ok) {
      source.value.close(1001, 'nobody takes it')
      return target.error.message
    }
    join(source.value, target.value)
    return undefined
  }

  /** Waits until the allocation is terminal; true if it is, by its node or the servers. */
  #ended(allocation: string, signal: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#host.context
    const { promise, resolve } = Promise.withResolvers<boolean>()
    let unwatch: () => void = () => undefined
    const look = (): void => {
      const row = store.tables.allocations.find(allocation)
      if (row === undefined || isClientTerminal(row)) return resolve(row !== undefined)
      unwatch = store.watches.watch([{ table: 'allocations', key: allocation }], look)
    }
    const cancel = clock.after(LIMITS.nodeMigrationWaitMsMax, () => resolve(false))
    signal.addEventListener('abort', () => resolve(false), { once: true })
    look()
    return promise.finally(() => {
      cancel()
      unwatch()
    })
  }
}

/** Finds the predecessor, if the group migrates data. */
function findTransfer(
  { store: { tables }, view }: WorkloadContext,
  nodeId: string,
  allocation: string,
): Result<Transfer, string> {
  const to = tables.allocations.find(allocation)
  if (to === undefined || to.NodeID !== nodeId) return err('the allocation is not of this node')
  const from = tables.allocations.find(to.PreviousAllocation ?? '')
  const isSame =
    from?.Namespace === to.Namespace && from.JobID === to.JobID && from.TaskGroup === to.TaskGroup
  if (from === undefined || !isSame) return err('there is no allocation before it')
  const group = view.findJobOf(to)?.TaskGroups.find(({ Name }) => Name === to.TaskGroup)
  if (group?.EphemeralDisk?.Migrate !== true) return err('its group does not ask for data')
  return ok({ from, tasks: group.Tasks.map(({ Name }) => Name) })
}

function join(source: StreamSocket, target: StreamSocket): void {
  source.onClose((code) => target.close(code === 1000 ? 1000 : 1011, ''))
  target.onClose(() => source.close(1001, 'nobody takes it'))
  // The target sends nothing; it is read to detect its end.
  target.onMessage(() => undefined)
  pipeMessages(source, target)
}

function refuse(session: NodeSession, allocation: string, reason: string): void {
  const message: NoDataMessage = { kind: 'no-data', allocation, reason }
  session.send(JSON.stringify(message))
}
