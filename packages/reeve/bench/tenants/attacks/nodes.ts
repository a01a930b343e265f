/** A misbehaving node that holds a join token and floods the node channel. */
import { randomUUID } from 'node:crypto'
import { CHANNEL_VERSION, NODE_CHANNEL_PATH, type HelloMessage } from '@reeve/contract'
import { simulatedNode } from '../../simulated-node.ts'
import { frame, openWebSocket, repeated, writeOften } from '../attack-connection.ts'
import type { Assault, Attack } from '../attack.ts'

/** Name prefix by which the benchmark distinguishes it from real nodes. */
export const ATTACKER_NODE = 'attacker'
const UPDATES_PER_REPORT = 200
const BYTES_MAX = 512 * 1024 * 1024

export const nodeAttacks: readonly Attack[] = [
  nodeFlood({ name: 'heartbeats', summary: 'one node that sends heartbeats without a pause' }, () =>
    repeated(frame('{"kind":"heartbeat"}')),
  ),
  nodeFlood({ name: 'statuses', summary: 'one node that reports statuses without a pause' }, () => {
    const update = (): object => ({
      ID: randomUUID(),
      ClientStatus: 'running',
      ClientDescription: '',
      TaskStates: null,
    })
    const updates = Array.from({ length: UPDATES_PER_REPORT }, update)
    return frame(JSON.stringify({ kind: 'status', seq: 1, updates }))
  }),
]

function nodeFlood(attack: Omit<Attack, 'prepare'>, messages: () => Buffer): Attack {
  return {
    ...attack,
    prepare: (assault) => Promise.resolve(() => floodAsNode(assault, messages())),
  }
}

async function floodAsNode(assault: Assault, bytes: Buffer): Promise<void> {
  const { joinToken } = assault.target
  const node = simulatedNode(`${ATTACKER_NODE}-${Date.now()}`)
  const hello: HelloMessage = {
    kind: 'hello',
    version: CHANNEL_VERSION,
    node: { ...node, NodePool: ATTACKER_NODE },
    secret: randomUUID(),
    joinToken,
  }
  while (!assault.signal.aborted) {
    const socket = await openWebSocket(assault, NODE_CHANNEL_PATH)
    if (socket === undefined) return
    // Responses are read and discarded, as by a node.
    socket.resume()
    socket.write(frame(JSON.stringify(hello)))
    await writeOften(assault, socket, { bytes, bytesMax: BYTES_MAX })
  }
}
