import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { atEnd } from './at-end.ts'

/** Stands before a server; when it is mute, it accepts everything and passes nothing on. */
export interface MuteProxy {
  readonly port: number
  isMute: boolean
  /** Connections that were accepted. */
  readonly accepted: number
}

/** Without a target it is mute for good, as a suspended machine is. */
export async function aMuteProxy(t: TestContext, targetPort?: number): Promise<MuteProxy> {
  let isMute = targetPort === undefined
  let accepted = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    accepted += 1
    const far = targetPort === undefined ? undefined : connect(targetPort, '127.0.0.1')
    const pair = far === undefined ? [client] : [client, far]
    for (const socket of pair) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        for (const one of pair) one.destroy()
      })
    }
    client.on('data', (chunk) => void (isMute || far?.write(chunk)))
    far?.on('data', (chunk) => void (isMute || client.write(chunk)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  atEnd(t, () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const at = server.address()
  if (typeof at !== 'object' || at === null) throw new Error('the proxy has no port')
  const { port } = at
  return {
    port,
    get isMute() {
      return isMute
    },
    set isMute(value) {
      isMute = value
    },
    get accepted() {
      return accepted
    },
  }
}
