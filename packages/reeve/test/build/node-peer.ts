import { once } from 'node:events'
import type { TestContext } from 'node:test'
import {
  CHANNEL_VERSION,
  NODE_CHANNEL_PATH,
  type HelloMessage,
  type ServerMessage,
} from '@reeve/contract'
import { WebSocket } from 'ws'
import { atEnd } from './at-end.ts'
import { anId } from './ids.ts'
import { aNode } from './node.ts'
import { until } from './until.ts'

/** The node's end of a real channel, which says what the test likes. */
export interface NodePeer {
  readonly socket: WebSocket
  /** Every message of the server, in order. */
  readonly heard: readonly ServerMessage[]
  say(message: object | string): void
  /** How the hello was answered. */
  first(): Promise<ServerMessage>
  /** The next message of this kind that was not waited for before. */
  next<K extends ServerMessage['kind']>(kind: K): Promise<Extract<ServerMessage, { kind: K }>>
  /** The code of the close, and the text of the refusal before it. */
  closed(): Promise<{ readonly code: number; readonly text: string }>
  /** The server has handled everything that was said. */
  settle(): Promise<void>
}

export type HelloFields = Partial<Omit<HelloMessage, 'node'>> & {
  readonly node?: Partial<HelloMessage['node']>
}

/** What a node says first: with the secret of the tests, and no join token. */
export function aHello({ node, ...fields }: HelloFields = {}): HelloMessage {
  const { ID = anId('node', 1) } = node ?? {}
  return {
    kind: 'hello',
    version: CHANNEL_VERSION,
    node: { ...aNode({ ID }), ...node },
    secret: anId('any', 1),
    ...fields,
  }
}

/** Dials a server and says hello, without waiting for the answer. */
export async function aNodePeer(
  t: TestContext,
  address: string,
  hello: HelloFields = {},
): Promise<NodePeer> {
  const socket = new WebSocket(`${address.replace('http', 'ws')}${NODE_CHANNEL_PATH}`)
  atEnd(t, () => socket.terminate())
  const heard: ServerMessage[] = []
  let code: number | undefined
  socket.on('error', () => undefined)
  // Text frames arrive as one Buffer with the default binaryType.
  socket.on('message', (data: Buffer) => heard.push(JSON.parse(data.toString())))
  socket.on('close', (given) => {
    code = given
  })
  await once(socket, 'open')
  const taken = new Set<ServerMessage>()
  const peer: NodePeer = {
    socket,
    heard,
    say: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    first: () => until('an answer to the hello', () => heard[0]),
    async next(kind) {
      const found = await until(`a message of the kind ${kind}`, () =>
        heard.find((one) => one.kind === kind && !taken.has(one)),
      )
      taken.add(found)
      // Found by its kind.
      return found as Extract<ServerMessage, { kind: typeof kind }>
    },
    async closed() {
      const given = await until('the channel to close', () => code)
      const refusal = heard.find((one) => one.kind === 'refuse')
      return { code: given, text: refusal?.message ?? '' }
    },
    async settle() {
      peer.say({ kind: 'heartbeat' })
      await peer.next('heartbeat')
    },
  }
  peer.say(aHello(hello))
  return peer
}
