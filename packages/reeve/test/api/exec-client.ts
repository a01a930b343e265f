import type { ExecResponseFrame } from '@reeve/contract'
import type { WebSocket } from 'ws'
import { until } from '../build/until.ts'

/** One end of an exec channel, as a caller has it. */
export interface ExecClient {
  readonly socket: WebSocket
  readonly frames: readonly ExecResponseFrame[]
  readonly stdout: () => string
  readonly stderr: () => string
  /** The code and reason it was closed with; the status when it was not opened. */
  readonly closed: Promise<readonly [number, string]>
  readonly send: (frame: object) => void
  readonly type: (text: string) => void
  /** Waits until the output holds the text. */
  readonly says: (text: string) => Promise<void>
}

export function execClient(socket: WebSocket): ExecClient {
  const frames: ExecResponseFrame[] = []
  const early: string[] = []
  const { promise: closed, resolve } = Promise.withResolvers<readonly [number, string]>()
  socket.on('message', (data) =>
    // With the default binaryType a message is one Buffer.
    frames.push(JSON.parse((data as Buffer).toString())),
  )
  socket.on('close', (code, reason) => resolve([code, reason.toString()]))
  socket.on('unexpected-response', (_request, response) => {
    let text = ''
    response.on('data', (chunk: Buffer) => (text += chunk.toString()))
    response.on('end', () => resolve([response.statusCode ?? 0, text]))
  })
  socket.on('error', () => undefined)
  socket.on('open', () => {
    for (const text of early.splice(0)) socket.send(text)
  })
  const textOf = (name: 'stdout' | 'stderr') => (): string =>
    Buffer.concat(frames.map((frame) => Buffer.from(frame[name]?.data ?? '', 'base64'))).toString()
  const send = (frame: object): void => {
    const text = JSON.stringify(frame)
    if (socket.readyState === socket.OPEN) socket.send(text)
    else early.push(text)
  }
  return {
    socket,
    frames,
    stdout: textOf('stdout'),
    stderr: textOf('stderr'),
    closed,
    send,
    type: (text) => send({ stdin: { data: Buffer.from(text).toString('base64') } }),
    says: async (text) => {
      await until(`the output ${text}`, () => textOf('stdout')().includes(text) || undefined)
    },
  }
}

/** The path of a channel. */
export function execPath(
  allocation: string,
  query: Readonly<Record<string, string | readonly string[]>>,
): string {
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
  return `/v1/client/allocation/${allocation}/exec?${search.toString()}`
}
