/**
 * Callers whose requests are held for a long time, each on a connection of its own. Runs as several
 * child processes of blocking.bench.ts, so that none needs more open files than a system usually
 * allows one process. Told by messages what to do; answers each of them.
 */
import { HttpConnection, requestText } from './http-connection.ts'
import { machineMs } from './measure.ts'

export type ParkedCommand =
  | { readonly kind: 'park'; readonly port: number; readonly paths: readonly string[] }
  | { readonly kind: 'count' }
  | { readonly kind: 'leave' }

/** What came back so far. */
export interface ParkedReport {
  readonly answers: number
  /** When the last one came; 0 when none has. */
  readonly lastMs: number
  /** Anything but 200. */
  readonly failures: readonly string[]
}

/** More at once would not fit the server's queue of connections that wait to be accepted. */
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
