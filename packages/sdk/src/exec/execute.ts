import type { TtySize } from '@reeve/contract'
import type { Connection } from '../call/connection.ts'
import { execAllocation } from '../called-routes.ts'
import { openSession } from './session.ts'
import type { ExecSession } from './types.ts'

export interface ExecRequest {
  /** Full ID of the allocation. */
  readonly allocId: string
  readonly task: string
  /** The command and its arguments; it runs without a shell. */
  readonly command: readonly string[]
  /** Allocates a terminal; stderr is merged into stdout then. */
  readonly tty?: boolean | undefined
  /** Size of the terminal. */
  readonly size?: TtySize | undefined
  readonly namespace?: string | undefined
  readonly region?: string | undefined
  /** Ends the session and the command. */
  readonly signal?: AbortSignal | undefined
  /** Timeout for opening the session. */
  readonly timeoutMs?: number | undefined
}

/** Runs a command inside a task. */
export async function execute(connection: Connection, request: ExecRequest): Promise<ExecSession> {
  const { allocId, task, command, tty, size, namespace, region, signal, timeoutMs } = request
  const query = { task, command: JSON.stringify(command), tty, namespace, region }
  const session = await openSession(connection, {
    route: execAllocation,
    request: { params: { alloc_id: allocId }, query, signal, timeoutMs },
  })
  if (size !== undefined) session.resize(size)
  return session
}
