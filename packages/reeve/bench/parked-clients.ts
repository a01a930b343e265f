/**
 * Clients with parked requests, each on its own connection. Runs as several child processes of
 * blocking.bench.ts, so that no process exceeds the usual limit of open files. Controlled by
 * messages; answers each of them.
 */
import { HttpConnection, requestText } from './http-connection.ts'
import { machineMs } from './measure.ts'

export type ParkedCommand =
  | { readonly kind: 'park'; readonly port: number; readonly paths: readonly string[] }
  | { readonly kind: 'count' }
  | { readonly kind: 'leave' }

/** Responses so far. */
export interface ParkedReport {
  readonly answers: number
  /** Time of the last response; 0 if there is none. */
  readonly lastMs: number
  /** Responses with a status other than 200. */
  readonly failures: readonly string[]
}

/** More would exceed the server's listen backlog. */
const OPENED_AT_ONCE = 100

let connections: HttpConnection[] = []
let answers = 0
let lastMs = 0
let failures: string[] = []

process.on('message', (command: ParkedCommand) => {
  void obey(command).then(() => process.send?.({ answers, lastMs, failures }))
})

async function obey(command: ParkedCommand): Promise<void> {
  if (command.kind === 'park') await park(command.port, command.paths)
  else if (command.kind === 'leave') leave()
}

async function park(port: number, paths: readonly string[]): Promise<void> {
  for (let at = 0; at < paths.length; at += OPENED_AT_ONCE)
    await Promise.all(paths.slice(at, at + OPENED_AT_ONCE).map((path) => parkOne(port, path)))
}

async function parkOne(port: number, path: string): Promise<void> {
  const connection = await HttpConnection.open(port)
  connections.push(connection)
  void followOne(connection, path)
}

async function followOne(connection: HttpConnection, path: string): Promise<void> {
  try {
    const { status, body } = await connection.send(requestText(path))
    answers++
    lastMs = machineMs()
    if (status !== 200) failures.push(`${status} ${body.toString()}`)
  } catch (thrown) {
    failures.push(String(thrown))
  }
}

function leave(): void {
  for (const connection of connections) connection.close()
  connections = []
  answers = 0
  lastMs = 0
  failures = []
}
