import type { Commit, Store } from '../state/index.ts'

interface DebugLog {
  debug(fields: object, message: string): void
}

/** Maximum number of logged rows per commit. */
const LOGGED_ROWS_MAX = 10

/**
 * Logs each commit at the debug level. Together with the log of requests (`onCompleted`), it shows
 * which request led to which commit. No listener is added at other levels.
 */
export function logCommits(store: Pick<Store, 'log'>, log: DebugLog): void {
  store.log.subscribe((commits) => {
    for (const commit of commits) log.debug(summarizeCommit(commit), 'committed')
  })
}

function summarizeCommit({ index, rows, events }: Commit): object {
  return {
    index,
    events: [...new Set(events.map(({ Type }) => Type))],
    rows: rows.slice(0, LOGGED_ROWS_MAX).map(({ table, key }) => `${table} ${key}`),
    ...(rows.length > LOGGED_ROWS_MAX && { furtherRows: rows.length - LOGGED_ROWS_MAX }),
  }
}
