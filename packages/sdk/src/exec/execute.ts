import type { TtySize } from '@reeve/contract'
import type { Connection } from '../call/connection.ts'
import { execAllocation } from '../called-routes.ts'
import { openSession } from './session.ts'
import type { ExecSession } from './types.ts'

export interface ExecRequest {
  /** The whole id of the allocation. */
  readonly allocId: string
  readonly task: string
  /** The command and its arguments; no shell reads it. */
  readonly command: readonly string[]
  /** Gives the command a terminal; its errors then come with its output. */
  readonly tty?: boolean | undefined
  /** The size of that terminal. */
  readonly size?: TtySize | undefined
  readonly namespace?: string | undefined
  readonly region?: string | undefined
  /** Ends the session and the command. */
  readonly signal?: AbortSignal | undefined
  /** Of the opening only. */
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
