/** WebSockets: pings without reading, small frames, short sessions. */
import type { Socket } from 'node:net'
import { NODE_CHANNEL_PATH } from '@reeve/contract'
import {
  frame,
  openWebSocket,
  pause,
  PING,
  repeated,
  untilOver,
  writeOften,
} from '../attack-connection.ts'
import { IDLE_TASK, startTask } from '../attacker-calls.ts'
import { CONNECTIONS, direct, type Assault, type Attack } from '../attack.ts'

const SESSIONS = 16
const PING_SESSIONS = 4
/** Per attack: a server that buffers the pongs needs several times as much. */
const PING_BYTES_MAX = 768 * 1024 * 1024
const FRAME_BYTES_MAX = 512 * 1024 * 1024
const PINGS = repeated(frame(Buffer.alloc(125), PING))

export const sessionAttacks: readonly Attack[] = [
  direct(
    {
      name: 'ping-node',
      summary: 'pings to the channel of nodes without a hello, never read',
      isAnonymous: true,
    },
    async (assault) => {
      const open = (): Promise<Socket | undefined> => openWebSocket(assault, NODE_CHANNEL_PATH)
      const bytesMax = PING_BYTES_MAX / CONNECTIONS
      await flood(assault, { open, connections: CONNECTIONS, bytes: PINGS, bytesMax })
    },
  ),
  execFlood(
    { name: 'ping-exec', summary: 'pings to 4 exec sessions, never read' },
    { sessions: PING_SESSIONS, bytes: PINGS, bytesMax: PING_BYTES_MAX / PING_SESSIONS },
  ),
  execFlood(
    { name: 'exec-stdin', summary: '16 exec sessions that send stdin byte by byte' },
    framesOf('{"stdin":{"data":"YQ=="}}'),
  ),
  execFlood(
    { name: 'exec-resize', summary: '16 exec sessions that resize their terminal' },
    framesOf('{"tty_size":{"height":40,"width":120}}'),
  ),
  execFlood({ name: 'exec-empty', summary: '16 exec sessions that send {}' }, framesOf('{}')),
  {
    name: 'exec-sessions',
    summary: 'exec sessions that are opened and closed, 64 at a time',
    async prepare(assault) {
      const path = execPath(assault, await startTask(assault.target, IDLE_TASK), ['/bin/true'])
      const headers = { 'x-service-token': assault.target.token }
      const work = async (): Promise<void> => {
        while (!assault.signal.aborted) {
          const socket = await openWebSocket(assault, path, headers)
          socket?.destroy()
          await pause(assault, 1)
        }
      }
      return async () => void (await Promise.all(Array.from({ length: CONNECTIONS }, work)))
    },
  },
]

interface Frames {
  readonly sessions: number
  readonly bytes: Buffer
  /** Per session. */
  readonly bytesMax: number
}

function framesOf(text: string): Frames {
  return { sessions: SESSIONS, bytes: repeated(frame(text)), bytesMax: FRAME_BYTES_MAX / SESSIONS }
}

function execFlood(attack: Omit<Attack, 'prepare'>, { sessions, ...frames }: Frames): Attack {
  return {
    ...attack,
    async prepare(assault) {
      const path = execPath(assault, await startTask(assault.target, IDLE_TASK), ['/bin/cat'])
      const headers = { 'x-service-token': assault.target.token }
      const open = (): Promise<Socket | undefined> => openWebSocket(assault, path, headers)
      return () => flood(assault, { ...frames, open, connections: sessions })
    },
  }
}

function execPath({ target }: Assault, allocation: string, command: readonly string[]): string {
  const query = new URLSearchParams({
    task: 'main',
    tty: 'true',
    command: JSON.stringify(command),
    namespace: target.namespace,
  })
  return `/v1/client/allocation/${allocation}/exec?${query.toString()}`
}

interface Flood {
  readonly open: () => Promise<Socket | undefined>
  readonly connections: number
  readonly bytes: Buffer
  readonly bytesMax: number
}

/** Writes without reading. A session closed by the server is reopened. */
async function flood(assault: Assault, { open, connections, bytes, bytesMax }: Flood) {
  const work = async (): Promise<void> => {
    for (let left = bytesMax; left > 0 && !assault.signal.aborted;) {
      const socket = await open()
      socket?.pause()
      if (socket !== undefined) left -= await writeOften(assault, socket, { bytes, bytesMax: left })
      await pause(assault, REOPEN_MS)
    }
  }
  await Promise.all(Array.from({ length: connections }, work))
  await untilOver(assault)
}

const REOPEN_MS = 50
