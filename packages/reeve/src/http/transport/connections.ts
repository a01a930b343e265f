import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { Clock } from '@reeve/kit/clock.ts'
import type { LimitUsage } from '@reeve/kit/tenant-slots.ts'
import { LIMITS } from '../../model/index.ts'
import type { Logger } from '@reeve/kit/log.ts'

/** Interval at which connections beyond their time limit are closed. */
export const CONNECTION_CHECK_MS = 5_000
/** Share of the process's file descriptors that is reserved for storage and outgoing calls. */
const RESERVED_FILES_SHARE = 0.2
/** Rejected connections are logged at most this often: a client may open thousands a second. */
const LOG_INTERVAL_MS = 60_000

/**
 * Limits the connections of a server and the time in which a request must arrive. Without a limit,
 * a client that opens connections would use up the file descriptors, and the server could neither
 * accept others nor open its storage. Returns a function that reads the usage.
 */
export function limitConnections(
  server: Server,
  connectionsMax: number | undefined,
  { log, clock }: { readonly log: Pick<Logger, 'warn'>; readonly clock: Clock },
): () => Promise<LimitUsage> {
  const files = openFilesMax()
  const usable = files * (1 - RESERVED_FILES_SHARE)
  const max = Math.floor(Math.min(connectionsMax ?? Number.POSITIVE_INFINITY, usable))
  server.maxConnections = max
  server.headersTimeout = LIMITS.headTimeoutMs
  let rejected = 0
  let loggedMs = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    rejected += 1
    if (clock.monotonicMs() - loggedMs < LOG_INTERVAL_MS) return
    loggedMs = clock.monotonicMs()
    log.warn({ connectionsMax: max, rejected }, rejectionText(max, files))
  })
  return async () => {
    const used = await countConnections(server)
    return { name: 'connections', max: server.maxConnections, used, rejected }
  }
}

/** Names the limit on open files if it allows fewer connections than the setting. */
function rejectionText(max: number, files: number): string {
  const isByFiles = max === Math.floor(files * (1 - RESERVED_FILES_SHARE))
  return isByFiles
    ? `new connections are closed: ${max} are open, as many as the limit of ${files} open files allows. ` +
        'Raise it with LimitNOFILE= in the unit of the service, or ulimit -n, and restart'
    : `new connections are closed: ${max} are open, the limit of limits.connections. ` +
        'Raise it, or find the clients that keep them open'
}

function countConnections(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
  })
}

/** Returns the limit of open files of this process; infinite if the system does not report one. */
export function openFilesMax(): number {
  try {
    const [, soft] =
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown) return Number.POSITIVE_INFINITY
    throw thrown
  }
}

/** Returns the limit with its usage; empty if the system does not report one. */
export async function openFilesUsage(): Promise<readonly LimitUsage[]> {
  const max = openFilesMax()
  if (max === Number.POSITIVE_INFINITY) return []
  return [{ name: 'open_files', max, used: await countOpenFiles(max), rejected: 0 }]
}

async function countOpenFiles(max: number): Promise<number> {
  try {
    return (await readdir('/proc/self/fd')).length
  } catch (thrown) {
    // Reading the directory needs a descriptor as well.
    if (isOutOfFiles(thrown)) return max
    throw thrown
  }
}

/** Reports whether the process, or the whole machine, has no file descriptor left. */
export function isOutOfFiles(thrown: unknown): boolean {
  const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
  return code === 'EMFILE' || code === 'ENFILE'
}
