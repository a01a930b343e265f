import type { Commit, Store } from '../state/index.ts'

interface DebugLog {
  debug(fields: object, message: string): void
}

/** A commit may have thousands of rows; the first ones tell what it is. */
const TOLD_ROWS_MAX = 10

/**
 * What `log_level = "debug"` adds on a server: each commit and, by `onAnswered`, each answered
 * request, so that a stranger can see which request led to what. Nothing listens at other levels.
 */
export function logCommits(store: Pick<Store, 'log'>, log: DebugLog): void {
  store.log.subscribe((commits) => {
    for (const commit of commits) log.debug(toldOf(commit), 'committed')
  })
}

function toldOf({ index, rows, events }: Commit): object {
  return {
    index,
    events: [...new Set(events.map(({ Type }) => Type))],
    rows: rows.slice(0, TOLD_ROWS_MAX).map(({ table, key }) => `${table} ${key}`),
    ...(rows.length > TOLD_ROWS_MAX && { furtherRows: rows.length - TOLD_ROWS_MAX }),
  }
}
