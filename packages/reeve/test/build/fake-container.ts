import type { ChildProcess } from 'node:child_process'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants } from 'node:os'
import { kill } from 'node:process'

interface LogEntry {
  readonly stream: 1 | 2
  readonly atNs: bigint
  readonly bytes: Buffer
}

export interface Container {
  readonly id: string
  readonly name: string
  readonly spec: CreateBody
  status: 'created' | 'running' | 'exited'
  exitCode: number
  finishedAt: string
  child: ChildProcess | undefined
  readonly log: LogEntry[]
  readonly changed: Set<() => void>
  readonly execs: Set<ChildProcess>
}

export interface CreateBody {
  readonly Image?: string
  readonly Cmd?: readonly string[]
  readonly Env?: readonly string[]
  readonly User?: string
  readonly Tty?: boolean
  readonly Labels?: Readonly<Record<string, string>>
  readonly HostConfig?: Readonly<Record<string, unknown>>
}

export function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
}

export function noContainer(id: string, response: ServerResponse): void {
  send(response, 404, { message: `No such container: ${id}` })
}

export async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const piece of request) text += String(piece)
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}

let lastNs = 0n

/** Later than any before it: engines count in nanoseconds. */
function nowNs(): bigint {
  const now = BigInt(Date.now()) * 1_000_000n
  lastNs = now > lastNs ? now : lastNs + 1n
  return lastNs
}

/** Engines keep lines; a long one in pieces. */
export function note(container: Container, stream: 1 | 2, bytes: Buffer): void {
  for (const line of bytes.toString('latin1').match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    container.log.push({ stream, atNs: nowNs(), bytes: Buffer.from(line, 'latin1') })
  }
  for (const look of container.changed) look()
}

export function ended(
  container: Container,
  code: number | null,
  signal: NodeJS.Signals | null,
): void {
  container.exitCode = code ?? 128 + numberOf(signal)
  container.finishedAt = new Date().toISOString()
  container.status = 'exited'
  // Who has heard of the end takes itself out.
  for (const look of Array.from(container.changed)) look()
}

export function numberOf(signal: NodeJS.Signals | null): number {
  return signal === null ? 0 : constants.signals[signal]
}

export function head(stream: 1 | 2, length: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes[0] = stream
  bytes.writeUInt32BE(length, 4)
  return bytes
}

export function framed({ stream, atNs, bytes }: LogEntry): Buffer {
  const seconds = new Date(Number(atNs / 1_000_000n)).toISOString().slice(0, 19)
  const fraction = String(atNs % 1_000_000_000n).padStart(9, '0')
  const stamp = Buffer.from(`${seconds}.${fraction}Z `)
  return Buffer.concat([head(stream, stamp.length + bytes.length), stamp, bytes])
}

/** The process and all that stayed in its group; and what left it, as a container would. */
export function endGroup(child: ChildProcess | undefined): void {
  if (child?.pid === undefined) return
  try {
    kill(-child.pid, 'SIGKILL')
  } catch {
    // ESRCH: nobody is left.
  }
}
